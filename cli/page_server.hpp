// SPDX-License-Identifier: MIT
// A web server for one folder and for this machine: it listens on 127.0.0.1 only, answers GET and HEAD, and refuses a
// request that names another host, so that no page from elsewhere can read the folder by DNS rebinding.
#pragma once

#include <atomic>
#include <filesystem>
#include <memory>
#include <thread>

namespace httplib {
class Server;
}

namespace gradwalk::cli {

class PageServer {
 public:
  // Binds the port, or any free port for 0. Throws std::system_error with the reason when the port is not available,
  // and std::filesystem::filesystem_error when there is no such folder.
  PageServer(const std::filesystem::path& folder, int port);
  ~PageServer();  // closes every connection and waits for the threads

  int port() const { return port_; }
  void start();                                    // answers on threads of its own from now on
  bool is_running() const { return !has_ended_; }  // false also when the system took the socket away

  // Disconnects clients that take too long or send too much; call it a few times per second. cpp-httplib limits each
  // read and each header, but neither the time nor the size of a whole request.
  void enforce_limits() const { disconnect(false); }

 private:
  static constexpr int most_files = 1024;  // open at a time, connections included
  void disconnect(bool everyone) const;

  std::unique_ptr<httplib::Server> server_;
  int port_ = 0, listener_ = -1;
  std::atomic<bool> has_ended_ = false;
  std::thread thread_;
};

}  // namespace gradwalk::cli
