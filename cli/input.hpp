// SPDX-License-Identifier: MIT
// The source of an expression: an argument, a file, or standard input.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace gradwalk::cli {

class Input {
 public:
  void add_to(CLI::App& command);            // EXPR, or --file
  void add_to_with_name(CLI::App& command);  // EXPR NAME, or --file and NAME
  std::string text() const;
  const std::string& name() const { return name_; }

 private:
  void add_file_to(CLI::App& command);
  std::string expression_, file_, name_;
};

}  // namespace gradwalk::cli
