// SPDX-License-Identifier: MIT
// Random functions of inputs and parameters over every operation of the table, which can be recorded again on other
// numbers, and how large the terms of their gradients are.
#pragma once

#include <cmath>
#include <cstdint>
#include <map>
#include <random>
#include <vector>

#include "gradwalk/gradwalk.hpp"

namespace gradwalk::tests {

// The op on Values; unused operands may be anything.
inline Value applied(Op op, const Value& a, const Value& b, const Value& c) {
  switch (op) {
#define GRADWALK_UNARY(name, ...) \
  case Op::name: return name(a);
#define GRADWALK_BINARY(name, ...) \
  case Op::name: return name(a, b);
#define GRADWALK_TERNARY(name, ...) \
  case Op::name: return name(a, b, c);
#include "gradwalk/ops.def"
#undef GRADWALK_UNARY
#undef GRADWALK_BINARY
#undef GRADWALK_TERNARY
    default: return a;
  }
}

// Local derivatives, of the operands in order.
inline std::vector<double> locals(Op op, const std::vector<double>& in, double r) {
  using rules::Rule;
  switch (op) {
#define GRADWALK_UNARY(name, ...) \
  case Op::name: return {Rule<Op::name>::dx(in[0], r)};
#define GRADWALK_BINARY(name, ...) \
  case Op::name: return {Rule<Op::name>::dx(in[0], in[1], r), Rule<Op::name>::dy(in[0], in[1], r)};
#define GRADWALK_TERNARY(name, ...) \
  case Op::name: return {0.0, Rule<Op::name>::dx(in[0]), Rule<Op::name>::dy(in[0])};
#include "gradwalk/ops.def"
#undef GRADWALK_UNARY
#undef GRADWALK_BINARY
#undef GRADWALK_TERNARY
    default: return {};
  }
}

struct RandomFunction {
  struct Step {
    Op op;
    std::size_t a, b, c;
  };
  std::vector<double> inputs, parameters, constants;  // the numbers it was made on
  std::vector<Step> steps;                            // on inputs, parameters, constants and what steps before gave

  std::vector<Value> all(const std::vector<Value>& in, const std::vector<Value>& of) const {
    std::vector<Value> nodes(in);
    nodes.insert(nodes.end(), of.begin(), of.end());
    for (const double number : constants) nodes.emplace_back(number);
    for (const Step& step : steps) nodes.push_back(applied(step.op, nodes[step.a], nodes[step.b], nodes[step.c]));
    return nodes;
  }
  Value operator()(const std::vector<Value>& in, const std::vector<Value>& of) const { return all(in, of).back(); }
};

// Numbers stay moderate where it was made: what would not is drawn again.
inline RandomFunction random_function(std::mt19937_64& random, std::size_t inputs, std::size_t parameters,
                                      std::size_t steps) {
  const auto below = [&](std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random); };
  const auto number = [&] { return std::uniform_real_distribution<>(-2, 2)(random); };
  RandomFunction function;
  for (std::size_t i = 0; i < inputs; ++i) function.inputs.push_back(number());
  for (std::size_t i = 0; i < parameters; ++i) function.parameters.push_back(number());
  for (int i = 0; i < 3; ++i) function.constants.push_back(i == 0 ? 2 : number());
  std::vector<double> data(function.inputs);
  data.insert(data.end(), function.parameters.begin(), function.parameters.end());
  data.insert(data.end(), function.constants.begin(), function.constants.end());
  const auto first = static_cast<std::size_t>(Op::add), last = static_cast<std::size_t>(Op::custom);
  const NoGrad guard;
  while (function.steps.size() < steps) {
    // Sums and products are what programs are made of.
    Op op = static_cast<Op>(first + below(last - first));
    if (below(2) == 0) op = std::vector{Op::add, Op::mul, Op::sub, Op::neg}[below(4)];
    const auto operand = [&] {
      return below(3) == 0 ? below(data.size()) : data.size() - 1 - below(std::min<std::size_t>(data.size(), 8));
    };
    const RandomFunction::Step step{op, operand(), operand(), operand()};
    const double result = applied(op, data[step.a], data[step.b], data[step.c]).data();
    bool is_tame = std::isfinite(result) && std::abs(result) < 50;
    for (const double local : locals(op, {data[step.a], data[step.b], data[step.c]}, result))
      is_tame &= std::isfinite(local) && std::abs(local) < 50;
    if (!is_tame) continue;
    function.steps.push_back(step);
    data.push_back(result);
  }
  // A sum of the last ones, so that most of it is needed.
  const std::size_t count = data.size();
  for (std::size_t i = 1; i < 4; ++i)
    function.steps.push_back({Op::add, count + i - (i == 1 ? 2 : 2), count - 1 - i, 0});
  return function;
}

}  // namespace gradwalk::tests
