// SPDX-License-Identifier: MIT
// Windows has UTF-16 for words and names. The folder for temporary files belongs to the user.
#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <windows.h>  // first: the next headers need it

#include <fcntl.h>
#include <io.h>
#include <shellapi.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <filesystem>

#include "system.hpp"

namespace gradwalk::cli {
namespace {

std::string in_utf8(const wchar_t* text) {
  const int bytes = WideCharToMultiByte(CP_UTF8, 0, text, -1, nullptr, 0, nullptr, nullptr);
  std::string result(static_cast<std::size_t>(bytes), '\0');  // with the zero at its end
  WideCharToMultiByte(CP_UTF8, 0, text, -1, result.data(), bytes, nullptr, nullptr);
  result.pop_back();
  return result;
}

}  // namespace

std::vector<std::string> words_of(int, char**) {
  SetConsoleOutputCP(CP_UTF8);
  _setmode(_fileno(stdout), _O_BINARY);
  int count = 0;
  wchar_t** const words = CommandLineToArgvW(GetCommandLineW(), &count);
  std::vector<std::string> result;
  for (int i = 0; i < count; ++i) result.push_back(in_utf8(words[i]));
  LocalFree(words);
  return result;
}

bool is_terminal() {
  DWORD mode = 0;
  return GetConsoleMode(GetStdHandle(STD_OUTPUT_HANDLE), &mode) != 0;
}

bool shows_unicode() { return GetConsoleOutputCP() == CP_UTF8; }

std::optional<TerminalSize> terminal_size() {
  CONSOLE_SCREEN_BUFFER_INFO about{};
  if (GetConsoleScreenBufferInfo(GetStdHandle(STD_OUTPUT_HANDLE), &about) == 0) return std::nullopt;
  const SMALL_RECT& window = about.srWindow;
  return TerminalSize{static_cast<std::size_t>(window.Right - window.Left + 1),
                      static_cast<std::size_t>(window.Bottom - window.Top + 1)};
}

std::span<const int> stopping_signals() {
  static constexpr std::array signals{SIGINT, SIGTERM, SIGBREAK};
  return signals;
}

void report_full_files() {}  // a full disk is always an error

bool may_write_to(const std::string&) { return true; }  // only an attempt to write finds out

std::string new_private_folder() {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::temp_directory_path(error);
  for (int i = 1; !error && i < 1000; ++i) {
    const std::filesystem::path name = folder / ("gradwalk-" + std::to_string(i));
    if (std::filesystem::create_directory(name, error)) return name.string();
  }
  return "";
}

}  // namespace gradwalk::cli
