// SPDX-License-Identifier: MIT
// Value: one number, its gradient, and how it was made.
//
// A Value is a handle to a node of its thread's tape; copies name the same node. Arithmetic records nodes, backward()
// adds up every gradient below by the chain rule, and a node is given back when nothing needs it any more.
#pragma once

#include <concepts>
#include <iosfwd>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gradwalk/error.hpp"
#include "gradwalk/sums.hpp"
#include "gradwalk/tape.hpp"

namespace gradwalk {
namespace detail {
struct Handle;
}

class Value;

template <class T>
concept Number = std::is_arithmetic_v<T>;
template <class T>
concept AnyValue = std::same_as<std::remove_cvref_t<T>, Value>;
template <class T>
concept NumberOrValue = Number<T> || AnyValue<T>;

class GRADWALK_EXPORT Value {
 public:
  Value() : Value(0.0) {}
  template <Number T> Value(T data)
      : ref_(detail::make_leaf(number(data))), thread_(detail::tape.thread) {}  // NOLINT(google-explicit-constructor)

  Value(const Value& other) : ref_(other.ref_), thread_(other.thread_) {
    detail::take_handle((other.node("copy"), ref_));
  }
  Value(Value&& other) noexcept : ref_(other.ref_), thread_(std::exchange(other.thread_, 0)) {}
  Value& operator=(const Value& other) { return *this = Value(other); }
  Value& operator=(Value&& other) noexcept {
    Value taken(std::move(other));
    std::swap(ref_, taken.ref_);
    std::swap(thread_, taken.thread_);
    return *this;
  }
  ~Value() {
    if (thread_ == 0) return;
    if (is_here()) {
      detail::let_go(ref_);
    } else {
      detail::let_go_elsewhere(thread_, ref_);
    }
  }

  // References into the node, valid while a handle to it lives; plain numbers from a temporary.
  double& data() & {
    detail::Node* n = node("data");
    if (ref_ < detail::tape.first_leaf) n->head |= detail::touched;
    return n->data;
  }
  double data() const& { return node("data")->data; }
  double& grad() & {
    detail::Node* n = node("grad");
    if (ref_ < detail::tape.first_leaf) detail::expose_gradient(ref_);
    return n->grad;
  }
  double grad() const& { return node("grad")->grad; }

  void backward(double seed = 1.0) const;  // the derivative of this Value by each node below it
  void propagate() const;                  // this node's own step: its gradient times each local derivative, deposited
  Value detach() const { return Value(node("detach")->data); }

  Op op() const;
  std::string_view op_name() const;   // what a drawing shows: the op's symbol, a custom node's name, "" for a leaf
  std::vector<Value> inputs() const;  // in operand order; a * a has two
  Value& label(std::string_view text) &;
  Value label(std::string_view text) &&;
  std::string label() const;
  std::uint64_t id() const;  // one number a node, among the nodes alive
  friend bool same_node(const Value& x, const Value& y) { return x.id() == y.id(); }

  // Each function of two operands takes Values, or a Value and a number.
#define GRADWALK_FORMS(Result, name, expression)                                     \
  friend Result name(const Value& x, const Value& y) { return expression; }          \
  template <Number T> friend Result name(const Value& x, T y) { return expression; } \
  template <Number T> friend Result name(T x, const Value& y) { return expression; }
#define UNARY(name, ...)                                            \
  friend Value name(const Value& x) { return x.unary<Op::name>(); } \
  Value name() const { return unary<Op::name>(); }
#define BINARY(name, ...) GRADWALK_FORMS(Value, name, binary<Op::name>(x, y))
#include "gradwalk/ops.def"
#undef UNARY
#undef BINARY

  friend Value operator-(const Value& x) { return x.unary<Op::neg>(); }
  friend Value operator+(const Value& x) { return x; }
#define GRADWALK_OPERATOR(sign, op)                      \
  GRADWALK_FORMS(Value, operator sign, binary<op>(x, y)) \
  template <NumberOrValue Y> Value& operator sign##=(const Y & y) { return *this = *this sign y; }
  GRADWALK_OPERATOR(-, Op::sub)
  GRADWALK_OPERATOR(*, Op::mul)
  GRADWALK_OPERATOR(/, Op::div)
#undef GRADWALK_OPERATOR

  // A sum may take over the node of a handle that dies with it, here a temporary, there the old node of `x += y`.
  GRADWALK_FORMS(Value, operator+, binary<Op::add>(x, y))
  template <AnyValue X, AnyValue Y> friend Value operator+(X&& x, Y&& y) {
    return sum(x, std::is_same_v<X, Value>, y, std::is_same_v<Y, Value>);
  }
  template <Number T> Value& operator+=(T y) { return *this = *this + y; }
  Value& operator+=(const Value& y) { return *this = sum(*this, true, y, false); }
  GRADWALK_INLINE Value& operator+=(Value&& y) {
    check(*this, y, "add");
    const detail::Ref grown = detail::extend_sum(ref_, y.ref_);
    if (grown == 0) return *this = sum(*this, true, y, true);
    ref_ = grown;
    y.give_away();
    return *this;
  }

  // Comparisons are of the data, as micrograd's users write them.
  GRADWALK_FORMS(bool, operator==, number(x) == number(y))
  GRADWALK_FORMS(bool, operator!=, number(x) != number(y))
  GRADWALK_FORMS(bool, operator<, number(x) < number(y))
  GRADWALK_FORMS(bool, operator<=, number(x) <= number(y))
  GRADWALK_FORMS(bool, operator>, number(x) > number(y))
  GRADWALK_FORMS(bool, operator>=, number(x) >= number(y))
#undef GRADWALK_FORMS

 private:
  friend struct detail::Handle;
  Value(detail::Ref ref, std::uint32_t thread) : ref_(ref), thread_(thread) {}
  static Value adopt(detail::Ref ref) { return {ref, detail::tape.thread}; }

  template <Number T> static double number(T n) { return static_cast<double>(n); }
  static double number(const Value& value) { return value.data(); }
  bool is_here() const { return thread_ == detail::tape.thread; }
  const detail::Node& here() const { return *detail::tape.node(ref_); }
  detail::Node* node(const char* call) const {
    if (!is_here()) [[unlikely]]
      detail::refuse(thread_, call);
    return detail::tape.node(ref_);
  }
  void give_away() const { const_cast<Value*>(this)->thread_ = 0; }  // the node has been given away

  template <Op op> Value unary() const {
    const detail::Node* x = node(gradwalk::name(op).data());
    detail::need_room(4);
    return adopt(detail::record(detail::pair(ref_, detail::nothing), op, rules::Rule<op>::value(x->data)));
  }
  template <Op op> GRADWALK_INLINE static Value binary(const Value& x, const Value& y) {
    check(x, y, gradwalk::name(op).data());
    detail::need_room(4);
    const double data = rules::Rule<op>::value(x.here().data, y.here().data);
    return adopt(detail::record(detail::pair(x.ref_, y.ref_), op, data));
  }
  template <Op op, Number T> static Value binary(const Value& x, T y) {
    const detail::Node* node = x.node(gradwalk::name(op).data());
    detail::need_room(5);
    const double data = rules::Rule<op>::value(node->data, number(y));
    return adopt(detail::record(detail::pair(x.ref_, detail::literal), op, data, number(y)));
  }
  template <Op op, Number T> static Value binary(T x, const Value& y) {
    const detail::Node* node = y.node(gradwalk::name(op).data());
    detail::need_room(5);
    const double data = rules::Rule<op>::value(number(x), node->data);
    return adopt(detail::record(detail::pair(detail::literal, y.ref_), op, data, number(x)));
  }
  static Value sum(const Value& x, bool x_dies, const Value& y, bool y_dies);
  static void check(const Value& x, const Value& y, const char* call) {
    if (!x.is_here() || !y.is_here()) [[unlikely]]
      detail::refuse(x.is_here() ? y.thread_ : x.thread_, call);
  }

  detail::Ref ref_;
  std::uint32_t thread_;  // the number of its tape; 0: empty
};

// x + y, as add, but in the place of records that would otherwise die with the call (sums.hpp).
GRADWALK_INLINE Value Value::sum(const Value& x, bool x_dies, const Value& y, bool y_dies) {
  check(x, y, "add");
  detail::Ref made = 0;
  if (x_dies && y_dies && (made = detail::join_sums(x.ref_, y.ref_)) != 0) {
    x.give_away(), y.give_away();
  } else if (y_dies && (made = detail::add_to_product(x.ref_, y.ref_)) != 0) {
    y.give_away();
  } else if (x_dies && (made = detail::add_plain_term(x.ref_, y.ref_)) != 0) {
    x.give_away();
  } else {
    return binary<Op::add>(x, y);
  }
  return adopt(made);
}

// While one lives, the thread's operations give plain leaves and record nothing.
class GRADWALK_EXPORT NoGrad {
 public:
  NoGrad();
  ~NoGrad();
  NoGrad(const NoGrad&) = delete;
  NoGrad& operator=(const NoGrad&) = delete;
};

GRADWALK_EXPORT std::string to_string(const Value& value);  // Value(data=2, grad=64)
GRADWALK_EXPORT std::ostream& operator<<(std::ostream& out, const Value& value);

}  // namespace gradwalk
