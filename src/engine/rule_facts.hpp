// SPDX-License-Identifier: MIT
// Facts about the rules of ops.def that the engine knows at compile time: which operands get a gradient, and which
// rules call a function of the C library.
#pragma once

#include <cstddef>

#include "gradwalk/ops.hpp"

namespace gradwalk::detail {

// Whether an operation passes a gradient to this operand: not where the table writes the derivative 0, and not to the
// condition of a choice, which is its first operand.
constexpr bool passes_on(Op op, std::size_t operand = 0) {
  const bool has_condition = info(op).operands == 3;
  if (has_condition && operand == 0) return false;
  return (operand == (has_condition ? 1 : 0) ? info(op).dx : info(op).dy) != "0";
}

// A number type that computes nothing and remembers whether a function was called on the way to it. A rule that is
// applied to probes returns whether the rule calls a function. abs() is a single instruction and does not count.
class CallProbe {
 public:
  constexpr CallProbe(double) {}  // NOLINT(google-explicit-constructor): rules mix numbers and operands
  constexpr bool has_called() const { return has_called_; }

  friend constexpr CallProbe operator-(CallProbe x) { return x; }
#define GRADWALK_OPERATOR(sign) \
  friend constexpr CallProbe operator sign(CallProbe x, CallProbe y) { return either(x, y); }
  GRADWALK_OPERATOR(+)
  GRADWALK_OPERATOR(-)
  GRADWALK_OPERATOR(*)
  GRADWALK_OPERATOR(/)
  GRADWALK_OPERATOR(==)
  GRADWALK_OPERATOR(!=)
  GRADWALK_OPERATOR(<)
  GRADWALK_OPERATOR(<=)
  GRADWALK_OPERATOR(>)
  GRADWALK_OPERATOR(>=)
#undef GRADWALK_OPERATOR
  friend constexpr CallProbe select(CallProbe c, CallProbe x, CallProbe y) { return either(c, either(x, y)); }
#define GRADWALK_UNARY(name, ...) \
  friend constexpr CallProbe name(CallProbe x) { return Op::name == Op::abs ? x : called(); }
#define GRADWALK_BINARY(name, ...) \
  friend constexpr CallProbe name(CallProbe, CallProbe) { return called(); }
#include "gradwalk/ops.def"
#undef GRADWALK_UNARY
#undef GRADWALK_BINARY

 private:
  static constexpr CallProbe called() {
    CallProbe result(0);
    result.has_called_ = true;
    return result;
  }
  static constexpr CallProbe either(CallProbe x, CallProbe y) { return x.has_called_ ? x : y; }

  bool has_called_ = false;
};

// Whether computing the derivatives of an operation calls a function.
template <Op op> constexpr bool calls_function() {
  constexpr CallProbe x(0);
  if constexpr (info(op).operands == 1) {
    return rules::Rule<op>::dx(x, x).has_called();
  } else {
    return rules::Rule<op>::dx(x, x, x).has_called() || rules::Rule<op>::dy(x, x, x).has_called();
  }
}

static_assert(!calls_function<Op::div>() && !calls_function<Op::relu>() && !calls_function<Op::abs>());
static_assert(calls_function<Op::pow>() && calls_function<Op::sin>() && calls_function<Op::atan2>());

}  // namespace gradwalk::detail
