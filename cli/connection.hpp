// SPDX-License-Identifier: MIT
// One connection of a client, as a stream cpp-httplib reads requests from and writes answers to.
//
// A request's head is read whole before httplib sees any of it, within a time and a size, and with only the headers a
// server of files acts on: what httplib would do with others (compress, cut ranges, wait for bodies) is not wanted.
#pragma once

#include <httplib.h>

#include <chrono>
#include <string>
#include <string_view>

namespace gradwalk::cli {

class Connection : public httplib::Stream {
 public:
  explicit Connection(int socket) : socket_(socket) {}

  enum class Head { ready, too_long, none };
  Head read_head();     // waits for the next request; none when none came in time
  void say_farewell();  // ends our side, and listens a moment so that the client gets to read the answer

  bool is_readable() const override { return position_ < head_.size(); }
  bool is_writable() const override { return true; }
  ssize_t read(char* bytes, std::size_t size) override;
  ssize_t write(const char* bytes, std::size_t size) override;
  void get_remote_ip_and_port(std::string& ip, int& port) const override { ip = "127.0.0.1", port = 0; }
  void get_local_ip_and_port(std::string& ip, int& port) const override { ip = "127.0.0.1", port = 0; }
  socket_t socket() const override { return 0; }  // httplib looks whether select() could take it; we poll()

 private:
  using Clock = std::chrono::steady_clock;
  bool wait(short events, Clock::time_point end) const;

  int socket_;
  std::string received_;  // and not yet part of a head
  std::string head_;
  std::size_t position_ = 0;  // of the next byte httplib reads
  Clock::time_point write_end_;
};

}  // namespace gradwalk::cli
