// SPDX-License-Identifier: MIT
// The server: what it answers to a request, the threads it answers on, and the connections it can end at once.
#include "page_server.hpp"

#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>
#include <unordered_set>
#include <vector>

#include "connection.hpp"
#include "gradwalk/error.hpp"
#include "gradwalk/files.hpp"
#include "page_files.hpp"

namespace gradwalk::cli {
namespace {

using httplib::Request;
using httplib::Response;

constexpr std::size_t most_threads = 256, most_waiting = 256, longest_file = std::size_t{1} << 28;

// A thread for each connection up to a number of them, made as they are needed; past it connections wait here, and
// past a number of those in the system's own queue.
class Workers : public httplib::TaskQueue {
 public:
  void enqueue(std::function<void()> task) override {
    std::unique_lock lock(mutex_);
    room_.wait(lock, [&] { return tasks_.size() < most_waiting; });
    tasks_.push_back(std::move(task));
    if (tasks_.size() > idle_ && threads_.size() < most_threads) {
      try {
        threads_.emplace_back([this] { work(); });
      } catch (const std::system_error&) {  // no more threads to be had: those there are will come to it
        if (threads_.empty()) throw;
      }
    }
    work_.notify_one();
  }

  void shutdown() override {
    {
      const std::scoped_lock lock(mutex_);
      is_over_ = true;
    }
    work_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      ++idle_;
      work_.wait(lock, [&] { return is_over_ || !tasks_.empty(); });
      --idle_;
      if (tasks_.empty()) return;
      const std::function<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      room_.notify_one();
      lock.unlock();
      task();
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable work_, room_;
  std::deque<std::function<void()>> tasks_;
  std::vector<std::thread> threads_;
  std::size_t idle_ = 0;
  bool is_over_ = false;
};

// localhost or 127.0.0.1, with any port: one may be forwarded from elsewhere.
bool is_this_machine(std::string host) {
  const std::size_t colon = host.find(':');
  if (colon != host.npos && host.find_first_not_of("0123456789", colon + 1) != host.npos) return false;
  host.resize(std::min(colon, host.size()));
  for (char& c : host) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return host == "localhost" || host == "127.0.0.1";
}

bool has_body(const Request& request) {
  return request.has_header("Transfer-Encoding") || request.get_header_value_count("Content-Length") > 1 ||
         (request.has_header("Content-Length") && request.get_header_value("Content-Length") != "0");
}

// 0 for a request that is answered with a file or its absence.
int refusal(const Request& request) {
  if (request.get_header_value_count("Host") != 1 || !is_this_machine(request.get_header_value("Host"))) return 421;
  if (request.method != "GET" && request.method != "HEAD") return 405;
  return has_body(request) ? 413 : 0;
}

bool has_tag(std::string_view list, std::string_view tag) {
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    std::string_view one = list.substr(0, comma);
    list.remove_prefix(std::min(comma + 1, list.size()));
    while (one.starts_with(' ')) one.remove_prefix(1);
    while (one.ends_with(' ')) one.remove_suffix(1);
    if (one.starts_with("W/")) one.remove_prefix(2);
    if (one == tag || one == "*") return true;
  }
  return false;
}

// Whether a list such as "br, gzip;q=0.5" takes gzip; a weight of zero is a refusal.
bool takes_gzip(std::string_view list) {
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    std::string_view one = list.substr(0, comma);
    list.remove_prefix(std::min(comma + 1, list.size()));
    while (one.starts_with(' ')) one.remove_prefix(1);
    const std::string_view name = one.substr(0, one.find_first_of("; "));
    if (name != "gzip" && name != "*") continue;
    const std::size_t weight = one.find("q=");
    return weight == one.npos || one.find_first_of("123456789", weight) != one.npos;
  }
  return false;
}

std::string_view explanation(int status) {
  switch (status) {
    case 404: return "There is no such page here. The lesson is at /.";
    case 405: return "Only GET and HEAD are answered here.";
    case 413: return "A request must not have a body here.";
    case 414:
    case 431: return "The request is too long.";
    case 421: return "This server answers to localhost and 127.0.0.1 only.";
    case 500: return "The file could not be read.";
    default: return "The request could not be understood.";
  }
}

void explain(Response& response) {
  response.set_header("Cache-Control", "no-store");
  response.set_content(fmt::format("{} {}\n", response.status, explanation(response.status)),
                       "text/plain; charset=utf-8");
}

void answer(const PageFiles& files, const Request& request, Response& response) {
  response.status = refusal(request);
  if (response.status == 405) response.set_header("Allow", "GET, HEAD");
  if (response.status != 0) return;
  const std::optional<PageFiles::File> file = files.find(request.target);
  response.status = file ? 200 : 404;
  if (!file) return;
  const bool is_packed = !file->packed.empty() && takes_gzip(request.get_header_value("X-Taken-Encoding"));
  // The two forms are two things to a cache.
  const std::string tag = is_packed ? file->tag.substr(0, file->tag.size() - 1) + "-gzip\"" : file->tag;
  if (!file->packed.empty()) response.set_header("Vary", "Accept-Encoding");
  response.set_header("ETag", tag);
  response.set_header("Cache-Control", file->is_immutable ? "public, max-age=31536000, immutable" : "no-cache");
  if (has_tag(request.get_header_value("If-None-Match"), tag)) {
    response.status = 304;
    if (!is_packed) response.set_header("Content-Length", std::to_string(file->size));
    return;
  }
  try {
    response.set_content(read_file(is_packed ? file->packed : file->path, longest_file), file->type);
    if (is_packed) response.set_header("Content-Encoding", "gzip");
  } catch (const Error&) {  // it has gone or changed just now, or may not be read
    response.headers.erase("ETag");
    response.headers.erase("Cache-Control");
    response.headers.erase("Vary");
    response.status = 500;
  }
}

// Small fonts stand in Vite's style sheets as data.
const httplib::Headers every_answer{
    {"Content-Security-Policy",
     "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self' blob:; "
     "style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; connect-src 'self'; "
     "object-src 'none'; base-uri 'none'; form-action 'none'"},
    {"X-Content-Type-Options", "nosniff"},
    {"Accept-Ranges", "none"}};

}  // namespace

class PageServer::Impl : public httplib::Server {
 public:
  explicit Impl(const std::filesystem::path& folder) : files_(folder) {
    new_task_queue = [] { return new Workers; };
    set_address_family(AF_INET);
    set_tcp_nodelay(true);
    set_default_headers(every_answer);
    set_keep_alive_timeout(5);
    set_keep_alive_max_count(most_requests);
    // httplib's own choice would let a second server share the port.
    set_socket_options([](socket_t socket) {
      const int yes = 1;
      ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    });
    set_pre_routing_handler([this](const Request& request, Response& response) {
      answer(files_, request, response);
      return HandlerResponse::Handled;
    });
    set_error_handler([](const Request&, Response& response) { explain(response); });
    set_post_routing_handler([](const Request&, Response& response) {
      if (response.status == 400 || response.status == 414) {  // httplib would go on after what it could not read
        response.headers.erase("Keep-Alive");
        response.headers.emplace("Connection", "close");
      }
    });
  }
  ~Impl() override { end(); }

  int take(int port) {
    errno = 0;
    if (port == 0) {
      port = bind_to_any_port("127.0.0.1");
    } else if (!bind_to_port("127.0.0.1", port)) {
      port = -1;
    }
    if (port > 0) ::listen(svr_sock_, SOMAXCONN);  // more than the five httplib lets wait
    return port;
  }

  void begin() {
    thread_ = std::thread([this] {
      listen_after_bind();
      has_ended_ = true;
    });
    while (!is_running() && !has_ended_) std::this_thread::yield();  // stop() is nothing before
  }

  void end() {
    if (!thread_.joinable()) return;
    stop();
    {
      const std::scoped_lock lock(mutex_);
      is_stopping_ = true;
      for (const int socket : open_) ::shutdown(socket, SHUT_RDWR);
    }
    thread_.join();
  }

  bool has_ended() const { return has_ended_; }

 private:
  static constexpr std::size_t most_requests = 10000;

  bool process_and_close_socket(socket_t socket) override {
    {
      const std::scoped_lock lock(mutex_);
      if (is_stopping_) {
        ::close(socket);
        return false;
      }
      open_.insert(socket);
    }
    bool is_well = false;
    try {
      converse(socket);
      is_well = true;
    } catch (const std::exception&) {
      is_well = false;  // out of memory: this client's loss, not the others'
    }
    const std::scoped_lock lock(mutex_);
    open_.erase(socket);
    ::close(socket);
    return is_well;
  }

  void converse(int socket) {
    Connection client(socket);
    for (std::size_t left = most_requests; left > 0; --left) {
      const Connection::Head head = client.read_head();
      if (head == Connection::Head::none) return;
      if (head == Connection::Head::too_long) {
        client.httplib::Stream::write(
            std::string("HTTP/1.1 431 Request Header Fields Too Large\r\n"
                        "Connection: close\r\nContent-Length: 0\r\n\r\n"));
        break;
      }
      bool is_closed = false, is_understood = false;
      const bool is_written = process_request(client, left == 1, is_closed, [&](Request& request) {
        is_understood = true;
        if (refusal(request) != 0) {  // a body may follow, and must not be read as a request
          request.headers.erase("Connection");
          request.set_header("Connection", "close");
          is_closed = true;
        }
      });
      if (!is_written) return;
      if (is_closed || !is_understood) break;
    }
    client.say_farewell();
  }

  PageFiles files_;
  std::mutex mutex_;
  std::unordered_set<int> open_;
  bool is_stopping_ = false;
  std::atomic<bool> has_ended_ = false;
  std::thread thread_;
};

PageServer::PageServer(const std::filesystem::path& folder) : impl_(std::make_unique<Impl>(folder)) {}
PageServer::~PageServer() = default;
int PageServer::bind(int port) { return impl_->take(port); }
void PageServer::start() { impl_->begin(); }
bool PageServer::is_running() const { return !impl_->has_ended(); }
void PageServer::stop() { impl_->end(); }

}  // namespace gradwalk::cli
