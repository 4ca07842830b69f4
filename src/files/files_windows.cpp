// SPDX-License-Identifier: MIT
// Reads files with every size checked. Writes files beside their target, then renames them. By the standard library,
// for Windows; paths are UTF-8.
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "gradwalk/error.hpp"
#include "gradwalk/files.hpp"
#include "text/shown.hpp"

namespace gradwalk {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const std::string& path, std::string_view needs, std::string_view got,
                         std::string_view advice) {
  throw Error(detail::printable(path), needs, got, advice);
}

fs::path checked_path(const std::string& path) {
  if (path.empty()) throw Error("file", "a name", "none", "give one");
  if (path.find('\0') != std::string::npos) refuse(path, "a name without zero bytes", "one", "choose another");
  return {std::u8string(path.begin(), path.end())};
}

const char* kind_of(const fs::file_status& status) { return fs::is_directory(status) ? "a folder" : "a device"; }

// A new file beside another one. The destructor removes it unless it was renamed.
class Temporary {
 public:
  explicit Temporary(const fs::path& target) {
    static std::atomic<unsigned> count{0};
    do {
      name_ = target.parent_path() / (".gradwalk-" + std::to_string(++count) + ".tmp");
    } while (fs::exists(name_));
  }
  ~Temporary() {
    std::error_code unused;
    if (!name_.empty()) fs::remove(name_, unused);
  }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

  bool fill(std::string_view bytes) const {
    std::ofstream out(name_, std::ios::binary);
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    out.close();
    return !out.fail();
  }
  std::error_code rename_to(const fs::path& target) {
    std::error_code error;
    fs::rename(name_, target, error);
    if (!error) name_.clear();
    return error;
  }

 private:
  fs::path name_;
};

}  // namespace

std::string read_file(const std::string& path, std::size_t most) {
  const fs::path name = checked_path(path);
  std::error_code error;
  const fs::file_status status = fs::status(name, error);
  if (!fs::exists(status)) refuse(path, "a file that can be read", "none", "check its name and its folder's");
  if (!fs::is_regular_file(status))
    refuse(path, "a regular file", kind_of(status), "name a file, or save what comes from there to one first");
  const std::uintmax_t size = fs::file_size(name, error);
  if (error) refuse(path, "a file that can be read", error.message(), "check the permissions");
  if (size > most)
    refuse(path, "at most " + std::to_string(most) + " bytes", std::to_string(size), "use a smaller file");
  std::string bytes(static_cast<std::size_t>(size) + 1, '\0');  // one byte more, to see that the file ends
  std::ifstream in(name, std::ios::binary);
  if (!in) refuse(path, "a file that can be read", "one that cannot be opened", "check the permissions");
  in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  const auto count = static_cast<std::uintmax_t>(in.gcount());
  bytes.pop_back();
  if (in.bad()) refuse(path, "a file that can be read", "an error of the disk", "check the disk");
  if (count != size)
    refuse(path, "a file that stays as it is while it is read",
           "one that " + std::string(count < size ? "shrank" : "grew"), "try again when it is complete");
  return bytes;
}

void write_file(const std::string& path, std::string_view bytes) {
  fs::path target = checked_path(path);
  if (!target.has_filename()) refuse(path, "a file to write", "a folder's name", "add the file's name to it");
  std::error_code error;
  if (fs::is_symlink(fs::symlink_status(target, error))) target = fs::weakly_canonical(target);
  const fs::file_status status = fs::status(target, error);
  if (fs::exists(status) && !fs::is_regular_file(status))
    refuse(path, "a regular file or a new name", kind_of(status), "choose another name");
  Temporary temporary(target);
  if (!temporary.fill(bytes))
    refuse(path, "space for " + std::to_string(bytes.size()) + " bytes", "an error",
           "check the folder and its permissions, or choose another place");
  if (const std::error_code failed = temporary.rename_to(target))
    refuse(path, "a file that can be replaced", failed.message(), "choose another place");
}

}  // namespace gradwalk
