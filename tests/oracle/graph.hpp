// SPDX-License-Identifier: MIT
// A graph as the Python tests describe it: one step per line, each of which makes one node. Operands are step numbers.
//
//   leaf 1.5          makes a leaf:                          Value(1.5)
//   mul f 0 1         applies the op by its name:            mul(v0, v1)
//   mul o 0 =2.5      applies it by operator:                v0 * 2.5
//   add c 2! 3!       applies it by compound operator:       v2 += v3
//
// `3!` consumes the Value of step 3, like a temporary or std::move. `=2.5` is a plain number.
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
  double data = 0;  // for a leaf
  std::vector<Operand> operands;
};

double parse_number(const std::string& text);
gradwalk::Op parse_op(std::string_view name);
Step parse_step(const std::vector<std::string>& words);

// Applies an op by its name. Consumes no operand.
gradwalk::Value evaluate(gradwalk::Op op, std::span<const gradwalk::Value> operands);

class Graph {
 public:
  void add(const Step& step);
  const gradwalk::Value& at(std::size_t step) const { return *handles_.at(step); }
  gradwalk::Value& at(std::size_t step) { return *handles_.at(step); }

  // Returns a Value for the node of each step: the one of the graph or, if that was consumed, one found through
  // inputs() of a later node.
  std::vector<std::optional<gradwalk::Value>> nodes() const;

  // Builds the last step again on other leaves.
  gradwalk::Value rebuild(const std::vector<gradwalk::Value>& leaves) const;
  std::vector<double> leaf_data() const;

 private:
  std::vector<Step> steps_;
  std::vector<std::optional<gradwalk::Value>> handles_;
};

}  // namespace oracle
