// SPDX-License-Identifier: MIT
// Helpers of the commands that write C files: the name of a file gives the names in it.
#pragma once

#include <filesystem>
#include <string>

#include "extension.hpp"
#include "gradwalk/error.hpp"

namespace gradwalk::cli {

inline void check_c_name(const std::string& command, const std::string& option, const std::string& path) {
  if (extension_of(path) != ".c")
    throw Error(command, option + " with the name of a C file", "'" + path + "'",
                "give a name that ends in .c, such as model.c");
}
inline std::string c_name(const std::string& path) { return std::filesystem::path(path).stem().string(); }

}  // namespace gradwalk::cli
