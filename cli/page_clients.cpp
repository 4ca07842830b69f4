// SPDX-License-Identifier: MIT
// Disconnects clients of the page server. cpp-httplib keeps its sockets to itself, so this file finds them among the
// process's file descriptors, and asks the kernel how much each client has sent and how long it has waited.
// <linux/tcp.h> cannot stand beside <httplib.h>: its tcp_info clashes with an older one in <netinet/tcp.h>.
#include <arpa/inet.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "page_server.hpp"

namespace gradwalk::cli {
namespace {

constexpr unsigned longest_wait = 5'000, longest_request = 1U << 16;  // milliseconds, bytes

bool is_client(int socket, int port) {
  sockaddr_in own{}, peer{};
  socklen_t own_size = sizeof own, peer_size = sizeof peer;
  return ::getsockname(socket, reinterpret_cast<sockaddr*>(&own), &own_size) == 0 && own.sin_family == AF_INET &&
         ntohs(own.sin_port) == port && ::getpeername(socket, reinterpret_cast<sockaddr*>(&peer), &peer_size) == 0;
}

}  // namespace

void PageServer::disconnect(bool everyone) const {
  for (int socket = 0; socket < most_files; ++socket) {
    if (!is_client(socket, port_)) continue;
    tcp_info info{};
    socklen_t size = sizeof info;
    ::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size);
    // Before the first byte of the answer, tcpi_last_data_sent counts from the start of the connection.
    if (everyone || info.tcpi_last_data_sent > longest_wait || info.tcpi_bytes_received > longest_request)
      ::shutdown(socket, SHUT_RDWR);  // httplib's thread sees the end of the connection and closes the socket
  }
}

}  // namespace gradwalk::cli
