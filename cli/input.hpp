// SPDX-License-Identifier: MIT
// Where an expression comes from: the command line itself, a file, or standard input.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace gradwalk::cli {

class Input {
 public:
  void add_to(CLI::App& command);  // EXPR, or --file
  std::string text() const;

 private:
  std::string expression_, file_;
};

}  // namespace gradwalk::cli
