// SPDX-License-Identifier: MIT
// Sums and differences that take over the records of their operands, where these are the newest and their handles end:
// x + a * b is one record, and a sum of products grows in place by a word a term. Twice as fast, and nobody can tell,
// for looking at such a record splits it again (graph.cpp). The engine would be right without this file.
//
// Handles that end are let go, or their records taken over. What is not the usual case in a loop is in sums.cpp.
#pragma once

#include <atomic>

#include "gradwalk/tape.hpp"

namespace gradwalk::detail {

constexpr bool is_product(Word head) { return without_extra(head) == fresh(Op::mul); }
constexpr bool is_sum(Word head) { return without_extra(head) == fresh(sum_of_products); }

GRADWALK_EXPORT Ref join(Ref x, bool x_ends, Ref y, bool y_ends);
GRADWALK_EXPORT Ref add_number(Ref x, double y);
GRADWALK_EXPORT Ref add_to_number(double x, Ref y);

// A node that moves up lies over what was another, so words change their type: the fences keep the compiler from mixing
// reads of the old with writes of the new.
GRADWALK_INLINE void move_node(Ref to, Word operands, Word head, double data) {
  std::atomic_signal_fence(std::memory_order_seq_cst);
  write_node(to, operands, head, data);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  tape.top = to + 4;
}

// x + y
template <bool x_ends, bool y_ends> GRADWALK_INLINE Ref add(Ref x, Ref y) {
  const bool y_is_newest = y_ends && y + 4 == tape.top && x != y, x_is_newest = x_ends && x + 4 == tape.top && x != y;
  if (y_is_newest && tape.node(y)->head == fresh(Op::mul)) {
    const double data = rules::Rule<Op::add>::value(tape.node(x)->data, tape.node(y)->data);
    const Word factors = tape.node(y)->operands, head = tape.node(x)->head;
    if (!x_ends || x + 4 != y) {  // x + a * b
      write_node(y, factors, fresh(multiply_add, x) | z_first, data);
      if constexpr (x_ends) consume(x);
      return y;
    }
    if (is_sum(head) && first(factors) != x && second(factors) != x) {  // as in a loop
      move_node(x + 1, factors, head + (Word{1} << 32), data);
      return x + 1;
    }
  } else if (x_is_newest && tape.node(x)->head == fresh(Op::mul) && (!y_ends || y + 4 != x)) {  // a * b + y
    const double data = rules::Rule<Op::add>::value(tape.node(x)->data, tape.node(y)->data);
    write_node(x, tape.node(x)->operands, fresh(multiply_add, y), data);
    if constexpr (y_ends) consume(y);
    return x;
  }
  return y_is_newest || x_is_newest ? join(x, x_ends, y, y_ends) : binary<Op::add, x_ends, y_ends>(x, y);
}

// x - y
template <bool x_ends, bool y_ends> GRADWALK_INLINE Ref subtract(Ref x, Ref y) {
  const double data = rules::Rule<Op::sub>::value(tape.node(x)->data, tape.node(y)->data);
  if (y_ends && y + 4 == tape.top && tape.node(y)->head == fresh(Op::mul) && x != y) {
    write_node(y, tape.node(y)->operands, fresh(minus_product, x), data);
    if constexpr (x_ends) consume(x);
    return y;
  }
  if (x_ends && x + 4 == tape.top && tape.node(x)->head == fresh(Op::mul) && x != y) {
    write_node(x, tape.node(x)->operands, fresh(product_minus, y), data);
    if constexpr (y_ends) consume(y);
    return x;
  }
  return binary<Op::sub, x_ends, y_ends>(x, y);
}

}  // namespace gradwalk::detail
