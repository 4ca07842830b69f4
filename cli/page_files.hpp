// SPDX-License-Identifier: MIT
// The files of a web page, by the target of a request: which file it names, of what type, and how long a browser may
// keep it. Names nothing outside its folder: not by dots, not by encoding, not by a symbolic link.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace gradwalk::cli {

class PageFiles {
 public:
  // Throws std::filesystem::filesystem_error when there is no such folder.
  explicit PageFiles(const std::filesystem::path& folder);

  struct File {
    std::string path;  // canonical
    std::string type;
    std::string tag;  // another one when the file has changed
    std::uintmax_t size = 0;
    bool is_immutable = false;
    std::string packed;  // the same file compressed by gzip, where the build has put one beside it; or empty
  };
  // The file of a target as it stands in the request line, "/a%20b.css?x"; none when there is no such regular file.
  std::optional<File> find(std::string_view target) const;

 private:
  std::filesystem::path root_;
};

}  // namespace gradwalk::cli
