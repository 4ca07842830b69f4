// SPDX-License-Identifier: MIT
// How an operation on Values becomes a record. Part of value.hpp: include that.
//
// Three things decide the way: whether an operand ends here, whether it is a number, written as one or still held by
// its handle, and whether the operation is a sum, which may take over its operands' records.
#pragma once

#include "gradwalk/value.hpp"

namespace gradwalk::detail {

template <Op op, bool x_ends> GRADWALK_INLINE Ref Operations::make(const Value& x) {
  const Ref made = unary<op, x_ends>(x.node_ref(gradwalk::name(op).data()));
  if constexpr (x_ends) x.tape_ = 0;
  return made;
}

template <Op op, bool x_ends, bool y_ends, class X, class Y>
GRADWALK_INLINE Ref Operations::make(const X& x, const Y& y) {
  const char* const call = gradwalk::name(op).data();
  Ref made = 0;
  if constexpr (!AnyValue<Y>) {
    const Ref first = x.node_ref(call);
    if constexpr (op == Op::add && x_ends)
      made = add_number(first, static_cast<double>(y));
    else
      made = with_number<op, x_ends>(first, static_cast<double>(y));
    if constexpr (x_ends) x.tape_ = 0;
  } else if constexpr (!AnyValue<X>) {
    const Ref second = y.node_ref(call);
    if constexpr (op == Op::add && y_ends)
      made = add_to_number(static_cast<double>(x), second);
    else
      made = with_number<op, y_ends>(static_cast<double>(x), second);
    if constexpr (y_ends) y.tape_ = 0;
  } else {
    if constexpr (x_ends || y_ends)
      if (&x == &y) {  // one handle, which can end but once
        made = of_refs<op, x_ends, false>(x.node_ref(call), x.ref_);
        if constexpr (x_ends) x.tape_ = 0;
        return made;
      }
    if constexpr (y_ends)
      if (y.is_written_number()) return make<op, x_ends, false>(x, y.number());
    if constexpr (x_ends)
      if (x.is_written_number()) return make<op, false, y_ends>(x.number(), y);
    if ((x_ends || y_ends) && !(x.is_here() && y.is_here())) [[unlikely]] {
      if (op == Op::add && x_ends && x.tape_ == (tape.id | is_number)) return make<op, false, y_ends>(x.number(), y);
      const Made all = make_of_numbers<op, x_ends, y_ends>(x.ref_, x.tape_, y.ref_, y.tape_);
      if constexpr (!x_ends) x.become(all.x);
      if constexpr (!y_ends) y.become(all.y);
      made = all.ref;
    } else {
      made = of_refs<op, x_ends, y_ends>(x.node_ref(call), y.node_ref(call));
    }
    if constexpr (x_ends) x.tape_ = 0;
    if constexpr (y_ends) y.tape_ = 0;
  }
  return made;
}

// Where an operand is a number still, or is refused, apart: the compiler knows what an operand's operation has just
// recorded as long as no call lies in between. By value: what is passed by its address has to lie in memory.
template <Op op, bool x_ends, bool y_ends>
[[gnu::noinline]] Operations::Made Operations::make_of_numbers(Ref x, std::uint32_t x_tape, Ref y,
                                                               std::uint32_t y_tape) {
  const char* const call = gradwalk::name(op).data();
  const bool x_is_here = x_tape == tape.id, y_is_here = y_tape == tape.id;
  if (!x_is_here && !y_is_here) number_of(y, y_tape, call);  // or refuse it, before x changes
  if (!x_is_here) x = become_leaf(x, x_tape, call);
  if (!y_is_here) y = become_leaf(y, y_tape, call);
  return {of_refs<op, x_ends, y_ends>(x, y), x, y};
}

template <Op op, bool x_ends, bool y_ends> GRADWALK_INLINE Ref Operations::of_refs(Ref x, Ref y) {
  if constexpr (op == Op::add && (x_ends || y_ends)) return add<x_ends, y_ends>(x, y);
  if constexpr (op == Op::sub && (x_ends || y_ends)) return subtract<x_ends, y_ends>(x, y);
  return binary<op, x_ends, y_ends>(x, y);
}

}  // namespace gradwalk::detail
