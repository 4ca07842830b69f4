// SPDX-License-Identifier: MIT
// The page server answers with a file of its folder, or with one sentence that says why not. It uses only the public
// interface of cpp-httplib, version 0.11 or later, but not set_mount_point(), which follows symbolic links out of the
// folder and ignores compressed copies: 0.11 compresses each script anew, which takes a second, and 0.18 compresses
// none.
#include "page_server.hpp"

#include <fmt/format.h>
#include <httplib.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <map>
#include <optional>
#include <regex>
#include <string>
#include <system_error>

#include "gradwalk/files.hpp"

namespace gradwalk::cli {
namespace {

namespace fs = std::filesystem;
using httplib::Request;
using httplib::Response;

constexpr std::size_t thread_count = 64, longest_file = std::size_t{1} << 28;

const std::map<std::string, std::string> types{
    {".css", "text/css; charset=utf-8"},
    {".html", "text/html; charset=utf-8"},
    {".js", "text/javascript; charset=utf-8"},
    {".json", "application/json"},
    {".png", "image/png"},
    {".svg", "image/svg+xml"},
    {".txt", "text/plain; charset=utf-8"},
    {".wasm", "application/wasm"},
    {".webp", "image/webp"},
    {".woff2", "font/woff2"},
};

const std::map<int, std::string> explanations{
    {404, "There is no such page here. The first page is at /."},
    {405, "Only GET and HEAD are answered here."},
    {421, "This server answers only to the names localhost and 127.0.0.1."},
};

// Accepts any port in the Host header, because a port may be forwarded.
bool is_for_this_machine(const Request& request) {
  static const std::regex names(R"((localhost|127\.0\.0\.1)(:\d{1,5})?)", std::regex::icase);
  return request.get_header_value_count("Host") == 1 && std::regex_match(request.get_header_value("Host"), names);
}

// The regular expressions here repeat over few characters only: std::regex recurses once per repetition.
bool accepts_gzip(const Request& request) {
  static const std::regex gzip(R"(\bgzip\b(?! ?; ?q=0(\.0{0,3})? ?(,|$)))");
  return std::regex_search(request.get_header_value("Accept-Encoding"), gzip);
}

// Vite writes name-HASH.ext with a hash of eight characters; such a file never changes under its name.
bool has_hash(const std::string& path) {
  static const std::regex hash(R"(-[\w-]{8}\.\w{1,5}$)");
  return path.starts_with("/assets/") && std::regex_search(path, hash);
}

// The regular file that a decoded path names. None for "..", for a dot file, and for a symbolic link out of the folder.
std::optional<std::string> find_file(const std::string& folder, const std::string& path) {
  if (!path.starts_with('/') || path.find("/.") != path.npos || path.find('\0') != path.npos) return std::nullopt;
  std::error_code error;
  const fs::path file = fs::canonical(folder + path, error);
  if (error || !file.string().starts_with(folder + '/') || !fs::is_regular_file(file, error)) return std::nullopt;
  return file.string();
}

// Returns the status. The build leaves compressed copies, name.gz, beside the files.
int answer(const std::string& folder, const Request& request, Response& response) {
  if (!is_for_this_machine(request)) return 421;
  if (request.method != "GET" && request.method != "HEAD") return 405;
  if (request.has_header("Range")) return 416;  // a list of ranges could ask for a file a thousand times over
  const std::string path = request.path.ends_with('/') ? request.path + "index.html" : request.path;
  const std::optional<std::string> file = find_file(folder, path), copy = find_file(folder, path + ".gz");
  if (!file) return 404;
  const bool is_packed = copy && accepts_gzip(request) && fs::last_write_time(*copy) >= fs::last_write_time(*file);
  const auto bytes = std::make_shared<const std::string>(read_file(is_packed ? *copy : *file, longest_file));
  const auto known = types.find(fs::path(*file).extension());
  const std::string type = known == types.end() ? "application/octet-stream" : known->second;
  response.set_header("Cache-Control", has_hash(path) ? "public, max-age=31536000, immutable" : "no-cache");
  if (copy) response.set_header("Vary", "Accept-Encoding");
  if (is_packed) response.set_header("Content-Encoding", "gzip");
  const auto write = [bytes](std::size_t offset, std::size_t length, httplib::DataSink& sink) {
    return sink.write(bytes->data() + offset, length);
  };
  // A function, because httplib would compress a string anew for each request.
  if (!bytes->empty()) response.set_content_provider(bytes->size(), type, write);
  return 200;
}

void explain(const Request&, Response& response) {
  const auto known = explanations.find(response.status);
  const std::string why = known == explanations.end() ? "This request cannot be answered." : known->second;
  if (response.status == 405) response.set_header("Allow", "GET, HEAD");
  response.set_header("Cache-Control", "no-store");
  response.set_content(fmt::format("{} {}\n", response.status, why), "text/plain; charset=utf-8");
}

}  // namespace

PageServer::PageServer(const fs::path& folder, int port) : server_(std::make_unique<httplib::Server>()) {
  server_->new_task_queue = [] { return new httplib::ThreadPool(thread_count); };
  server_->set_keep_alive_max_count(1);  // the body of a refused request must not be read as the next request
  server_->set_default_headers(
      {{"Content-Security-Policy",  // Vite puts small fonts into style sheets as data
        "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self' blob:; "
        "style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; connect-src 'self'; "
        "object-src 'none'; base-uri 'none'; form-action 'none'"},
       {"X-Content-Type-Options", "nosniff"},
       {"Accept-Ranges", "none"}});
  server_->set_socket_options([this](int socket) {  // httplib's default would let a second server share the port
    const int yes = 1;
    listener_ = socket;
    ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
  server_->set_pre_routing_handler([root = fs::canonical(folder).string()](const Request& request, Response& response) {
    response.status = answer(root, request, response);
    return httplib::Server::HandlerResponse::Handled;
  });
  server_->set_error_handler(explain);
  server_->set_exception_handler([](const Request&, Response& response, auto) { response.status = 500; });

  errno = 0;
  if (port != 0 && server_->bind_to_port("127.0.0.1", port)) port_ = port;
  if (port == 0) port_ = server_->bind_to_any_port("127.0.0.1");
  if (port_ <= 0) throw std::system_error(errno, std::generic_category());
  ::listen(listener_, SOMAXCONN);  // httplib lets five clients wait, fewer than a browser opens connections
}

void PageServer::start() {
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = std::min<rlim_t>(files.rlim_cur, most_files);
  ::setrlimit(RLIMIT_NOFILE, &files);
  thread_ = std::thread([this] {
    server_->listen_after_bind();
    has_ended_ = true;
  });
  while (!server_->is_running() && is_running()) std::this_thread::yield();  // stop() has no effect before
}

PageServer::~PageServer() {
  if (!thread_.joinable()) return;
  server_->stop();
  while (is_running()) {
    disconnect(true);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  thread_.join();
}

}  // namespace gradwalk::cli
