// SPDX-License-Identifier: MIT
// A web server for one folder of files and the people at this machine: it listens on 127.0.0.1 alone, answers GET and
// HEAD, and refuses a request that names another host, so that no page from elsewhere can read it under a false name.
//
// cpp-httplib accepts, parses and writes; connections and their limits are ours: every wait has an end, a request's
// head has a size, and a client that sends nothing holds up nobody.
#pragma once

#include <filesystem>
#include <memory>

namespace gradwalk::cli {

class PageServer {
 public:
  // Throws std::filesystem::filesystem_error when there is no such folder.
  explicit PageServer(const std::filesystem::path& folder);
  ~PageServer();
  PageServer(const PageServer&) = delete;
  PageServer& operator=(const PageServer&) = delete;

  // Takes the port, or any free one for 0, and gives its number; -1, and errno, when it cannot be had.
  int bind(int port);
  void start();             // answers on threads of its own from now on
  bool is_running() const;  // false also when the system took the port away
  void stop();              // closes every connection

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace gradwalk::cli
