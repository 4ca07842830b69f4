// SPDX-License-Identifier: MIT
// How a file's name ends, which says what is written to it.
#pragma once

#include <cctype>
#include <filesystem>
#include <string>

namespace gradwalk::cli {

inline std::string extension_of(const std::string& path) {  // .svg, in lower case; "" if there is none
  std::string extension = std::filesystem::path(path).extension().string();
  for (char& c : extension) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return extension;
}

}  // namespace gradwalk::cli
