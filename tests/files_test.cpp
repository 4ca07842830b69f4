// SPDX-License-Identifier: MIT
// Reading and writing whole files: what is refused, and what a failed or killed write leaves behind.
#include "gradwalk/files.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>

#include "support.hpp"
#include "temporary_folder.hpp"

namespace gradwalk {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre, testing::EndsWith, testing::IsEmpty, testing::StartsWith;

constexpr std::size_t most = 1 << 20;

class Files : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_ / name; }
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& entry : fs::directory_iterator(folder_.path())) all.push_back(entry.path().filename());
    std::sort(all.begin(), all.end());
    return all;
  }
  static mode_t mode(const std::string& file) {
    struct stat about{};
    return ::stat(file.c_str(), &about) == 0 ? about.st_mode & 07777 : 0;
  }

  tests::TemporaryFolder folder_;
};

std::string message_reading(const std::string& path) {
  return tests::error_of([&] { read_file(path, most); });
}
std::string message_writing(const std::string& path, std::string_view bytes = "new") {
  return tests::error_of([&] { write_file(path, bytes); });
}

// Runs a function in a child process and returns its result, or -1 - the signal that ended the process.
int in_child(const std::function<int()>& run) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(run());
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1 - WTERMSIG(status);
}

TEST_F(Files, AreReadAsTheyWereWritten) {
  std::string bytes(100'000, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 7 % 256);
  for (const std::string& contents : {bytes, std::string(), std::string("x")}) {
    write_file(path("a"), contents);
    EXPECT_EQ(read_file(path("a"), most), contents);
  }
  EXPECT_THAT(names(), ElementsAre("a"));
}

TEST_F(Files, CanBeInTheWorkingFolder) {
  const fs::path before = fs::current_path();
  fs::current_path(folder_.path());
  write_file("here", "1");
  EXPECT_EQ(read_file("here", most), "1");
  fs::current_path(before);
  EXPECT_THAT(names(), ElementsAre("here"));
}

TEST_F(Files, OfOtherKindsAreRefusedWithoutBlocking) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string socket_path = path("socket");
  ASSERT_LT(socket_path.size(), sizeof address.sun_path);
  std::copy(socket_path.begin(), socket_path.end(), address.sun_path);
  ASSERT_EQ(::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  const std::array<std::pair<std::string, const char*>, 5> cases{{{folder_.path(), "a folder"},
                                                                  {path("pipe"), "a pipe"},
                                                                  {path("socket"), "a socket"},
                                                                  {"/dev/zero", "a device"},
                                                                  {"/dev/full", "a device"}}};
  for (const auto& [name, kind] : cases) {
    EXPECT_EQ(message_reading(name), name + ": needs a regular file, got " + kind +
                                         "; name a file, or save what comes from there to one first");
    EXPECT_EQ(message_writing(name),
              name + ": needs a regular file or a new name, got " + kind + "; choose another name");
  }
  ::close(socket);
}

TEST_F(Files, ThatDoNotExistAreRefused) {
  EXPECT_EQ(
      message_reading(path("no")),
      path("no") + ": needs a file that can be read, got No such file or directory; check its name and its folder's");
  EXPECT_EQ(
      message_writing(path("no/file")),
      path("no/file") +
          ": needs a folder that takes a new file, got No such file or directory; check its name and its folder's");
  EXPECT_EQ(message_reading(""), "file: needs a name, got none; give one");
  EXPECT_EQ(message_writing(""), "file: needs a name, got none; give one");
  EXPECT_EQ(message_writing(path("a/")),
            path("a/") + ": needs a file to write, got a folder's name; add the file's name to it");
  EXPECT_EQ(message_writing(path("a") + '\0' + "b"),
            path("a") + "?b: needs a name without zero bytes, got one; choose another");
  write_file(path("file"), "old");
  EXPECT_EQ(message_writing(path("file/a")),
            path("file/a") + ": needs a file to write, got Not a directory; a part of its path is not a folder");
  const std::string longest(255, 'n');
  write_file(path(longest), "fits");  // the temporary file has a short name
  EXPECT_EQ(message_writing(path(longest + "n")),
            path(longest + "n") + ": needs a file to write, got File name too long; choose a shorter name");
}

TEST_F(Files, ThatAreTooLargeAreRefusedUnread) {
  write_file(path("a"), "12345");
  EXPECT_EQ(read_file(path("a"), 5), "12345");
  EXPECT_EQ(tests::error_of([&] { read_file(path("a"), 4); }),
            path("a") + ": needs at most 4 bytes, got 5; use a smaller file");
  fs::resize_file(path("a"), std::uintmax_t{1} << 40);
  EXPECT_EQ(message_reading(path("a")),
            path("a") + ": needs at most 1048576 bytes, got 1099511627776; use a smaller file");
}

TEST_F(Files, ThatGrowWhileTheyAreReadAreRefused) {
  // Files in /proc report size 0 but have bytes, which looks like a file that grows.
  EXPECT_EQ(
      message_reading("/proc/self/status"),
      "/proc/self/status: needs a file that stays as it is while it is read, got one that grew; try again when it is "
      "complete");
}

TEST_F(Files, KeepTheirPermissionsAndNewFilesFollowTheUmask) {
  const mode_t before = ::umask(027);
  write_file(path("new"), "1");
  EXPECT_EQ(mode(path("new")), 0640u);
  for (const mode_t kept : {0600u, 0666u, 0755u}) {
    ASSERT_EQ(::chmod(path("new").c_str(), kept), 0);
    write_file(path("new"), "2");
    EXPECT_EQ(mode(path("new")), kept);
  }
  ::umask(before);
}

TEST_F(Files, AreWrittenThroughSymbolicLinks) {
  fs::create_directory(path("there"));
  fs::create_symlink("there/two", path("one"));
  fs::create_symlink("three", path("there/two"));
  write_file(path("one"), "first");  // the target does not exist yet
  EXPECT_EQ(read_file(path("there/three"), most), "first");
  write_file(path("one"), "second");
  EXPECT_EQ(read_file(path("there/three"), most), "second");
  EXPECT_TRUE(fs::is_symlink(path("one")) && fs::is_symlink(path("there/two")));
  EXPECT_THAT(names(), ElementsAre("one", "there"));
  fs::create_symlink(path("there/three"), path("absolute"));
  write_file(path("absolute"), "third");
  EXPECT_EQ(read_file(path("one"), most), "third");
  fs::create_symlink("circle", path("circle"));
  EXPECT_THAT(message_writing(path("circle")), EndsWith("; its symbolic links lead in a circle"));
}

TEST_F(Files, AreUnchangedIfTheDiskIsFull) {
  write_file(path("a"), "old");
  EXPECT_EQ(in_child([&] {
              ::signal(SIGXFSZ, SIG_IGN);
              const rlimit limit{1000, 1000};
              ::setrlimit(RLIMIT_FSIZE, &limit);
              const std::string said = message_writing(path("a"), std::string(5000, 'x'));
              return said == path("a") +
                                 ": needs space for 5000 bytes, got File too large; free some space, or choose another "
                                 "place"
                         ? 0
                         : 1;
            }),
            0);
  EXPECT_EQ(read_file(path("a"), most), "old");
  EXPECT_THAT(names(), ElementsAre("a"));
}

TEST_F(Files, AreUnchangedIfPermissionIsDenied) {
  write_file(path("a"), "old");
  ASSERT_EQ(::chmod(folder_.path().c_str(), 0555), 0);
  ASSERT_EQ(::chmod(path("a").c_str(), 0666), 0);
  const auto as_nobody = [&](const std::string& expected) {
    return in_child([&] {
      if (::geteuid() == 0 && ::setuid(65534) != 0) return 2;
      return message_writing(path("a")) == expected ? 0 : 1;
    });
  };
  EXPECT_EQ(as_nobody(path("a") + ": needs a folder that takes a new file, got Permission denied; check the "
                                  "permissions, or choose another place"),
            0);
  ASSERT_EQ(::chmod(path("a").c_str(), 0444), 0);
  ASSERT_EQ(::chmod(folder_.path().c_str(), 0777), 0);  // the folder is writable, the file is not
  EXPECT_EQ(as_nobody(path("a") +
                      ": needs a file that may be written, got Permission denied; check the permissions, or choose "
                      "another place"),
            0);
  EXPECT_EQ(read_file(path("a"), most), "old");
  EXPECT_THAT(names(), ElementsAre("a"));
}

TEST_F(Files, AreWrittenDespiteTemporaryFilesOfOtherProcesses) {
  for (int i = 0; i < 100; ++i)
    std::ofstream(path(".gradwalk-" + std::to_string(::getpid()) + "-" + std::to_string(i) + ".tmp")) << "stray";
  write_file(path("a"), "new");
  EXPECT_EQ(read_file(path("a"), most), "new");
  EXPECT_EQ(names().size(), 101u);
}

TEST_F(Files, AreCompleteIfTheWriterIsKilled) {
  const std::array<std::string, 2> contents{std::string(300'000, 'a'), std::string(200'000, 'b')};
  write_file(path("model"), contents[0]);
  std::mt19937 random(7);
  std::array<int, 2> seen{};
  std::size_t strays = 0;
  for (std::size_t i = 0; i < 200; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      for (std::size_t save = i;; ++save) write_file(path("model"), contents[save % 2]);
    }
    // A few processes live long enough for a complete write on a busy machine.
    ::usleep(i % 20 < 2 ? 50'000 : std::uniform_int_distribution<useconds_t>(0, 8000)(random));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    const std::string found = read_file(path("model"), most);
    ASSERT_TRUE(found == contents[0] || found == contents[1]) << found.size() << " bytes after kill " << i;
    ++seen[found == contents[0] ? 0 : 1];
    std::size_t left = 0;
    for (const std::string& name : names()) {
      if (name == "model") continue;
      EXPECT_THAT(name, StartsWith(".gradwalk-"));
      EXPECT_THAT(name, EndsWith(".tmp"));
      fs::remove(path(name));
      ++left;
    }
    EXPECT_LE(left, 1u);
    strays += left;
  }
  EXPECT_GT(seen[0], 0);
  EXPECT_GT(seen[1], 0);
  RecordProperty("strays", static_cast<int>(strays));
}

}  // namespace
}  // namespace gradwalk
