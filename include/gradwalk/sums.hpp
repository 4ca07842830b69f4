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
constexpr bool is_multiply_add(Word head) { return without_extra(head & ~z_first) == fresh(multiply_add); }
constexpr bool grows(Word head) { return is_sum(head) || is_multiply_add(head) || is_product(head); }
constexpr bool has(Word operands, Ref ref) { return first(operands) == ref || second(operands) == ref; }

GRADWALK_EXPORT Ref join(Ref x, bool x_ends, Ref y, bool y_ends);
GRADWALK_EXPORT Ref add_number(Ref x, double y);
GRADWALK_EXPORT Ref add_to_number(double x, Ref y);

// A node that moves up lies over what was another, so words change their type: the fences keep the compiler from mixing
// reads of the old with writes of the new.
GRADWALK_INLINE void move_node(Ref to, Word operands, Word head, double data) {
  std::atomic_signal_fence(std::memory_order_seq_cst);
  unpoison(to, 4);
  write_node(to, operands, head, data);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  tape.top = to + 4;
}

// x + y
template <bool x_ends, bool y_ends> GRADWALK_INLINE Ref add(Ref x, Ref y) {
  constexpr Word product = fresh(Op::mul), one_term = Word{1} << 32;
  const Word head = tape.node(x)->head, factors = tape.node(x)->operands, y_factors = tape.node(y)->operands;
  const double data = rules::Rule<Op::add>::value(tape.node(x)->data, tape.node(y)->data);
  const bool x_is_newest = x_ends && x + 4 == tape.top, y_is_newest = y_ends && y + 4 == tape.top;
  const bool y_is_product = y_ends && tape.node(y)->head == product;
  if (x_ends && y_is_newest && y_is_product && x + 4 == y && is_sum(head) && !has(y_factors, x)) [[likely]] {
    move_node(x + 1, y_factors, head + one_term, data);  // sum + a * b, as in a loop
    return x + 1;
  }
  if (x_ends && y_is_product && head == product) {  // a * b + c * d; compilers choose which is evaluated first
    const Ref lower = x < y ? x : y;
    if ((x_is_newest && y + 4 == x && !has(factors, y)) || (y_is_newest && x + 4 == y && !has(y_factors, x))) {
      tape.word(lower) = factors;
      move_node(lower + 1, y_factors, fresh(sum_of_products, 1), data);
      return lower + 1;
    }
  } else if (y_is_newest && y_is_product && (!x_ends || x + 4 != y)) {  // x + a * b
    write_node(y, y_factors, fresh(multiply_add, x) | z_first, data);
    if constexpr (x_ends) consume(x);
    return y;
  } else if (x_is_newest && x != y && head == product && (!y_ends || y + 4 != x)) {  // a * b + y
    write_node(x, factors, fresh(multiply_add, y), data);
    if constexpr (y_ends) consume(y);
    return x;
  } else if (x_is_newest && x != y && !y_ends && is_sum(head) && tape.top < tape.limit) {  // sum + y
    move_node(x + 1, pair(y, nothing), head + one_term, data);
    return x + 1;
  }
  const bool joins = (x_is_newest && grows(head)) || (y_is_newest && is_product(tape.node(y)->head));
  return x != y && joins ? join(x, x_ends, y, y_ends) : binary<Op::add, x_ends, y_ends>(x, y);
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
