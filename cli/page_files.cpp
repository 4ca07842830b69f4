// SPDX-License-Identifier: MIT
// From a request's target to a file: decode, refuse every name a build never writes, resolve links, look where it led.
#include "page_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <system_error>
#include <utility>

namespace gradwalk::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::pair<std::string_view, std::string_view>, 13> types{{
    {".css", "text/css; charset=utf-8"},
    {".html", "text/html; charset=utf-8"},
    {".ico", "image/x-icon"},
    {".js", "text/javascript; charset=utf-8"},
    {".json", "application/json; charset=utf-8"},
    {".map", "application/json; charset=utf-8"},
    {".mjs", "text/javascript; charset=utf-8"},
    {".png", "image/png"},
    {".svg", "image/svg+xml; charset=utf-8"},
    {".txt", "text/plain; charset=utf-8"},
    {".wasm", "application/wasm"},
    {".webmanifest", "application/manifest+json; charset=utf-8"},
    {".woff2", "font/woff2"},
}};

std::string_view type_of(const fs::path& path) {
  const std::string extension = path.extension().string();
  const auto* const found = std::ranges::find(types, extension, [](const auto& row) { return row.first; });
  return found == types.end() ? "application/octet-stream" : found->second;
}

int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// None when an escape is broken, or hides a character that would change what the path means.
std::optional<std::string> decode(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      if (i + 2 >= text.size()) return std::nullopt;
      const int high = digit(text[i + 1]), low = digit(text[i + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      c = static_cast<char>(high * 16 + low);
      if (c == '/') return std::nullopt;
      i += 2;
    }
    if (c == '\\' || static_cast<unsigned char>(c) < ' ' || c == 0x7f) return std::nullopt;
    result += c;
  }
  return result;
}

// No part is empty or begins with a dot: neither "..", nor ".git", nor what an absolute path would begin with.
bool is_plain(std::string_view path) {
  std::size_t start = 0;
  while (true) {
    if (start == path.size() || path[start] == '/' || path[start] == '.') return false;
    const std::size_t slash = path.find('/', start);
    if (slash == path.npos) return true;
    start = slash + 1;
  }
}

// Vite writes name-HASH.ext, eight letters of the base64 of addresses; a file without one keeps its name as it changes.
bool has_hash(const fs::path& path) {
  constexpr std::size_t length = 8;
  const std::string name = path.stem().string();
  if (name.size() <= length || name[name.size() - length - 1] != '-') return false;
  return std::all_of(name.end() - static_cast<std::ptrdiff_t>(length), name.end(),
                     [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_'; });
}

// A compressed copy counts while it is no older than what it is a copy of, and is a file of its own, not a link.
std::string packed_copy(const fs::path& path, fs::file_time_type changed) {
  const fs::path copy = path.string() + ".gz";
  std::error_code error;
  if (fs::symlink_status(copy, error).type() != fs::file_type::regular || error) return {};
  const fs::file_time_type packed = fs::last_write_time(copy, error);
  return error || packed < changed ? std::string() : copy.string();
}

}  // namespace

PageFiles::PageFiles(const fs::path& folder) : root_(fs::canonical(folder)) {}

std::optional<PageFiles::File> PageFiles::find(std::string_view target) const {
  target = target.substr(0, target.find_first_of("?#"));
  if (!target.starts_with('/')) return std::nullopt;
  const std::optional<std::string> name = decode(target == "/" ? "index.html" : target.substr(1));
  if (!name || !is_plain(*name)) return std::nullopt;

  std::error_code error;
  const fs::path path = fs::canonical(root_ / *name, error);
  if (error) return std::nullopt;
  const auto [end_of_root, rest] = std::ranges::mismatch(root_, path);
  if (end_of_root != root_.end() || !fs::is_regular_file(path, error)) return std::nullopt;
  const std::uintmax_t size = fs::file_size(path, error);
  if (error) return std::nullopt;
  const fs::file_time_type changed = fs::last_write_time(path, error);
  if (error) return std::nullopt;
  return File{.path = path.string(),
              .type = std::string(type_of(path)),
              .tag = fmt::format("\"{:x}-{:x}\"", size, static_cast<std::uint64_t>(changed.time_since_epoch().count())),
              .size = size,
              .is_immutable = name->starts_with("assets/") && has_hash(path),
              .packed = packed_copy(path, changed)};
}

}  // namespace gradwalk::cli
