// SPDX-License-Identifier: MIT
// The size of the terminal that is written to.
#pragma once

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstddef>
#include <optional>

namespace gradwalk::cli {

struct TerminalSize {
  std::size_t columns, rows;
};

inline std::optional<TerminalSize> terminal_size() {  // none: it is no terminal, or does not tell
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return std::nullopt;
  return TerminalSize{size.ws_col, size.ws_row};
}

}  // namespace gradwalk::cli
