// SPDX-License-Identifier: MIT
// Reads files with every size checked. Writes files beside their target, then renames them.
#include "gradwalk/files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <system_error>

#include "gradwalk/error.hpp"
#include "text/shown.hpp"

namespace gradwalk {
namespace {

// Owns a file descriptor.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const { return number_; }
  bool is_open() const { return number_ >= 0; }
  // Returns false on failure: some file systems report only now that the disk is full.
  bool close() {
    const int closed = ::close(number_);
    number_ = -1;
    return closed == 0;
  }

 private:
  int number_;
};

const char* kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

[[noreturn]] void refuse(const std::string& path, std::string_view needs, std::string_view got,
                         std::string_view advice) {
  throw Error(detail::printable(path), needs, got, advice);
}

const char* advice_on(int error) {
  switch (error) {
    case ENOENT: return "check its name and its folder's";
    case ENOTDIR: return "a part of its path is not a folder";
    case EACCES:
    case EPERM:
    case EROFS: return "check the permissions, or choose another place";
    case ENOSPC:
    case EDQUOT:
    case EFBIG: return "free some space, or choose another place";
    case ENAMETOOLONG: return "choose a shorter name";
    case ELOOP: return "its symbolic links lead in a circle";
    default: return "check the disk, or choose another place";
  }
}

[[noreturn]] void refuse_errno(const std::string& path, std::string_view needs) {
  const int error = errno;
  refuse(path, needs, std::generic_category().message(error), advice_on(error));
}

void check_name(const std::string& path) {
  if (path.empty()) throw Error("file", "a name", "none", "give one");
  if (path.find('\0') != std::string::npos) refuse(path, "a name without zero bytes", "one", "choose another");
}

// Returns the path that a chain of symbolic links leads to, which need not exist yet.
std::string without_links(const std::string& path) {
  std::string at = path;
  for (int links = 0; links < 40; ++links) {
    char target[4096];
    const ssize_t size = ::readlink(at.c_str(), target, sizeof target);
    if (size < 0) return at;
    const std::string_view to(target, static_cast<std::size_t>(size));
    const std::size_t name = at.rfind('/') + 1;  // 0 if the path has no folder
    at = to.starts_with('/') ? std::string(to) : at.substr(0, name) + std::string(to);
  }
  errno = ELOOP;
  refuse_errno(path, "a file to write");
}

bool write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

// Writes a file to the disk. Succeeds also on file systems that cannot sync.
bool sync_to_disk(int file) {
  return ::fsync(file) == 0 || errno == EINVAL || errno == ENOSYS || errno == ENOTSUP || errno == EROFS;
}

// A new file in a folder, which is "" or ends in '/'. The destructor removes the file unless it was renamed.
class Temporary {
 public:
  Temporary(const std::string& folder, mode_t mode, const std::string& path)
      : file_(create(folder, mode)), path_(path) {
    if (!file_.is_open()) refuse_errno(path, "a folder that takes a new file");
  }
  ~Temporary() {
    if (!name_.empty()) ::unlink(name_.c_str());
  }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

  void copy_owner_and_permissions(const struct stat& older) {
    // A process that may not change the owner becomes the owner. The permissions are kept in any case.
    if (::fchown(file_.number(), older.st_uid, older.st_gid) != 0) errno = 0;
    if (::fchmod(file_.number(), older.st_mode & 0777) != 0) refuse_errno(path_, "the older file's permissions");
  }
  void fill(std::string_view bytes) {
    if (!write_all(file_.number(), bytes) || !sync_to_disk(file_.number()) || !file_.close())
      refuse_errno(path_, "space for " + std::to_string(bytes.size()) + " bytes");
  }
  void rename_to(const std::string& target) {
    if (::rename(name_.c_str(), target.c_str()) != 0) refuse_errno(path_, "a file that can be replaced");
    name_.clear();
  }

 private:
  int create(const std::string& folder, mode_t mode) {
    static std::atomic<unsigned> count{0};
    for (int tries = 0; tries < 10'000; ++tries) {
      name_ = folder + ".gradwalk-" + std::to_string(::getpid()) + "-" + std::to_string(++count) + ".tmp";
      const int file = ::open(name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
      if (file >= 0) return file;
      if (errno != EEXIST && errno != EINTR) break;  // EEXIST: left behind by a process with our number
    }
    name_.clear();  // so that the destructor removes no file of another process
    return -1;
  }

  std::string name_;
  Descriptor file_;
  const std::string& path_;  // the path in messages
};

// Writes the folder, and so the new name, to the disk.
void sync_folder(const std::string& folder, const std::string& path) {
  const Descriptor opened(::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // A folder that may be written but not read cannot be synced. The file is complete in any case.
  if (opened.is_open() && !sync_to_disk(opened.number())) refuse_errno(path, "a folder that can be synced to the disk");
}

}  // namespace

std::string read_file(const std::string& path, std::size_t most) {
  check_name(path);
  struct stat about{};
  const auto check = [&] {
    if (!S_ISREG(about.st_mode))
      refuse(path, "a regular file", kind_of(about.st_mode), "name a file, or save what comes from there to one first");
    if (static_cast<std::uintmax_t>(about.st_size) > most)
      refuse(path, "at most " + std::to_string(most) + " bytes", std::to_string(about.st_size), "use a smaller file");
  };
  // Check before opening, because a device may notice an open, and again after it, because the file may have changed.
  // O_NONBLOCK keeps a pipe from blocking.
  if (::stat(path.c_str(), &about) != 0) refuse_errno(path, "a file that can be read");
  check();
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!file.is_open() || ::fstat(file.number(), &about) != 0) refuse_errno(path, "a file that can be read");
  check();

  std::string bytes(static_cast<std::size_t>(about.st_size) + 1, '\0');  // one byte more, to see that the file ends
  std::size_t size = 0;
  while (size < bytes.size()) {
    const ssize_t count = ::read(file.number(), bytes.data() + size, bytes.size() - size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) refuse_errno(path, "a file that can be read");
    if (count == 0) break;
    size += static_cast<std::size_t>(count);
  }
  bytes.pop_back();
  if (size != bytes.size())
    refuse(path, "a file that stays as it is while it is read",
           "one that " + std::string(size < bytes.size() ? "shrank" : "grew"), "try again when it is complete");
  return bytes;
}

void write_file(const std::string& path, std::string_view bytes) {
  check_name(path);
  const std::string target = without_links(path);
  const std::string folder = target.substr(0, target.rfind('/') + 1);
  if (folder.size() == target.size()) refuse(path, "a file to write", "a folder's name", "add the file's name to it");
  struct stat older{};
  const bool exists = ::lstat(target.c_str(), &older) == 0;
  if (!exists && errno != ENOENT) refuse_errno(path, "a file to write");
  if (exists && !S_ISREG(older.st_mode))
    refuse(path, "a regular file or a new name", kind_of(older.st_mode), "choose another name");
  if (exists && ::access(target.c_str(), W_OK) != 0) refuse_errno(path, "a file that may be written");

  Temporary temporary(folder, exists ? older.st_mode & 0777 : 0666, path);
  if (exists) temporary.copy_owner_and_permissions(older);
  temporary.fill(bytes);
  temporary.rename_to(target);
  sync_folder(folder, path);
}

}  // namespace gradwalk
