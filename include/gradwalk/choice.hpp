// SPDX-License-Identifier: MIT
// Comparisons and choices. Part of value.hpp: include that.
//
// Comparing Values returns a Condition. Where a bool is needed, it converts to one, and the program branches on the
// present numbers. select(condition, a, b) records the choice itself: if the graph is evaluated again, it chooses
// again.
#pragma once

#include <functional>
#include <iosfwd>

#include "gradwalk/value.hpp"

namespace gradwalk {
namespace detail {

struct Watch;
extern GRADWALK_EXPORT GRADWALK_TLS constinit thread_local Watch* watch;

// Forwards an operand: a Value as the lvalue or rvalue that it was, a number as a double.
template <class X> constexpr decltype(auto) given(std::remove_reference_t<X>& x) {
  if constexpr (AnyValue<X>)
    return static_cast<X&&>(x);
  else
    return static_cast<double>(x);
}
// The data of a Value, or the number itself.
template <class X> GRADWALK_INLINE double number_in(const X& x) {
  if constexpr (AnyValue<X>)
    return x.data();
  else
    return static_cast<double>(x);
}

}  // namespace detail

// The result of a comparison. It keeps its operands alive, and its outcome stays what it was when they were compared.
class GRADWALK_EXPORT Condition {
 public:
  // The outcome, for `if` and the like. The graph does not contain this decision, so it is noted: a WatchRecording is
  // notified, and without one, Reading::decisions() lists it.
  operator bool() const {  // NOLINT(google-explicit-constructor)
    // A further comparison at the same end of the tape adds nothing, unless its operands are about to be popped.
    if (detail::watch != nullptr || detail::tape.noted != detail::tape.top || is_newest(x_) || is_newest(y_)) report();
    return holds_;
  }
  // Records the comparison as a node with the data 1 or 0. No gradient passes through it.
  operator Value() const;  // NOLINT(google-explicit-constructor)
  // The outcome, without noting that it was used.
  bool holds() const { return holds_; }
  // The comparison: less, less_equal, equal or not_equal.
  Op op() const { return op_; }

  Condition(const Condition& other)
      : x_(copy(other.x_)), y_(copy(other.y_)), number_(other.number_), op_(other.op_), holds_(other.holds_) {}
  Condition(Condition&&) noexcept = default;
  Condition& operator=(const Condition& other) { return *this = Condition(other); }
  Condition& operator=(Condition&&) noexcept = default;
  ~Condition() = default;

  friend bool operator==(const Condition& x, const Condition& y) { return bool(x) == bool(y); }

  // For the operators below. `op` is less, less_equal, equal or not_equal; the operands are two Values, or a Value and
  // a number.
  template <class X, class Y> Condition(Op op, bool holds, X&& x, Y&& y)
      : x_(operand(std::forward<X>(x))), y_(operand(std::forward<Y>(y))), op_(op), holds_(holds) {
    if constexpr (!AnyValue<X>) number_ = x;  // NOLINT(bugprone-use-after-move): numbers are not moved
    if constexpr (!AnyValue<Y>) number_ = y;  // NOLINT(bugprone-use-after-move)
  }

 private:
  static Value operand(double) { return {0, 0}; }
  template <AnyValue X> static X&& operand(X&& x) { return std::forward<X>(x); }
  static Value copy(const Value& operand) { return operand.tape_ == 0 ? Value{0, 0} : Value(operand); }
  static bool is_newest(const Value& operand) { return operand.ref_ + 4 == detail::tape.top; }
  void report() const;
  void note(detail::Ref at) const;

  Value x_, y_;  // An operand that is a number is an empty Value here.
  double number_ = 0;
  Op op_;
  bool holds_;
};

// Prints the outcome like a bool.
GRADWALK_EXPORT std::ostream& operator<<(std::ostream& out, const Condition& condition);

// Comparisons compare the data. x > y is stored as y < x.
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

namespace detail {
// Records a choice. number_a and number_b are the data of a and b; an operand that is only a number is nullptr.
GRADWALK_EXPORT Value choose(const Value& condition, const Value* a, double number_a, const Value* b, double number_b);
template <NumberOrValue A> const Value* value_in(const A& a) {
  if constexpr (AnyValue<A>)
    return &a;
  else
    return nullptr;
}
}  // namespace detail

// Returns a new node: `a` if the condition holds (a Value: if it is not 0), otherwise `b`. Both are operands, and only
// the chosen one gets a gradient. With a bool nothing is recorded, and the chosen operand itself is returned.
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

// While a WatchRecording lives, it reports results that its thread uses but does not record. `decided` is called with
// each Condition that becomes a bool: a later evaluation of the graph cannot take the other branch. `left` is called
// with each node whose number leaves the graph by detach(), by a cast, or under NoGrad. Either may be empty.
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
