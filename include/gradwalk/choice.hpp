// SPDX-License-Identifier: MIT
// Comparisons and choices. Part of value.hpp: include that.
//
// A comparison of Values is a Condition. Where a bool is needed it is one, and the program goes the way the numbers of
// the moment say; select(condition, a, b) records both ways, and chooses again when the graph is evaluated again.
#pragma once

#include <functional>
#include <iosfwd>

#include "gradwalk/value.hpp"

namespace gradwalk {
namespace detail {

struct Watch;
extern GRADWALK_EXPORT constinit thread_local Watch* watch __attribute__((tls_model("initial-exec")));

// An operand as it was given, a Value that ends still one that does; numbers as doubles.
template <class X> constexpr decltype(auto) given(std::remove_reference_t<X>& x) {
  if constexpr (AnyValue<X>)
    return static_cast<X&&>(x);
  else
    return static_cast<double>(x);
}
template <class X> GRADWALK_INLINE double number_in(const X& x) {
  if constexpr (AnyValue<X>)
    return x.data();
  else
    return static_cast<double>(x);
}

}  // namespace detail

class GRADWALK_EXPORT Condition {
 public:
  operator bool() const {  // NOLINT(google-explicit-constructor): as it was when the comparison was made
    if (detail::watch != nullptr) [[unlikely]]
      report();
    return holds_;
  }
  operator Value() const;                // NOLINT(google-explicit-constructor): a node, 1 or 0
  bool holds() const { return holds_; }  // the same, and no hook sees it

  Condition(const Condition& other)
      : x_(copy(other.x_)), y_(copy(other.y_)), number_(other.number_), op_(other.op_), holds_(other.holds_) {}
  Condition(Condition&&) noexcept = default;
  Condition& operator=(const Condition& other) { return *this = Condition(other); }
  Condition& operator=(Condition&&) noexcept = default;
  ~Condition() = default;

  friend bool operator==(const Condition& x, const Condition& y) { return bool(x) == bool(y); }

  // For the operators below; op is less, less_equal, equal or not_equal, of two Values or of a Value and a number.
  template <class X, class Y> Condition(Op op, bool holds, X&& x, Y&& y)
      : x_(operand(std::forward<X>(x))), y_(operand(std::forward<Y>(y))), op_(op), holds_(holds) {
    if constexpr (!AnyValue<X>) number_ = x;  // NOLINT(bugprone-use-after-move): of a number nothing is moved
    if constexpr (!AnyValue<Y>) number_ = y;  // NOLINT(bugprone-use-after-move)
  }

 private:
  static Value operand(double) { return {0, 0}; }
  template <AnyValue X> static X&& operand(X&& x) { return std::forward<X>(x); }
  static Value copy(const Value& operand) { return operand.tape_ == 0 ? Value{0, 0} : Value(operand); }
  void report() const;

  Value x_, y_;  // the one that is a number is empty
  double number_ = 0;
  Op op_;
  bool holds_;
};

GRADWALK_EXPORT std::ostream& operator<<(std::ostream& out, const Condition& condition);  // as a bool is printed

// Comparisons are of the data, as micrograd's users write them; x > y is y < x.
#define GRADWALK_COMPARISON(sign, op, first, second)                   \
  template <class X, class Y>                                          \
    requires Operands<X, Y>                                            \
  GRADWALK_INLINE Condition operator sign(X&& x, Y&& y) {              \
    const bool holds = detail::number_in(x) sign detail::number_in(y); \
    return {op, holds, first, second};                                 \
  }                                                                    \
  inline Condition operator sign(const Value& x, const Value& y) {     \
    return operator sign<const Value&, const Value&>(x, y);            \
  }
#define GRADWALK_X detail::given<X>(x)
#define GRADWALK_Y detail::given<Y>(y)
GRADWALK_COMPARISON(==, Op::equal, GRADWALK_X, GRADWALK_Y)
GRADWALK_COMPARISON(!=, Op::not_equal, GRADWALK_X, GRADWALK_Y)
GRADWALK_COMPARISON(<, Op::less, GRADWALK_X, GRADWALK_Y)
GRADWALK_COMPARISON(<=, Op::less_equal, GRADWALK_X, GRADWALK_Y)
GRADWALK_COMPARISON(>, Op::less, GRADWALK_Y, GRADWALK_X)
GRADWALK_COMPARISON(>=, Op::less_equal, GRADWALK_Y, GRADWALK_X)
#undef GRADWALK_COMPARISON
#undef GRADWALK_X
#undef GRADWALK_Y

// a where the condition holds, else b. Of the two only the one that was chosen has a gradient.
namespace detail {
// The numbers are the data of a and b, which are nullptr where they are nothing else.
GRADWALK_EXPORT Value choose(const Value& condition, const Value* a, double number_a, const Value* b, double number_b);
template <NumberOrValue A> const Value* value_in(const A& a) {
  if constexpr (AnyValue<A>)
    return &a;
  else
    return nullptr;
}
}  // namespace detail
template <NumberOrValue A, NumberOrValue B> Value select(const Value& condition, const A& a, const B& b) {
  return detail::choose(condition, detail::value_in(a), detail::number_in(a), detail::value_in(b),
                        detail::number_in(b));
}
template <NumberOrValue A, NumberOrValue B> Value select(const Condition& condition, const A& a, const B& b) {
  return select(Value(condition), a, b);
}
template <NumberOrValue A, NumberOrValue B>
  requires Operands<A, B>
Value select(bool condition, const A& a, const B& b) {
  return condition ? Value(a) : Value(b);
}

// While one lives, its thread's recording is watched for what the graph will not hold. `decided` is told of each
// Condition that became a bool: a graph evaluated again would not go the other way. `left` is told of each node whose
// number went on alone: it was detached, cast to a number, or made under NoGrad.
class GRADWALK_EXPORT WatchRecording {
 public:
  WatchRecording(std::function<void(const Condition&)> decided, std::function<void(const Value&)> left);
  ~WatchRecording();
  WatchRecording(const WatchRecording&) = delete;
  WatchRecording& operator=(const WatchRecording&) = delete;

 private:
  detail::Watch* watch_;
};

}  // namespace gradwalk

#include "gradwalk/number.hpp"  // IWYU pragma: export
