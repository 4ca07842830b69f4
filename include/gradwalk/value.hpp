// SPDX-License-Identifier: MIT
// Value: one number of a graph, with its gradient and the operation that made it.
//
// A Value refers to a node on the tape, the memory of its thread's nodes. Copies refer to the same node. Arithmetic
// records new nodes. backward() computes the gradients of all nodes that the Value was computed from (the nodes below
// it), by the chain rule. A node is freed when nothing needs it. Using an empty (moved-from) Value, or a Value of
// another thread, throws an Error.
#pragma once

#include <bit>
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
class Value;
class Condition;

namespace detail {
struct Handle;
// Records operations (operations.hpp) and returns the new node. A consumed operand is a temporary or the left side
// of an assignment such as +=; the operation takes over its handle (its reference to the node).
struct Operations {
  template <Op op, bool x_consumed> static Ref make(const Value& x);
  template <Op op, bool x_consumed, bool y_consumed, class X, class Y> static Ref make(const X& x, const Y& y);
  struct Result {
    Ref ref, x, y;  // the new node and its operands; an operand that was a number may have become a leaf
  };
  template <Op op, bool x_consumed, bool y_consumed>
  static Result of_handles(Ref x, std::uint32_t x_tape, Ref y, std::uint32_t y_tape);
  template <Op op, bool x_consumed> static Ref of_number(Ref x, double y);
  template <Op op, bool y_consumed> static Ref of_number(double x, Ref y);
  template <Op op, bool x_consumed, bool y_consumed> static Ref of_nodes(Ref x, Ref y);
};
}  // namespace detail

// The types that convert to a constant operand: integers, bool and floating-point types.
template <class T>
concept Number = std::is_arithmetic_v<T>;
// Value, with or without const and reference. It constrains forwarding references, whose deduced type distinguishes a
// temporary from a Value that lives on.
template <class T>
concept AnyValue = std::same_as<std::remove_cvref_t<T>, Value>;
// The types of one operand of a function that takes several.
template <class T>
concept NumberOrValue = Number<std::remove_cvref_t<T>> || AnyValue<T>;
// The arguments of a function of several operands: numbers and Values, at least one of them a Value.
template <class... X>
concept Operands = (NumberOrValue<X> && ...) && (AnyValue<X> || ...);

class GRADWALK_EXPORT Value {
 public:
  Value() : Value(0.0) {}
  // Makes a leaf, at once or later: if a float can hold the number exactly, the Value stores the number itself and
  // makes the leaf only when a node is needed. So `Value sum = 0` makes no leaf yet, and `Value(1) - x` makes none.
  template <Number T> GRADWALK_INLINE Value(T data) {  // NOLINT(google-explicit-constructor)
    const float small = static_cast<float>(data);
    if (detail::tape.id == detail::no_tape) [[unlikely]]
      detail::start_tape();
    if (static_cast<double>(small) == static_cast<double>(data)) {
      ref_ = std::bit_cast<std::uint32_t>(small);
      tape_ = detail::tape.id | detail::is_number;
    } else {
      ref_ = detail::make_leaf(static_cast<double>(data));
      tape_ = detail::tape.id;
    }
  }

  // A copy is one more handle of the same node. A move leaves `other` empty: it can only be assigned to or destroyed.
  GRADWALK_INLINE Value(const Value& other) : ref_(other.node_ref("copy")), tape_(other.tape_) {
    detail::add_handle(ref_);
  }
  GRADWALK_INLINE Value(Value&& other) noexcept : ref_(other.ref_), tape_(std::exchange(other.tape_, 0)) {}
  Value& operator=(const Value& other) { return *this = Value(other); }
  GRADWALK_INLINE Value& operator=(Value&& other) noexcept {
    Value taken(std::move(other));
    std::swap(ref_, taken.ref_);
    std::swap(tape_, taken.tape_);
    return *this;
  }
  // A Value may be destroyed on any thread. Destroying it never allocates and never throws.
  GRADWALK_INLINE ~Value() {
    if (tape_ == 0) return;  // Check this first: for a consumed temporary the compiler knows that `tape_` is 0.
    if (is_here()) {
      detail::release_handle(ref_);
    } else if (!holds_number()) {
      detail::release_handle_of_other_tape(tape_, ref_);
    }
  }

  // The number. A named Value returns a reference that may be written (`p.data() -= 0.1 * p.grad()`); it stays valid
  // while a Value refers to the node. A const or temporary Value returns a double.
  double& data() & {
    detail::Node* n = node("data");
    if (ref_ < detail::first_leaf) n->head |= detail::touched;
    return n->data;
  }
  double data() const& { return is_here() ? here().data : detail::number_of(ref_, tape_, "data"); }
  // The gradient of the last backward pass that reached the node. In a leaf, the gradients of all passes add up; only a
  // pass that starts at the leaf itself replaces its gradient, with the seed. A named Value returns a reference that
  // may be written (`p.grad() = 0`), with the same lifetime as that of data(). Reading changes neither the graph nor
  // the cost of later passes.
  double& grad() & {
    detail::Node* n = node("grad");
    if (ref_ < detail::first_leaf) detail::expose_gradient(ref_);
    return n->grad;
  }
  double grad() const& { return is_here() ? here().grad : (detail::number_of(ref_, tape_, "grad"), 0.0); }
  // static_cast<double>(x) returns the data. There is no cast to bool: write a comparison, which can be recorded.
  template <Number T>
    requires(!std::same_as<T, bool>)
  explicit operator T() const {
    return static_cast<T>(reported_data());
  }

  // Computes the gradient of this Value with respect to every node below it, times `seed`. Leaves add the result to
  // their gradient; the gradients of other nodes are replaced. The cost is proportional to the number of nodes below,
  // plus the number of other nodes recorded since the last pass: the pass is a loop over the tape, which skips these
  // one by one. Later passes do not meet them again. Throws an Error if this Value was computed under NoGrad.
  void backward(double seed = 1.0) const;
  // Makes the deposits of this node alone, like micrograd's _backward(): adds its gradient times the local derivative
  // to the gradient of each input.
  void propagate() const;
  // Returns a leaf with the same data, which keeps no graph alive.
  Value detach() const;

  // The operation that made the node: Op::leaf for a leaf, Op::constant for a number written in an expression.
  Op op() const;
  // The symbol of the operation ("+", "tanh"), the name of a custom node, or "" for a leaf.
  std::string_view op_name() const;
  // The operands in order; a * a has two. If the node is stored as a fused record, the record is expanded first
  // (docs/tape.md).
  std::vector<Value> inputs() const;
  // Names the node, for drawings and messages. All Values of the node share the label.
  Value& label(std::string_view text) &;
  Value label(std::string_view text) &&;
  std::string label() const;
  // A number that identifies the node among all living nodes. same_node() compares nodes; == compares data.
  std::uint64_t id() const { return node_ref("id"), detail::pair(ref_, tape_); }
  friend bool same_node(const Value& x, const Value& y) { return x.id() == y.id(); }

  // Every operation of ops.def is a function, and with one operand also a method: tanh(x), x.tanh(), max(x, y). Each
  // returns a new node and takes constant time. The overloads for two `const Value&` also accept types that convert to
  // Value. The templates distinguish consumed operands (temporaries) from those that live on.
#define GRADWALK_UNARY(name, ...)                                                                             \
  friend Value name(const Value& x) { return adopt(detail::Operations::make<Op::name, false>(x)); }           \
  GRADWALK_INLINE friend Value name(Value&& x) { return adopt(detail::Operations::make<Op::name, true>(x)); } \
  Value name() const { return adopt(detail::Operations::make<Op::name, false>(*this)); }
#define GRADWALK_BINARY(name, ...)                                                          \
  friend Value name(const Value& x, const Value& y) {                                       \
    return adopt(detail::Operations::make<Op::name, false, false>(x, y));                   \
  }                                                                                         \
  template <class X, class Y>                                                               \
    requires Operands<X, Y>                                                                 \
  GRADWALK_INLINE friend Value name(X&& x, Y&& y) {                                         \
    return adopt(detail::Operations::make<Op::name, is_consumed<X>, is_consumed<Y>>(x, y)); \
  }
#include "gradwalk/ops.def"
#undef GRADWALK_UNARY
#undef GRADWALK_BINARY

  // Arithmetic operators. Each records one node, except unary plus, which returns its operand.
  friend Value operator-(const Value& x) { return adopt(detail::Operations::make<Op::neg, false>(x)); }
  GRADWALK_INLINE friend Value operator-(Value&& x) { return adopt(detail::Operations::make<Op::neg, true>(x)); }
  friend Value operator+(const Value& x) { return x; }
  // The operators + - * /, also with assignment. x += y makes x refer to the new node x + y; other Values keep the old
  // node.
#define GRADWALK_OPERATOR(sign, op)                                                   \
  GRADWALK_INLINE friend Value operator sign(const Value& x, const Value& y) {        \
    return adopt(detail::Operations::make<op, false, false>(x, y));                   \
  }                                                                                   \
  template <class X, class Y>                                                         \
    requires Operands<X, Y>                                                           \
  GRADWALK_INLINE friend Value operator sign(X&& x, Y&& y) {                          \
    return adopt(detail::Operations::make<op, is_consumed<X>, is_consumed<Y>>(x, y)); \
  }                                                                                   \
  template <NumberOrValue Y> GRADWALK_INLINE Value& operator sign##=(Y && y) {        \
    const std::uint32_t id = detail::tape.id;                                         \
    ref_ = detail::Operations::make<op, true, is_consumed<Y>>(*this, y);              \
    tape_ = id;                                                                       \
    return *this;                                                                     \
  }
  GRADWALK_OPERATOR(+, Op::add)
  GRADWALK_OPERATOR(-, Op::sub)
  GRADWALK_OPERATOR(*, Op::mul)
  GRADWALK_OPERATOR(/, Op::div)
#undef GRADWALK_OPERATOR

  // Comparisons compare the data. They return a Condition, which converts to bool and which select() can record
  // (choice.hpp).
  friend Condition operator==(const Value& x, const Value& y);
  friend Condition operator!=(const Value& x, const Value& y);
  friend Condition operator<(const Value& x, const Value& y);
  friend Condition operator<=(const Value& x, const Value& y);
  friend Condition operator>(const Value& x, const Value& y);
  friend Condition operator>=(const Value& x, const Value& y);

 private:
  friend struct detail::Handle;
  friend struct detail::Operations;
  friend class Condition;
  Value(detail::Ref ref, std::uint32_t tape) : ref_(ref), tape_(tape) {}
  GRADWALK_INLINE static Value adopt(detail::Ref ref) {
    const std::uint32_t id = detail::tape.id;
    if (id >= detail::is_number) __builtin_unreachable();  // Lets the compiler drop the check for a number.
    return {ref, id};
  }

  // Returns the data. A WatchRecording (choice.hpp) is notified that this number leaves the graph.
  double reported_data() const;

  template <class X> static constexpr bool is_consumed = std::is_same_v<X, Value>;  // the argument is a temporary
  bool is_here() const { return tape_ == detail::tape.id; }
  bool holds_number() const { return (tape_ & detail::is_number) != 0; }
  double number() const { return static_cast<double>(std::bit_cast<float>(ref_)); }
  const detail::Node& here() const { return *detail::tape.node(ref_); }
  // The node of this Value; a number becomes a leaf first. Throws an Error if the Value cannot be used here.
  // become_leaf() takes the fields by value, because a Value whose address is taken cannot stay in registers.
  GRADWALK_INLINE detail::Ref node_ref(const char* call) const {
    if (!is_here()) [[unlikely]]
      become(detail::become_leaf(ref_, tape_, call));
    return ref_;
  }
  void become(detail::Ref ref) const {
    ref_ = ref;
    tape_ = detail::tape.id;
  }
  detail::Node* node(const char* call) const { return detail::tape.node(node_ref(call)); }
  // Whether the compiler can see that this temporary holds a number, as Value(1) in Value(1) - x does. This test only
  // saves a call: Operations::of_handles() records the same constant at run time.
  GRADWALK_INLINE bool is_known_number() const {
    const bool is_number = holds_number();
    return __builtin_constant_p(is_number) && is_number;
  }

  // A Value is in one of three states:
  //   it refers to a node   ref_ is the Ref of the node    tape_ is the id of its tape
  //   it holds a number     ref_ has the bits of a float   tape_ is the id of its tape, with the bit is_number set
  //   it is empty           ref_ has any bits              tape_ is 0
  mutable detail::Ref ref_;
  mutable std::uint32_t tape_;
};

// While a NoGrad lives, the operations of its thread return leaves and record nothing. NoGrad objects may be nested.
class GRADWALK_EXPORT NoGrad {
 public:
  NoGrad();
  ~NoGrad();
  NoGrad(const NoGrad&) = delete;
  NoGrad& operator=(const NoGrad&) = delete;
};

// Returns the data and the gradient as text: "Value(data=2, grad=64)". operator<< writes the same.
GRADWALK_EXPORT std::string to_string(const Value& value);
GRADWALK_EXPORT std::ostream& operator<<(std::ostream& out, const Value& value);

}  // namespace gradwalk

#include "gradwalk/choice.hpp"      // IWYU pragma: export
#include "gradwalk/operations.hpp"  // IWYU pragma: export
