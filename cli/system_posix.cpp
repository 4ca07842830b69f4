// SPDX-License-Identifier: MIT
#include <langinfo.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <clocale>
#include <csignal>
#include <filesystem>
#include <string_view>

#include "system.hpp"

namespace gradwalk::cli {

std::vector<std::string> words_of(int argc, char** argv) { return {argv, argv + argc}; }

bool is_terminal() { return isatty(STDOUT_FILENO) == 1; }

bool shows_unicode() {
  std::setlocale(LC_CTYPE, "");
  const bool result = std::string_view(nl_langinfo(CODESET)) == "UTF-8";
  std::setlocale(LC_CTYPE, "C");
  return result;
}

std::optional<TerminalSize> terminal_size() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return std::nullopt;
  return TerminalSize{size.ws_col, size.ws_row};
}

std::span<const int> stopping_signals() {
  static constexpr std::array signals{SIGINT, SIGTERM, SIGHUP};
  return signals;
}

void report_full_files() { std::signal(SIGXFSZ, SIG_IGN); }

bool may_write_to(const std::string& folder) { return ::access(folder.c_str(), W_OK | X_OK) == 0; }

std::string new_private_folder() {
  std::string folder = (std::filesystem::temp_directory_path() / "gradwalk-XXXXXX").string();
  return ::mkdtemp(folder.data()) == nullptr ? "" : folder;
}

}  // namespace gradwalk::cli
