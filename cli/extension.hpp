// SPDX-License-Identifier: MIT
// The extension of a file name, which selects the format of an output file.
#pragma once

#include <cctype>
#include <filesystem>
#include <string>

namespace gradwalk::cli {

// Returns the extension in lower case, such as ".svg", or "" if there is none.
inline std::string extension_of(const std::string& path) {
  std::string extension = std::filesystem::path(path).extension().string();
  for (char& c : extension) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return extension;
}

}  // namespace gradwalk::cli
