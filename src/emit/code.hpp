// SPDX-License-Identifier: MIT
// The lowered form that a printer reads: assignments to single numbers, and loops over them.
//
//   lower   Code   the statements of one function, in order
//   roll    Code   the same with equal neighbours as loops
//
// A statement in a loop stands for one statement per iteration. Each of its operands is therefore a list with one entry
// per iteration, the innermost loop running fastest. A printer turns the list into an index, or into a table.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace gradwalk::emit {

// Where a number is.
enum class Array : std::uint8_t {
  number,          // a constant
  parameter,       // an argument of the function
  input,           // an argument of the function
  seed,            // the gradient of an output, which the surrounding code gives
  node,            // computed by an earlier statement
  output,          // the following are targets only
  gradient,        // with respect to parameters
  input_gradient,  // with respect to inputs
  matrix,          // an entry of a Jacobian or Hessian
  result,          // what the function returns
};
struct Operand {
  Array array = Array::number;
  std::uint32_t index = 0;
  double number = 0;
  bool operator==(const Operand&) const = default;
};
using Operands = std::vector<Operand>;  // one entry per iteration

// An expression with holes: the text between its operands. `pattern` is an index into Code::patterns, in which
// hole(k) stands for operand k.
struct Expression {
  std::uint32_t pattern = 0;
  std::vector<Operands> operands;
};
inline constexpr char hole_mark = '\x01';
inline std::string hole(std::size_t k) { return hole_mark + std::to_string(k) + hole_mark; }
// The pattern with text_of(k) in place of each hole k.
template <class TextOf> std::string filled(const std::string& pattern, TextOf text_of) {
  std::string text;
  for (std::size_t at = 0; at < pattern.size();) {
    if (pattern[at] != hole_mark) {
      text += pattern[at++];
      continue;
    }
    const std::size_t end = pattern.find(hole_mark, at + 1);
    text += text_of(std::stoul(pattern.substr(at + 1, end - at - 1)));
    at = end + 1;
  }
  return text;
}

// target = value + the sum over the terms of each run. A run is a loop of its own, with a fixed number of terms.
struct Run {
  std::uint32_t count = 0;
  Expression term;
};
struct Statement {
  Operands target;
  Expression value;
  std::vector<Run> runs;
};

// A statement, or a loop.
struct Item {
  std::uint32_t count = 0;  // iterations of a loop; 0: a statement
  std::vector<Item> body;   // of a loop
  Statement statement;      // of a statement
  std::uint64_t shape = 0;  // a hash of everything but indices and numbers
  bool is_loop() const { return count > 0; }
};

struct Code {
  std::vector<Item> items;
  std::vector<std::string> patterns;
  std::uint32_t nodes = 0;  // numbers that statements compute for other statements
  bool calls_digamma = false, calls_trigamma = false, calls_times = false;

  std::uint32_t pattern(const std::string& text) {
    const auto [known, is_new] = pattern_numbers.try_emplace(text, static_cast<std::uint32_t>(patterns.size()));
    if (is_new) patterns.push_back(text);
    return known->second;
  }
  std::map<std::string, std::uint32_t> pattern_numbers = {};
};

// The number of operations in the text: statements, and operands beyond two of each.
std::size_t size_of(const Code& code);

// Replaces equal neighbours by loops. The order of the statements stays the same.
void roll(Code& code);

}  // namespace gradwalk::emit
