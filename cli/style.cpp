// SPDX-License-Identifier: MIT
// Decides whether to use colours, and writes the escape codes.
#include "style.hpp"

#include <fmt/format.h>

#include <cstdlib>

#include "system.hpp"

namespace gradwalk::cli {

void Style::add_to(CLI::App& command) {
  command
      .add_option("--color", when_,
                  "When to use colours: auto, always or never. auto means on a terminal, unless NO_COLOR is set "
                  "[default: auto]")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->option_text("WHEN");
}

bool Style::is_on() const {
  if (when_ != "auto") return when_ == "always";
  const char* no_color = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  return (no_color == nullptr || *no_color == '\0') && terminal != nullptr && std::string_view(terminal) != "dumb" &&
         is_terminal();
}

std::string Style::wrap(std::string_view code, std::string_view text) const {
  return is_on() ? fmt::format("\033[{}m{}\033[0m", code, text) : std::string(text);
}

}  // namespace gradwalk::cli
