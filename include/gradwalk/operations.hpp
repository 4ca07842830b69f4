// SPDX-License-Identifier: MIT
// How an operation on Values becomes a record. Part of value.hpp: include that.
//
// Three facts choose the function: whether an operand is consumed (an rvalue), whether it is a number (written as one,
// or still held by its handle), and whether the operation is a sum, which may take over the records of its operands.
#pragma once

#include "gradwalk/value.hpp"

namespace gradwalk::detail {

template <Op op, bool x_consumed> GRADWALK_INLINE Ref Operations::make(const Value& x) {
  const Ref made = unary<op, x_consumed>(x.node_ref(gradwalk::name(op).data()));
  if constexpr (x_consumed) x.tape_ = 0;
  return made;
}

template <Op op, bool x_consumed, bool y_consumed, class X, class Y>
GRADWALK_INLINE Ref Operations::make(const X& x, const Y& y) {
  const char* const call = gradwalk::name(op).data();
  Ref made = 0;
  if constexpr (!AnyValue<Y>) {
    made = of_number<op, x_consumed>(x.node_ref(call), static_cast<double>(y));
    if constexpr (x_consumed) x.tape_ = 0;
  } else if constexpr (!AnyValue<X>) {
    made = of_number<op, y_consumed>(static_cast<double>(x), y.node_ref(call));
    if constexpr (y_consumed) y.tape_ = 0;
  } else {
    if constexpr (x_consumed || y_consumed)
      if (&x == &y) {  // One handle can be consumed only once.
        const Ref both = x.node_ref(call);
        made = of_nodes<op, x_consumed, false>(both, both);
        if constexpr (x_consumed) x.tape_ = 0;
        return made;
      }
    if constexpr (y_consumed)
      if (y.is_known_number()) return make<op, x_consumed, false>(x, y.number());
    if constexpr (x_consumed)
      if (x.is_known_number() && !(y_consumed && y.holds_number())) return make<op, false, y_consumed>(x.number(), y);
    if ((x_consumed || y_consumed) && !(x.is_here() && y.is_here())) [[unlikely]] {
      const Result result = of_handles<op, x_consumed, y_consumed>(x.ref_, x.tape_, y.ref_, y.tape_);
      if constexpr (!x_consumed) x.become(result.x);
      if constexpr (!y_consumed) y.become(result.y);
      made = result.ref;
    } else {
      made = of_nodes<op, x_consumed, y_consumed>(x.node_ref(call), y.node_ref(call));
    }
    if constexpr (x_consumed) x.tape_ = 0;
    if constexpr (y_consumed) y.tape_ = 0;
  }
  return made;
}

// Records an operation whose operand holds a number, or throws an Error for an operand of another tape. A consumed
// number becomes a constant operand; if both operands are consumed numbers, the first becomes a leaf. A number with a
// name becomes a leaf.
//
// This is a function of its own because a call in the middle of an expression would keep the compiler from carrying
// values in registers. The handles are passed by value because a temporary whose address is taken has to be in memory.
template <Op op, bool x_consumed, bool y_consumed>
[[gnu::noinline]] Operations::Result Operations::of_handles(Ref x, std::uint32_t x_tape, Ref y, std::uint32_t y_tape) {
  const char* const call = gradwalk::name(op).data();
  const bool x_is_node = x_tape == tape.id, y_is_node = y_tape == tape.id;
  const double y_number = y_is_node ? 0 : number_of(y, y_tape, call);  // An Error must come before x becomes a leaf.
  if (y_consumed && !y_is_node) {
    if (!x_is_node) x = become_leaf(x, x_tape, call);
    return {of_number<op, x_consumed>(x, y_number), x, y};
  }
  if (x_consumed && !x_is_node) {
    const double x_number = number_of(x, x_tape, call);
    if (!y_is_node) y = become_leaf(y, y_tape, call);
    return {of_number<op, y_consumed>(x_number, y), x, y};
  }
  if (!x_is_node) x = become_leaf(x, x_tape, call);
  if (!y_is_node) y = become_leaf(y, y_tape, call);
  return {of_nodes<op, x_consumed, y_consumed>(x, y), x, y};
}

template <Op op, bool x_consumed> GRADWALK_INLINE Ref Operations::of_number(Ref x, double y) {
  if constexpr (op == Op::add && x_consumed) return add_number(x, y);
  return with_number<op, x_consumed>(x, y);
}

template <Op op, bool y_consumed> GRADWALK_INLINE Ref Operations::of_number(double x, Ref y) {
  if constexpr (op == Op::add && y_consumed) return add_to_number(x, y);
  return with_number<op, y_consumed>(x, y);
}

template <Op op, bool x_consumed, bool y_consumed> GRADWALK_INLINE Ref Operations::of_nodes(Ref x, Ref y) {
  if constexpr (op == Op::add && (x_consumed || y_consumed)) return add<x_consumed, y_consumed>(x, y);
  if constexpr (op == Op::sub && (x_consumed || y_consumed)) return subtract<x_consumed, y_consumed>(x, y);
  return binary<op, x_consumed, y_consumed>(x, y);
}

}  // namespace gradwalk::detail
