// SPDX-License-Identifier: MIT
// Colours for the output: on a terminal, unless NO_COLOR is set. --color overrides both.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>

namespace gradwalk::cli {

class Style {
 public:
  void add_to(CLI::App& command);  // --color
  bool is_on() const;

  std::string bold(std::string_view text) const { return wrap("1", text); }
  std::string dim(std::string_view text) const { return wrap("2", text); }
  std::string good(std::string_view text) const { return wrap("32", text); }
  std::string bad(std::string_view text) const { return wrap("31", text); }
  std::string accent(std::string_view text) const { return wrap("36", text); }

 private:
  std::string wrap(std::string_view code, std::string_view text) const;
  std::string when_ = "auto";
};

}  // namespace gradwalk::cli
