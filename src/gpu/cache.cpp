// SPDX-License-Identifier: MIT
#include "cache.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "gradwalk/error.hpp"
#include "gradwalk/files.hpp"
#include "gradwalk/gpu.hpp"

namespace gradwalk::gpu {
namespace {

namespace fs = std::filesystem;

constexpr const char* suffix = ".gradwalk-gpu";
constexpr std::size_t largest_file = std::size_t{32} << 20;

// Before the key and the code: their sizes.
std::string head(std::size_t key, std::size_t code) {
  return "gradwalk-gpu 1 " + std::to_string(key) + " " + std::to_string(code) + "\n";
}

}  // namespace

std::string cache_folder() {
  const auto variable = [](const char* name) {
    const char* text = std::getenv(name);
    return std::string(text == nullptr ? "" : text);
  };
  if (const std::string own = variable("GRADWALK_CACHE"); !own.empty()) return own;
  if (const std::string caches = variable("XDG_CACHE_HOME"); !caches.empty()) return caches + "/gradwalk";
  const std::string home = variable("HOME");
  return home.empty() ? "" : home + "/.cache/gradwalk";
}

Cache::Cache(std::string folder, std::size_t most_bytes) : folder_(std::move(folder)), most_bytes_(most_bytes) {}

std::string Cache::path(const std::string& key) const {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : key) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  char digits[17];
  for (int i = 0; i < 16; ++i) digits[i] = "0123456789abcdef"[hash >> (60 - 4 * i) & 15];
  digits[16] = 0;
  return folder_ + "/" + digits + suffix;
}

std::optional<std::string> Cache::find(const std::string& key) const {
  if (folder_.empty()) return std::nullopt;
  std::error_code failed;
  const std::string file = path(key);
  if (!fs::is_regular_file(file, failed)) return std::nullopt;
  std::string bytes;
  try {
    bytes = read_file(file, largest_file);
  } catch (const Error&) {  // another process has deleted or replaced it
    return std::nullopt;
  }
  const std::size_t line = bytes.find('\n');
  if (line == std::string::npos || bytes.size() < line + 1 + key.size()) return std::nullopt;
  const std::size_t code = bytes.size() - line - 1 - key.size();
  if (bytes.compare(0, line + 1, head(key.size(), code)) != 0) return std::nullopt;
  if (bytes.compare(line + 1, key.size(), key) != 0) return std::nullopt;
  fs::last_write_time(file, fs::file_time_type::clock::now(), failed);  // the oldest files were not used for longest
  return bytes.substr(line + 1 + key.size());
}

void Cache::keep(const std::string& key, const std::string& code) const {
  if (folder_.empty() || key.size() + code.size() > std::min(largest_file, most_bytes_) / 2) return;
  std::error_code failed;
  fs::create_directories(folder_, failed);
  try {
    write_file(path(key), head(key.size(), code.size()) + key + code);
  } catch (const Error&) {  // a full or read-only disk
    return;
  }
  struct Entry {
    fs::file_time_type time;
    std::size_t bytes;
    fs::path path;
  };
  std::vector<Entry> entries;
  std::size_t bytes = 0;
  for (auto entry = fs::directory_iterator(folder_, failed); !failed && entry != fs::directory_iterator();
       entry.increment(failed)) {
    std::error_code gone;
    if (entry->path().extension() != suffix) continue;
    const std::size_t size = entry->file_size(gone);
    const auto time = entry->last_write_time(gone);
    if (gone) continue;
    entries.push_back({time, size, entry->path()});
    bytes += size;
  }
  std::ranges::sort(entries, {}, &Entry::time);
  for (std::size_t i = 0; i < entries.size() && bytes > most_bytes_; ++i) {
    fs::remove(entries[i].path, failed);
    bytes -= entries[i].bytes;
  }
}

}  // namespace gradwalk::gpu
