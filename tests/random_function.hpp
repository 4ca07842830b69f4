// SPDX-License-Identifier: MIT
// Random functions of inputs and parameters over every operation of the table, which can be recorded again with other
// numbers. They contain single operations, and the structures that compile() looks for: layers, long sums, nested
// maxima.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "gradwalk/gradwalk.hpp"

namespace gradwalk::tests {

// Applies an op to Values. Operands that it does not have are ignored.
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

// Returns the local derivatives with respect to each operand.
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
  std::vector<double> inputs, parameters, constants;  // the numbers that the function was made with
  std::vector<Step> steps;                            // operands count inputs, parameters, constants and earlier steps

  std::size_t leaves() const { return inputs.size() + parameters.size() + constants.size(); }
  std::size_t nodes() const { return leaves() + steps.size(); }

  std::vector<Value> all(const std::vector<Value>& in, const std::vector<Value>& of) const {
    std::vector<Value> nodes(in);
    nodes.insert(nodes.end(), of.begin(), of.end());
    for (const double number : constants) nodes.emplace_back(number);
    for (const Step& step : steps) nodes.push_back(applied(step.op, nodes[step.a], nodes[step.b], nodes[step.c]));
    return nodes;
  }
};

class RandomFunctionMaker {
 public:
  // Numbers are between -2 and 2; with decades, their magnitudes are between 10^-decades and 10^decades.
  RandomFunctionMaker(std::mt19937_64& random, std::size_t inputs, std::size_t parameters, int decades)
      : random_(random), decades_(decades) {
    for (std::size_t i = 0; i < inputs; ++i) made_.inputs.push_back(number());
    for (std::size_t i = 0; i < parameters; ++i) made_.parameters.push_back(number());
    for (int i = 0; i < 3; ++i) made_.constants.push_back(i == 0 ? 2 : number());
    for (const auto* some : {&made_.inputs, &made_.parameters, &made_.constants})
      data_.insert(data_.end(), some->begin(), some->end());
  }

  RandomFunction make(std::size_t steps) {
    const NoGrad guard;
    while (made_.steps.size() < steps) {
      switch (below(24)) {
        case 0: add_layer(); break;
        case 1: add_long_sum(); break;
        case 2: add_extreme(); break;
        default: add_any(); break;
      }
    }
    // The result is a sum of the last nodes, so that it depends on most of them.
    const std::size_t count = data_.size();
    std::size_t sum = count - 1;
    for (std::size_t i = 2; i < 5 && i <= count; ++i)
      if (const auto more = add(Op::add, sum, count - i)) sum = *more;
    return std::move(made_);
  }

 private:
  std::size_t below(std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random_); }
  double number() {
    const double uniform = std::uniform_real_distribution<>(-2, 2)(random_);
    if (decades_ == 0) return uniform;
    return std::copysign(std::pow(10, uniform / 2 * decades_), below(2) == 0 ? 1.0 : -1.0);
  }
  // Returns true unless the result or derivative of an operation is large; with decades, unless it leaves their range.
  bool is_tame(double number) const {
    if (decades_ == 0) return std::isfinite(number) && std::abs(number) < 50;
    return number == 0 || std::abs(std::log10(std::abs(number))) < decades_;
  }
  // Returns any node, but recent ones more often.
  std::size_t any() {
    return below(3) == 0 ? below(data_.size()) : data_.size() - 1 - below(std::min<std::size_t>(data_.size(), 8));
  }
  std::size_t parameter() { return made_.inputs.size() + below(made_.parameters.size()); }

  // Adds an operation, if it is tame on the numbers that the function is made with.
  std::optional<std::size_t> add(Op op, std::size_t a, std::size_t b = 0, std::size_t c = 0) {
    const double result = applied(op, data_[a], data_[b], data_[c]).data();
    if (!is_tame(result)) return {};
    for (const double local : locals(op, {data_[a], data_[b], data_[c]}, result))
      if (!is_tame(local)) return {};
    made_.steps.push_back({op, a, b, c});
    data_.push_back(result);
    return data_.size() - 1;
  }

  // Adds any operation; every second one is a sum, difference, product or negation.
  void add_any() {
    const auto first = static_cast<std::size_t>(Op::add), last = static_cast<std::size_t>(Op::custom);
    const Op op =
        below(2) == 0 ? std::vector{Op::add, Op::mul, Op::sub, Op::neg}[below(4)] : Op(first + below(last - first));
    const std::size_t a = any(), b = any(), c = any();
    add(op, a, b, c);
  }

  // Adds several sums of parameters times the same nodes, perhaps with relu, and perhaps again for other nodes. The
  // weights are arranged as in a layer, or overlap, or are shifted by one.
  void add_layer() {
    const std::size_t depth = below(8) == 0 ? 30 + below(10) : 2 + below(3), count = 1 + below(4);
    const std::size_t first = below(made_.parameters.size()), along = below(4) == 0 ? 0 : 1;
    const std::size_t across = std::vector<std::size_t>{0, 1, depth, depth + 1}[below(4)], bias_step = below(2);
    const bool has_bias = below(2) == 0, has_relu = below(2) == 0;
    const auto parameter_at = [&](std::size_t i) {
      return made_.inputs.size() + (first + i) % made_.parameters.size();
    };
    for (std::size_t again = 1 + below(3); again > 0; --again) {
      std::vector<std::size_t> in(depth), out;
      for (std::size_t& operand : in) operand = any();
      for (std::size_t o = 0; o < count; ++o) {
        std::optional<std::size_t> sum;
        if (has_bias) sum = parameter_at(depth * count + o * bias_step);
        for (std::size_t t = 0; t < depth; ++t) {
          const auto product = add(Op::mul, parameter_at(o * across + t * along), in[t]);
          const auto more = !sum || !product ? product : add(Op::add, *sum, *product);
          if (more) sum = more;
        }
        if (sum) out.push_back(*sum);
      }
      for (const std::size_t sum : out)
        if (has_relu) add(Op::relu, sum);
    }
  }

  void add_long_sum() {
    std::size_t sum = any();
    const bool has_products = below(2) == 0;
    for (std::size_t i = 4 + below(26); i > 0; --i) {
      const std::size_t x = any(), y = any();
      const auto term = has_products ? add(Op::mul, x, y) : std::optional(x);
      if (!term) continue;
      if (const auto more = add(below(4) == 0 ? Op::sub : Op::add, sum, *term)) sum = *more;
    }
  }

  void add_extreme() {
    const Op op = below(2) == 0 ? Op::max : Op::min;
    const bool is_uniform = below(2) == 0;
    std::size_t most = is_uniform ? parameter() : any();
    for (std::size_t i = 2 + below(10); i > 0; --i) {
      std::size_t other = is_uniform ? parameter() : any();
      if (below(2) == 0) std::swap(most, other);
      if (const auto next = add(op, most, other)) most = *next;
    }
  }

  std::mt19937_64& random_;
  int decades_;
  RandomFunction made_;
  std::vector<double> data_;
};

inline RandomFunction random_function(std::mt19937_64& random, std::size_t inputs, std::size_t parameters,
                                      std::size_t steps, int decades = 0) {
  return RandomFunctionMaker(random, inputs, parameters, decades).make(steps);
}

}  // namespace gradwalk::tests
