// SPDX-License-Identifier: MIT
// A graph as the Python tests describe it: one step a line, each making one node, operands named by step number.
//
//   leaf 1.5          a leaf
//   mul f 0 1         an op of the table by its name:   mul(v0, v1)
//   mul o 0 =2.5      by its operator:                  v0 * 2.5
//   add c 2! 3!       by its compound operator:         v2 += v3
//
// `3!` is a handle that dies here, as a temporary or a moved Value does; `=2.5` is a plain number.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "spell.hpp"

namespace oracle {

struct Operand {
  bool is_number = false, dies = false;
  double number = 0;
  std::size_t step = 0;
};

struct Step {
  gradwalk::Op op = gradwalk::Op::leaf;
  Spelling spelling = Spelling::function;
  double data = 0;  // of a leaf
  std::vector<Operand> operands;
};

double parse_number(const std::string& text);
gradwalk::Op parse_op(std::string_view name);
Step parse_step(const std::vector<std::string>& words);

gradwalk::Value evaluate(gradwalk::Op op,
                         std::span<const gradwalk::Value> operands);  // by its name, every handle stays

class Graph {
 public:
  void add(const Step& step);
  const gradwalk::Value& at(std::size_t step) const { return *handles_.at(step); }
  gradwalk::Value& at(std::size_t step) { return *handles_.at(step); }

  // A handle to each step's node: the graph's own, or, where that has died, one found from above through inputs().
  std::vector<std::optional<gradwalk::Value>> nodes() const;

  // The last step as a function of the leaves.
  gradwalk::Value rebuild(const std::vector<gradwalk::Value>& leaves) const;
  std::vector<double> leaf_data() const;

 private:
  std::vector<Step> steps_;
  std::vector<std::optional<gradwalk::Value>> handles_;
};

}  // namespace oracle
