// SPDX-License-Identifier: MIT
// The size of the terminal at standard output.
#pragma once

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstddef>
#include <optional>

namespace gradwalk::cli {

struct TerminalSize {
  std::size_t columns, rows;
};

// Returns nothing if standard output is no terminal, or if the terminal does not report its size.
inline std::optional<TerminalSize> terminal_size() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return std::nullopt;
  return TerminalSize{size.ws_col, size.ws_row};
}

}  // namespace gradwalk::cli
