// SPDX-License-Identifier: MIT
// gradwalk lesson: serves the lesson's page to browsers on this machine, until Ctrl-C.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>

#include "commands.hpp"
#include "gradwalk/error.hpp"
#include "page_server.hpp"

namespace gradwalk::cli {
namespace {

namespace fs = std::filesystem;

constexpr int first_port = 8000, last_port = 8099;

struct Options {
  int port = -1;  // negative: the first free port from first_port to last_port
  bool opens = false;
  std::string folder;
};

bool has_page(const fs::path& folder) {
  std::error_code error;
  return fs::is_regular_file(folder / "index.html", error);
}

fs::path page_folder(const std::string& given) {
  if (!given.empty()) {
    if (has_page(given)) return given;
    throw Error("gradwalk lesson", "a folder with an index.html", fmt::format("'{}'", given),
                "give the folder that tools/build-lesson writes, web/dist");
  }
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  fs::path installed = program.parent_path() / GRADWALK_LESSON_FROM_PROGRAM;
  if (!error && has_page(installed)) return installed;
  if (has_page(GRADWALK_LESSON_BUILT)) return GRADWALK_LESSON_BUILT;
  throw Error("gradwalk lesson", "the lesson's page", fmt::format("none in {}", GRADWALK_LESSON_BUILT),
              "build it with ./run lesson, or give its folder with --folder");
}

// Listens on the given port or, if it is negative, on the first free port from first_port to last_port.
std::unique_ptr<PageServer> make_server(const fs::path& folder, int given) {
  const int first = given < 0 ? first_port : given, last = given < 0 ? last_port : given;
  for (int port = first;; ++port) {
    try {
      auto server = std::make_unique<PageServer>(folder, port);
      if (port != first) fmt::print(stderr, "port {} is in use; using port {}\n", first, port);
      return server;
    } catch (const std::system_error& error) {
      if (port < last) continue;
      const std::string ports = first == last ? std::to_string(first) : fmt::format("{} to {}", first, last);
      throw Error("gradwalk lesson", "a free port", fmt::format("{} ({})", ports, error.code().message()),
                  "give another with --port, 1024 or above, or --port 0 for any free port");
    }
  }
}

// Starts the browser in its own session, so that Ctrl-C here does not end it. Must be called before any thread starts.
pid_t open_browser(const std::string& address) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::setsid();
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  std::signal(SIGPIPE, SIG_DFL);  // cpp-httplib ignores it
  const int nowhere = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int number : {0, 1, 2}) ::dup2(nowhere, number);
  ::execlp("xdg-open", "xdg-open", address.c_str(), nullptr);
  ::_exit(127);
}

// Reports once that no browser was opened. Returns -1 when the child has ended.
pid_t look_after(pid_t child) {
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, WNOHANG) == 0) return child;
  const char* const reason = WEXITSTATUS(status) == 127 ? "xdg-open is not installed" : "xdg-open found none";
  if (status != 0) fmt::print(stderr, "could not open a browser ({}); open the address yourself\n", reason);
  return -1;
}

void run(const Options& options) {
  // Block the signals before any thread starts, so that none of the threads receives them.
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGINT);
  sigaddset(&stop, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &stop, nullptr);

  const std::unique_ptr<PageServer> server = make_server(page_folder(options.folder), options.port);
  const std::string address = fmt::format("http://127.0.0.1:{}/", server->port());
  pid_t browser = options.opens ? open_browser(address) : -1;  // its connection waits until the server starts
  server->start();
  fmt::print("the {} is at {}\npress Ctrl-C to stop\n", options.folder.empty() ? "lesson" : "page", address);
  std::fflush(stdout);

  const timespec moment{.tv_sec = 0, .tv_nsec = 200'000'000};
  while (sigtimedwait(&stop, nullptr, &moment) < 0) {
    browser = look_after(browser);
    server->enforce_limits();
    if (!server->is_running())
      throw Error("gradwalk lesson", "a socket to listen on", "a system error", "start it again");
  }
}

}  // namespace

void add_lesson(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("lesson", "Serve the interactive lesson to your browser");
  command
      ->add_option(
          "--port", options->port,
          fmt::format("Port to listen on. 0 means any free port [default: {}, or the next free one]", first_port))
      ->option_text("N")
      ->check(CLI::Range(0, 65535));
  command->add_flag("--open", options->opens, "Open the lesson in your browser");
  command->add_option("--folder", options->folder, "Serve the website in this folder instead of the lesson")
      ->option_text("DIR");
  command->footer(
      "Serves the page to this machine only, until you press Ctrl-C.\n\n"
      "Examples:\n"
      "  gradwalk lesson --open\n"
      "  gradwalk lesson --port 0");
  command->callback([options] { run(*options); });
}

}  // namespace gradwalk::cli
