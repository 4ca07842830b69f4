// SPDX-License-Identifier: MIT
// Reads and writes with a deadline for the whole head and the whole answer, not one for each byte.
#include "connection.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>

namespace gradwalk::cli {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t longest_head = 16384;
constexpr std::chrono::milliseconds head_time = 5s, answer_time = 30s, farewell_time = 200ms;

constexpr std::array<std::string_view, 5> wanted{"connection", "content-length", "host", "if-none-match",
                                                 "transfer-encoding"};

std::string name_of(std::string_view line) {
  std::string name(line.substr(0, line.find(':')));
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name;
}

bool is_wanted(std::string_view line) { return std::ranges::find(wanted, name_of(line)) != wanted.end(); }

// The request line, the wanted headers and the empty line. What encodings are taken goes on under a name of our own: by
// its own name httplib would compress each answer anew, and the build has done that once.
std::string sifted(std::string_view head) {
  std::string result;
  for (bool is_first = true; !head.empty(); is_first = false) {
    const std::string_view line = head.substr(0, head.find("\r\n") + 2);
    if (is_first || line == "\r\n" || is_wanted(line))
      result += line;
    else if (name_of(line) == "accept-encoding")
      result.append("X-Taken-Encoding").append(line.substr(line.find(':')));
    head.remove_prefix(line.size());
  }
  return result;
}

}  // namespace

bool Connection::wait(short events, Clock::time_point end) const {
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
    if (left <= 0) return false;
    pollfd waiting{.fd = socket_, .events = events, .revents = 0};
    const int ready = ::poll(&waiting, 1, static_cast<int>(left));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
}

Connection::Head Connection::read_head() {
  const Clock::time_point end = Clock::now() + head_time;
  std::size_t searched = 0;
  while (true) {
    if (const std::size_t blank = received_.find("\r\n\r\n", searched); blank != received_.npos) {
      head_ = sifted(std::string_view(received_).substr(0, blank + 4));
      received_.erase(0, blank + 4);
      position_ = 0;
      write_end_ = Clock::now() + answer_time;
      return Head::ready;
    }
    searched = received_.size() < 3 ? 0 : received_.size() - 3;
    if (received_.size() > longest_head) {
      write_end_ = Clock::now() + answer_time;
      return Head::too_long;
    }
    if (!wait(POLLIN, end)) return Head::none;
    std::array<char, 4096> bytes;
    const ssize_t count = ::recv(socket_, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (count <= 0) return Head::none;
    received_.append(bytes.data(), static_cast<std::size_t>(count));
  }
}

void Connection::say_farewell() {
  ::shutdown(socket_, SHUT_WR);
  const Clock::time_point end = Clock::now() + farewell_time;
  std::array<char, 4096> bytes;
  while (wait(POLLIN, end) && ::recv(socket_, bytes.data(), bytes.size(), MSG_DONTWAIT) > 0) {
  }
}

ssize_t Connection::read(char* bytes, std::size_t size) {
  const std::size_t count = head_.copy(bytes, size, position_);
  position_ += count;
  return static_cast<ssize_t>(count);
}

ssize_t Connection::write(const char* bytes, std::size_t size) {
  while (true) {
    const ssize_t count = ::send(socket_, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count >= 0) return count;
    if (errno == EINTR) continue;
    if (errno != EAGAIN || !wait(POLLOUT, write_end_)) return -1;
  }
}

}  // namespace gradwalk::cli
