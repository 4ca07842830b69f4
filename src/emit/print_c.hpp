// SPDX-License-Identifier: MIT
// Prints lowered code as the body of a C function.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "code.hpp"
#include "dialect.hpp"

namespace gradwalk::emit {

// The constant tables of a file, each once.
class Tables {
 public:
  Tables(std::string prefix, const C99& dialect) : prefix_(std::move(prefix)), dialect_(dialect) {}
  std::string of_numbers(const std::vector<double>& numbers);
  std::string of_indices(const std::vector<std::int64_t>& indices);
  const std::string& text() const { return text_; }

 private:
  std::string add(const std::string& type, const std::vector<std::string>& entries);
  std::string prefix_;
  const C99& dialect_;
  std::map<std::string, std::string> names_;  // by their text
  std::string text_;
};

struct PrintOptions {
  std::string matrix = "jacobian";           // the name of the array of entries
  bool adds_gradients = false;               // adds to the gradient of the parameters instead of writing it
  std::vector<std::string> parameter_names;  // names of local copies, used in code without loops; or empty
  std::vector<std::string> input_names;
};
struct PrintedBody {
  std::string text;
  std::size_t workspace = 0;  // numbers in work[]
  std::size_t locals = 0;     // local variables
};
PrintedBody print_body(const Code& code, const C99& dialect, Tables& tables, const PrintOptions& options);

// Breaks a line between tokens where it is longer than a page is wide.
std::string wrapped(const std::string& line, std::size_t indent);

}  // namespace gradwalk::emit
