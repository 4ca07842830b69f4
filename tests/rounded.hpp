// SPDX-License-Identifier: MIT
// Rounded: a number with a bound on its rounding error. Tests use it to compare compiled programs with the engine.
//
// The error of a Rounded is the sum of the magnitudes of all rounded intermediate results, each times the largest
// derivative of the number with respect to it. Times the rounding unit of a precision, this bounds the error of a
// computation in that precision, whatever the order of its sums: a sum counts all its terms, not their total. The rules
// of the op table are applied to Rounded, so cancellation inside a rule, as in 1 - r * r, counts, too.
//
// No bound holds where rounding decides a result: a comparison of numbers that are equal up to their errors, a root at
// the edge of its domain, a number that overflows in one precision only. Then in_doubt is set.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "gradwalk/ops.hpp"

namespace gradwalk::tests {

class Rounded {
 public:
  struct Precision {
    double tolerance;    // the allowed difference, as a multiple of the error
    double reach;        // numbers that differ by less than this multiple of their errors count as equal
    double least, most;  // the range of magnitudes whose products and quotients do not overflow or underflow
    bool is_float;
  };
  // A function of the kernels has an error of at most 4 units in the last place, which is 8 roundings. On random graphs
  // the error was at most 2 roundings.
  static constexpr Precision float64{16 * 0x1p-53, 1e-9, 1e-150, 1e150, false};
  static constexpr Precision float32{16 * 0x1p-24, 1e-5, 1e-18, 1e18, true};
  // For numbers of all magnitudes. Factors up to 256 may be applied earlier or later than they were written.
  static constexpr Precision wide_float64{16 * 0x1p-53, 1e-9, 1e-300, 1e300, false};
  static constexpr Precision wide_float32{16 * 0x1p-24, 1e-5, 1e-35, 1e35, true};

  static inline thread_local const Precision* precision = &float64;
  static inline thread_local bool in_doubt = false;  // set by results that rounding decides; the user resets it

  double value = 0, error = 0;
  // Numbers with the same origin are equal, however they are rounded. The negative number has the negative origin.
  std::int64_t origin = 0;

  Rounded() = default;
  Rounded(double exact) : value(exact) {}
  // Returns a number that is an input of the program.
  static Rounded leaf(double number) {
    const bool is_exact = !precision->is_float || static_cast<double>(static_cast<float>(number)) == number;
    return rounded(number, is_exact ? 0 : std::abs(number));
  }

  // Returns true if a result is close enough. Results that are not finite must be equal.
  bool allows(double got) const {
    if (std::isnan(value)) return std::isnan(got);
    return got == value || std::abs(got - value) <= precision->tolerance * error;
  }
  double reach() const { return precision->reach * error; }
  // Returns true for a number whose products may overflow or underflow in this precision.
  static bool is_doubtful(double number) {
    const double size = std::abs(number);
    return std::isfinite(number) && number != 0 && (size < precision->least || size > precision->most);
  }

  friend Rounded operator+(const Rounded& x, const Rounded& y) {
    return rounded(x.value + y.value, x.error + y.error + std::abs(x.value) + std::abs(y.value));
  }
  friend Rounded operator-(const Rounded& x, const Rounded& y) { return x + -y; }
  friend Rounded operator-(const Rounded& x) { return copy(-x.value, x.error, -x.origin); }
  // The product of both errors counts, too: it is the largest part if both factors are sums that nearly cancel.
  friend Rounded operator*(const Rounded& x, const Rounded& y) {
    // 0 times infinity is NaN, unless the 0 is a gradient, which passes nothing on. The order of factors decides which.
    doubt_if((x.value == 0 && !std::isfinite(y.value)) || (y.value == 0 && !std::isfinite(x.value)));
    const double r = x.value * y.value, both = precision->tolerance * x.error;
    return rounded(r, std::abs(r) + passed(std::abs(x.value) + both, y.error) + passed(std::abs(y.value), x.error));
  }
  // A quotient by 0 depends on the sign of the 0, which depends on the order of a sum.
  friend Rounded operator/(const Rounded& x, const Rounded& y) {
    doubt_if(std::abs(y.value) <= y.reach());
    const double r = x.value / y.value, steepest = 1 / (std::abs(y.value) - y.reach());
    return rounded(r, std::abs(r) + passed(steepest, x.error) + passed(std::abs(r) * steepest, y.error));
  }
  Rounded& operator+=(const Rounded& y) { return *this = *this + y; }

  friend bool operator<(const Rounded& x, const Rounded& y) { return near(x, y), x.value < y.value; }
  friend bool operator<=(const Rounded& x, const Rounded& y) { return near(x, y), x.value <= y.value; }
  friend bool operator>(const Rounded& x, const Rounded& y) { return y < x; }
  friend bool operator==(const Rounded& x, const Rounded& y) { return near(x, y), x.value == y.value; }
  friend bool operator!=(const Rounded& x, const Rounded& y) { return !(x == y); }

  friend Rounded abs(const Rounded& x) { return std::signbit(x.value) ? -x : x; }
  friend Rounded max(const Rounded& x,
                     const Rounded& y) {  // not in doubt for numbers within reach, whose maximum is either
    return copy(rules::max(x.value, y.value), std::max(x.error, y.error), x.value > y.value ? x.origin : y.origin);
  }
#define GRADWALK_FUNCTION(name) \
  friend Rounded name(const Rounded& x) { return function<Op::name>(x); }
  GRADWALK_FUNCTION(exp)
  GRADWALK_FUNCTION(log)
  GRADWALK_FUNCTION(sqrt)
  GRADWALK_FUNCTION(tanh)
  GRADWALK_FUNCTION(sin)
  GRADWALK_FUNCTION(cos)
  GRADWALK_FUNCTION(tan)
  GRADWALK_FUNCTION(asin)
  GRADWALK_FUNCTION(acos)
  GRADWALK_FUNCTION(atan)
  GRADWALK_FUNCTION(sinh)
  GRADWALK_FUNCTION(cosh)
  GRADWALK_FUNCTION(log1p)
  GRADWALK_FUNCTION(expm1)
  GRADWALK_FUNCTION(erf)
  GRADWALK_FUNCTION(exp2)
  GRADWALK_FUNCTION(log2)
  GRADWALK_FUNCTION(log10)
  GRADWALK_FUNCTION(cbrt)
  GRADWALK_FUNCTION(asinh)
  GRADWALK_FUNCTION(acosh)
  GRADWALK_FUNCTION(atanh)
  GRADWALK_FUNCTION(erfc)
#undef GRADWALK_FUNCTION
#define GRADWALK_STEPS(name)                                 \
  friend Rounded name(const Rounded& x) {                    \
    return step(x, [](double at) { return std::name(at); }); \
  }
  GRADWALK_STEPS(floor)
  GRADWALK_STEPS(ceil)
  GRADWALK_STEPS(round)
  GRADWALK_STEPS(trunc)
#undef GRADWALK_STEPS
  friend Rounded fmod(const Rounded& x, const Rounded& y) {
    const Rounded whole = trunc(x / y);
    const double r = std::fmod(x.value, y.value);
    return rounded(r, std::abs(r) + x.error + passed(std::abs(whole.value), y.error));
  }
  // The sign of 0 depends on the order of a sum, and that of NaN on the processor.
  friend Rounded copysign(const Rounded& x, const Rounded& y) {
    doubt_if(y.value == 0 || !(std::abs(y.value) > y.reach()));
    return std::signbit(x.value) == std::signbit(y.value) ? x : -x;
  }
  friend Rounded lgamma(const Rounded& x) {
    doubt_near_pole(x);
    return function<Op::lgamma>(x);
  }
  friend Rounded digamma(const Rounded& x) {
    doubt_near_pole(x);
    return function<Op::digamma>(x);
  }
  friend Rounded hypot(const Rounded& x, const Rounded& y) { return function<Op::hypot>(x, y); }
  friend Rounded atan2(const Rounded& x, const Rounded& y) {
    doubt_if(std::abs(x.value) <= x.reach() && y.value <= y.reach());  // near the branch cut
    return function<Op::atan2>(x, y);
  }
  friend Rounded pow(const Rounded& x, const Rounded& y) {
    doubt_if(std::abs(x.value) <= x.reach() && y.value < 0);
    doubt_if(x.value < x.reach() && y.error != 0);  // rounding decides whether the exponent is an integer
    return function<Op::pow>(x, y);
  }

 private:
  static void doubt_if(bool doubtful) { in_doubt = in_doubt || doubtful; }
  // lgamma and digamma have poles at 0, -1, -2, ...
  static void doubt_near_pole(const Rounded& x) {
    const double below = x.value - x.reach(), above = x.value + x.reach();
    doubt_if(below <= 0 && (below == std::floor(below) || std::floor(below) != std::floor(above)));
  }
  static void near(const Rounded& x, const Rounded& y) {
    doubt_if(x.origin != y.origin && std::abs(x.value - y.value) < x.reach() + y.reach());
  }
  static double passed(double slope, double error) { return error == 0 ? 0 : slope * error; }

  static Rounded copy(double value, double error, std::int64_t origin) {
    Rounded r;
    r.value = value;
    r.error = error;
    r.origin = origin;
    return r;
  }
  // Returns a new number. Numbers that are not finite have no error.
  static Rounded rounded(double value, double error) {
    if (!std::isfinite(value)) return {value};
    doubt_if(!std::isfinite(error) || is_doubtful(value));
    static thread_local std::int64_t last = 0;
    return copy(value, error, ++last);
  }

  // Returns the result of a function with integer results, which are exact or off by 1.
  template <class Whole> static Rounded step(const Rounded& x, Whole whole) {
    doubt_if(whole(x.value - x.reach()) != whole(x.value + x.reach()));
    return rounded(whole(x.value), 0);
  }

  // Applies a function. Uses the largest derivative within the operand's reach, where the result must stay finite.
  template <Op op> static Rounded function(const Rounded& x) {
    using Rule = rules::Rule<op>;
    const double r = Rule::value(x.value);
    double steepest = 0;
    for (const double at : {x.value - x.reach(), x.value, x.value + x.reach()}) {
      const double there = Rule::value(at);
      doubt_if(std::isfinite(there) != std::isfinite(r));
      steepest = std::max(steepest, std::abs(Rule::dx(at, there)));
    }
    return rounded(r, std::abs(r) + passed(steepest, x.error));
  }
  template <Op op> static Rounded function(const Rounded& x, const Rounded& y) {
    using Rule = rules::Rule<op>;
    const double r = Rule::value(x.value, y.value);
    double by_x = 0, by_y = 0;
    for (const double a : {x.value - x.reach(), x.value, x.value + x.reach()})
      for (const double b : {y.value - y.reach(), y.value, y.value + y.reach()}) {
        const double there = Rule::value(a, b);
        doubt_if(std::isfinite(there) != std::isfinite(r));
        by_x = std::max(by_x, std::abs(Rule::dx(a, b, there)));
        by_y = std::max(by_y, std::abs(Rule::dy(a, b, there)));
      }
    return rounded(r, std::abs(r) + passed(by_x, x.error) + passed(by_y, y.error));
  }
};

// A graph as a list, operands before their users, with a forward and a backward pass by the engine's rules.
class RoundedGraph {
 public:
  struct Node {
    Op op = Op::leaf;
    std::array<std::size_t, 3> operands{};  // of a pick: the chosen node, which forward() sets, and the index
    std::vector<std::size_t> choices = {};  // of a pick
  };
  std::vector<Node> nodes;
  std::vector<Rounded> values, gradients;  // set the values of leaves before forward()

  // Computes only the nodes that the outputs depend on, so that no other node sets in_doubt. Returns false if the index
  // of a pick is wrong. Then there are no values.
  bool forward(std::span<const std::size_t> outputs) {
    values.resize(nodes.size());
    needed_.assign(nodes.size(), false);
    for (const std::size_t output : outputs) needed_[output] = true;
    for (std::size_t i = nodes.size(); i-- > 0;) {
      if (!needed_[i]) continue;
      for (const std::size_t choice : nodes[i].choices) needed_[choice] = true;
      for (std::size_t k = nodes[i].op == Op::pick ? 1 : 0; k < operands(i); ++k) needed_[nodes[i].operands[k]] = true;
    }
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (!needed_[i] || operands(i) == 0) continue;
      if (nodes[i].op == Op::pick && !choose(nodes[i])) return false;
      values[i] = value_of(i);
    }
    return true;
  }

  void backward(std::size_t root, const Rounded& seed) { backward({&root, 1}, {&seed, 1}); }
  void backward(std::span<const std::size_t> roots, std::span<const Rounded> seeds) {
    gradients.assign(nodes.size(), Rounded());
    for (std::size_t k = 0; k < roots.size(); ++k) gradients[roots[k]] += seeds[k];
    for (std::size_t i = nodes.size(); i-- > 0;) {
      if (gradients[i].value == 0 && gradients[i].error == 0) continue;
      for (std::size_t k = 0; k < operands(i); ++k) deposit(gradients[i], i, k);
    }
  }

 private:
  // Sets the operand that a pick chooses; or returns false if its index is wrong.
  bool choose(Node& pick) const {
    const Rounded& index = values[pick.operands[1]];
    const auto size = static_cast<double>(pick.choices.size());
    const bool is_right = index.value >= 0 && index.value < size && index.value == std::floor(index.value);
    if (is_right) pick.operands[0] = pick.choices[static_cast<std::size_t>(index.value)];
    const bool may_be_another = std::abs(index.value - std::round(index.value)) <= index.reach() &&
                                index.value > -0.5 && index.value < size + 0.5;
    Rounded::in_doubt |= index.error != 0 && may_be_another;
    return is_right;
  }
  std::size_t operands(std::size_t i) const {
    return nodes[i].op == Op::pick ? 2 : static_cast<std::size_t>(info(nodes[i].op).operands);
  }
  const Rounded& in(std::size_t i, std::size_t k) const { return values[nodes[i].operands[k]]; }

  Rounded value_of(std::size_t i) const {
    using rules::Rule;
    switch (nodes[i].op) {
#define GRADWALK_UNARY(name, ...) \
  case Op::name: return Rule<Op::name>::value(in(i, 0));
#define GRADWALK_BINARY(name, ...) \
  case Op::name: return Rule<Op::name>::value(in(i, 0), in(i, 1));
#define GRADWALK_TERNARY(name, ...) \
  case Op::name: return Rule<Op::name>::value(in(i, 0), in(i, 1), in(i, 2));
#include "gradwalk/ops.def"
#undef GRADWALK_UNARY
#undef GRADWALK_BINARY
#undef GRADWALK_TERNARY
      case Op::pick: return in(i, 0);
      default: return values[i];
    }
  }
  Rounded local(std::size_t i, std::size_t k) const {
    using rules::Rule;
    switch (nodes[i].op) {
#define GRADWALK_UNARY(name, ...) \
  case Op::name: return Rule<Op::name>::dx(in(i, 0), values[i]);
#define GRADWALK_BINARY(name, ...)                                             \
  case Op::name:                                                               \
    return k == 0 ? Rounded(Rule<Op::name>::dx(in(i, 0), in(i, 1), values[i])) \
                  : Rounded(Rule<Op::name>::dy(in(i, 0), in(i, 1), values[i]));
#define GRADWALK_TERNARY(name, ...) \
  case Op::name: return k == 1 ? Rule<Op::name>::dx(in(i, 0)) : Rule<Op::name>::dy(in(i, 0));
#include "gradwalk/ops.def"
#undef GRADWALK_UNARY
#undef GRADWALK_BINARY
#undef GRADWALK_TERNARY
      case Op::pick: return 1;
      default: return 0;
    }
  }

  void deposit(const Rounded& gradient, std::size_t i, std::size_t k) {
    const OpInfo& rule = info(nodes[i].op);
    const bool is_choice = rule.operands == 3;
    if ((is_choice && k == 0) || (k == (is_choice ? 1 : 0) ? rule.dx : rule.dy) == "0") return;
    const Rounded slope = local(i, k);
    if (is_choice && slope.value == 0) return;
    Rounded& to = gradients[nodes[i].operands[k]];
    if (gradient.value == 0 && !std::isfinite(slope.value)) {
      Rounded::in_doubt |= gradient.error != 0;  // a gradient of exactly 0 passes nothing on
      return;
    }
    const Rounded share = gradient * slope;
    // A program computes equal subexpressions once. So deposits that are not finite may be one sum times infinity
    // there, or nothing if that sum is 0.
    Rounded::in_doubt |= !std::isfinite(to.value) && !std::isfinite(share.value) && to.value != share.value;
    to += share;
  }

  std::vector<bool> needed_;
};

}  // namespace gradwalk::tests
