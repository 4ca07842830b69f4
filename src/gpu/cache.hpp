// SPDX-License-Identifier: MIT
// Machine code on disk. An entry is a file with the whole text that it was made from, so a hash that two texts share
// does no harm. Files are written elsewhere and renamed, so several processes can use a folder at the same time.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace gradwalk::gpu {

class Cache {
 public:
  // An empty folder: nothing is kept.
  explicit Cache(std::string folder, std::size_t most_bytes = std::size_t{64} << 20);
  // Returns the code for a key, or nothing. A damaged file counts as missing.
  std::optional<std::string> find(const std::string& key) const;
  // Keeps code, and deletes the oldest files while the folder has too many bytes. If the disk refuses, nothing is kept.
  void keep(const std::string& key, const std::string& code) const;

 private:
  std::string path(const std::string& key) const;
  std::string folder_;
  std::size_t most_bytes_;
};

}  // namespace gradwalk::gpu
