// SPDX-License-Identifier: MIT
// Value: one number, its gradient, and how it was made.
//
// A Value is a handle to a node of its thread's tape; copies name the same node. Arithmetic records nodes, backward()
// adds up every gradient below by the chain rule, and a node is given back when nothing needs it any more.
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
// Records operations (operations.hpp) and returns the new node. A consumed operand is a temporary, whose handle the
// operation takes over.
struct Operations {
  template <Op op, bool x_consumed> static Ref make(const Value& x);
  template <Op op, bool x_consumed, bool y_consumed, class X, class Y> static Ref make(const X& x, const Y& y);
  struct Result {
    Ref ref, x, y;  // The new node, and its operands: those that were numbers may have become leaves.
  };
  template <Op op, bool x_consumed, bool y_consumed>
  static Result of_handles(Ref x, std::uint32_t x_tape, Ref y, std::uint32_t y_tape);
  template <Op op, bool x_consumed> static Ref of_number(Ref x, double y);
  template <Op op, bool y_consumed> static Ref of_number(double x, Ref y);
  template <Op op, bool x_consumed, bool y_consumed> static Ref of_nodes(Ref x, Ref y);
};
}  // namespace detail

template <class T>
concept Number = std::is_arithmetic_v<T>;
template <class T>
concept AnyValue = std::same_as<std::remove_cvref_t<T>, Value>;
template <class T>
concept NumberOrValue = Number<std::remove_cvref_t<T>> || AnyValue<T>;
template <class... X>  // what functions of several operands take: at least one a Value
concept Operands = (NumberOrValue<X> && ...) && (AnyValue<X> || ...);

class GRADWALK_EXPORT Value {
 public:
  Value() : Value(0.0) {}
  // A number that a float can hold stays in the handle until someone needs a node: T sum = 0 and T(1) - x cost none.
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

  GRADWALK_INLINE Value(const Value& other) : ref_(other.node_ref("copy")), tape_(other.tape_) {
    detail::take_handle(ref_);
  }
  GRADWALK_INLINE Value(Value&& other) noexcept : ref_(other.ref_), tape_(std::exchange(other.tape_, 0)) {}
  Value& operator=(const Value& other) { return *this = Value(other); }
  GRADWALK_INLINE Value& operator=(Value&& other) noexcept {
    Value taken(std::move(other));
    std::swap(ref_, taken.ref_);
    std::swap(tape_, taken.tape_);
    return *this;
  }
  GRADWALK_INLINE ~Value() {
    if (tape_ == 0) return;  // first: of a temporary that was used up it is known
    if (is_here()) {
      detail::let_go(ref_);
    } else if (!holds_number()) {
      detail::let_go_elsewhere(tape_, ref_);
    }
  }

  // References into the node, valid while a handle to it lives; plain numbers from a temporary.
  double& data() & {
    detail::Node* n = node("data");
    if (ref_ < detail::first_leaf) n->head |= detail::touched;
    return n->data;
  }
  double data() const& { return is_here() ? here().data : detail::number_of(ref_, tape_, "data"); }
  double& grad() & {
    detail::Node* n = node("grad");
    if (ref_ < detail::first_leaf) detail::expose_gradient(ref_);
    return n->grad;
  }
  double grad() const& { return is_here() ? here().grad : (detail::number_of(ref_, tape_, "grad"), 0.0); }
  // The data alone, by a cast and by nothing less. Not as a bool: that takes a comparison, which can be recorded.
  template <Number T>
    requires(!std::same_as<T, bool>)
  explicit operator T() const {
    return static_cast<T>(data_alone());
  }

  void backward(double seed = 1.0) const;  // the derivative of this Value by each node below it
  void propagate() const;                  // this node's own step: its gradient times each local derivative, deposited
  Value detach() const;                    // a leaf with the same data, and nothing below it

  Op op() const;
  std::string_view op_name() const;   // what a drawing shows: the op's symbol, a custom node's name, "" for a leaf
  std::vector<Value> inputs() const;  // in operand order; a * a has two
  Value& label(std::string_view text) &;
  Value label(std::string_view text) &&;
  std::string label() const;
  // One number a node, among the nodes alive.
  std::uint64_t id() const { return node_ref("id"), detail::pair(ref_, tape_); }
  friend bool same_node(const Value& x, const Value& y) { return x.id() == y.id(); }

  // Every op of the table, as a function and, with one operand, as a method. The forms of two Values take what converts
  // to a Value; the templates tell handles that live on from those that end here.
#define GRADWALK_UNARY(name, ...)                                                                             \
  friend Value name(const Value& x) { return adopt(detail::Operations::make<Op::name, false>(x)); }           \
  GRADWALK_INLINE friend Value name(Value&& x) { return adopt(detail::Operations::make<Op::name, true>(x)); } \
  Value name() const { return adopt(detail::Operations::make<Op::name, false>(*this)); }
#define GRADWALK_BINARY(name, ...)                                            \
  friend Value name(const Value& x, const Value& y) {                         \
    return adopt(detail::Operations::make<Op::name, false, false>(x, y));     \
  }                                                                           \
  template <class X, class Y>                                                 \
    requires Operands<X, Y>                                                   \
  GRADWALK_INLINE friend Value name(X&& x, Y&& y) {                           \
    return adopt(detail::Operations::make<Op::name, ends<X>, ends<Y>>(x, y)); \
  }
#include "gradwalk/ops.def"
#undef GRADWALK_UNARY
#undef GRADWALK_BINARY

  friend Value operator-(const Value& x) { return adopt(detail::Operations::make<Op::neg, false>(x)); }
  GRADWALK_INLINE friend Value operator-(Value&& x) { return adopt(detail::Operations::make<Op::neg, true>(x)); }
  friend Value operator+(const Value& x) { return x; }
#define GRADWALK_OPERATOR(sign, op)                                            \
  GRADWALK_INLINE friend Value operator sign(const Value& x, const Value& y) { \
    return adopt(detail::Operations::make<op, false, false>(x, y));            \
  }                                                                            \
  template <class X, class Y>                                                  \
    requires Operands<X, Y>                                                    \
  GRADWALK_INLINE friend Value operator sign(X&& x, Y&& y) {                   \
    return adopt(detail::Operations::make<op, ends<X>, ends<Y>>(x, y));        \
  }                                                                            \
  template <NumberOrValue Y> GRADWALK_INLINE Value& operator sign##=(Y && y) { \
    const std::uint32_t id = detail::tape.id;                                  \
    ref_ = detail::Operations::make<op, true, ends<Y>>(*this, y);              \
    tape_ = id;                                                                \
    return *this;                                                              \
  }
  GRADWALK_OPERATOR(+, Op::add)
  GRADWALK_OPERATOR(-, Op::sub)
  GRADWALK_OPERATOR(*, Op::mul)
  GRADWALK_OPERATOR(/, Op::div)
#undef GRADWALK_OPERATOR

  // Of the data, as micrograd's users write them; what they give can be recorded, too (choice.hpp).
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
    if (id >= detail::is_number) __builtin_unreachable();  // so that no temporary is asked whether it is a number
    return {ref, id};
  }

  double data_alone() const;  // a watched recording is told

  template <class X> static constexpr bool ends = std::is_same_v<X, Value>;  // an argument that is a temporary
  bool is_here() const { return tape_ == detail::tape.id; }
  bool holds_number() const { return (tape_ & detail::is_number) != 0; }
  double number() const { return static_cast<double>(std::bit_cast<float>(ref_)); }
  const detail::Node& here() const { return *detail::tape.node(ref_); }
  // By value: a temporary whose address is given away has to lie in memory.
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
  // Whether the compiler can see that this temporary holds a number, as T(1) in T(1) - x does. It only saves a call:
  // Operations::of_handles() records the same constant at run time.
  GRADWALK_INLINE bool is_known_number() const {
    const bool is_number = holds_number();
    return __builtin_constant_p(is_number) && is_number;
  }

  // The node's Ref and its tape's number; or the bits of a float and the tape's number with is_number. tape_ 0: empty.
  mutable detail::Ref ref_;
  mutable std::uint32_t tape_;
};

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

#include "gradwalk/choice.hpp"      // IWYU pragma: export
#include "gradwalk/operations.hpp"  // IWYU pragma: export
