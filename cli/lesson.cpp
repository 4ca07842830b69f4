// SPDX-License-Identifier: MIT
// gradwalk lesson: the lesson's page in a browser on this machine, until Ctrl-C.
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <memory>
#include <string>

#include "commands.hpp"
#include "gradwalk/error.hpp"
#include "page_server.hpp"

namespace gradwalk::cli {
namespace {

namespace fs = std::filesystem;

constexpr int first_port = 8000, last_port = 8099;

struct Options {
  int port = -1;  // the first free one of ours
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
                "give the folder Vite has built, web/dist");
  }
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  fs::path installed = program.parent_path() / GRADWALK_LESSON_FROM_PROGRAM;
  if (!error && has_page(installed)) return installed;
  if (has_page(GRADWALK_LESSON_BUILT)) return GRADWALK_LESSON_BUILT;
  throw Error("gradwalk lesson", "the lesson's page", fmt::format("none in {}", GRADWALK_LESSON_BUILT),
              "build it with ./run lesson, or name its folder with --folder");
}

int bind_given(PageServer& server, int wanted) {
  const int port = server.bind(wanted);
  if (port > 0) return port;
  const bool is_taken = errno == EADDRINUSE;
  throw Error("gradwalk lesson", "a port it may listen on", fmt::format("{} ({})", wanted, std::strerror(errno)),
              is_taken ? "stop the program that has it, or leave --port away to take the next free one"
                       : "give another with --port, 1024 or more, or 0 for any");
}

int bind_free(PageServer& server) {
  for (int wanted = first_port; wanted <= last_port; ++wanted) {
    const int port = server.bind(wanted);
    if (port < 0 && errno == EADDRINUSE) continue;
    if (port < 0) break;
    if (port != first_port) fmt::print(stderr, "port {} is taken, so this is {}\n", first_port, port);
    return port;
  }
  throw Error("gradwalk lesson", fmt::format("a free port from {} to {}", first_port, last_port),
              fmt::format("none ({})", std::strerror(errno)), "give one with --port, or 0 for any");
}

void say_not_opened(const char* why) {
  fmt::print(stderr, "no browser was opened ({}); open the address in one\n", why);
}

// In a session of its own, so that Ctrl-C here does not end the browser; -1 when there is no xdg-open.
pid_t open_browser(const std::string& address) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  for (const int number : {0, 1, 2}) posix_spawn_file_actions_addopen(&files, number, "/dev/null", O_RDWR, 0);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, ignored;
  sigemptyset(&none);
  sigemptyset(&ignored);
  sigaddset(&ignored, SIGPIPE);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &ignored);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::string name = "xdg-open", argument = address;
  char* const arguments[] = {name.data(), argument.data(), nullptr};
  pid_t child = -1;
  const int error = posix_spawnp(&child, name.c_str(), &files, &attributes, arguments, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  if (error == 0) return child;
  say_not_opened(error == ENOENT ? "there is no xdg-open here" : std::strerror(error));
  return -1;
}

// -1 once it has ended.
pid_t look_after(pid_t child) {
  int status = 0;
  if (child < 0 || waitpid(child, &status, WNOHANG) == 0) return child;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) say_not_opened("xdg-open found none");
  return -1;
}

void run(const Options& options) {
  // Before any thread is made, so that none of them takes the signals.
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGINT);
  sigaddset(&stop, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &stop, nullptr);

  PageServer server(page_folder(options.folder));
  const int port = options.port < 0 ? bind_free(server) : bind_given(server, options.port);
  const std::string address = fmt::format("http://127.0.0.1:{}/", port);
  pid_t browser = options.opens ? open_browser(address) : -1;  // it waits in the queue until the server starts
  server.start();
  fmt::print("the lesson is at {}\nCtrl-C stops it\n", address);
  std::fflush(stdout);

  const timespec moment{.tv_sec = 0, .tv_nsec = 200'000'000};
  while (sigtimedwait(&stop, nullptr, &moment) < 0) {
    browser = look_after(browser);
    if (!server.is_running())
      throw Error("gradwalk lesson", "a network to listen on", "an error of the system's", "start it again");
  }
  server.stop();
}

}  // namespace

void add_lesson(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("lesson", "the lesson in your browser: watch the chain rule at work");
  command->add_option("--port", options->port, fmt::format("listen on this port, or on any for 0 ({})", first_port))
      ->option_text("N")
      ->check(CLI::Range(0, 65535));
  command->add_flag("--open", options->opens, "open it in the browser");
  command->add_option("--folder", options->folder, "serve the page in this folder")->option_text("DIR");
  command->footer(
      "Serves the page to this machine alone, until Ctrl-C.\n\n"
      "Examples:\n"
      "  gradwalk lesson --open\n"
      "  gradwalk lesson --port 0");
  command->callback([options] { run(*options); });
}

}  // namespace gradwalk::cli
