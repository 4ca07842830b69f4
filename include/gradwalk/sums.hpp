// SPDX-License-Identifier: MIT
// Fusing: a sum or difference takes over the record of an operand that is the newest record and is consumed. So
// x + a * b is one record, and a sum of products grows in place by one word per term. This is twice as fast. Users
// cannot notice it: looking at a fused record expands it into the nodes that were written (graph.cpp). The engine would
// be right without this file.
//
// The usual cases of loops are here, the others in sums.cpp.
#pragma once

#include "gradwalk/tape.hpp"

namespace gradwalk::detail {

constexpr bool is_product(Word head) { return without_extra(head) == fresh(Op::mul); }
constexpr bool is_sum(Word head) { return without_extra(head) == fresh(sum_of_products); }
constexpr bool is_multiply_add(Word head) { return without_extra(head & ~z_first) == fresh(multiply_add); }
constexpr bool grows(Word head) { return is_sum(head) || is_multiply_add(head) || is_product(head); }
constexpr bool has(Word operands, Ref ref) { return first(operands) == ref || second(operands) == ref; }

GRADWALK_EXPORT Ref join(Ref x, bool x_consumed, Ref y, bool y_consumed);  // x + y
GRADWALK_EXPORT Ref add_number(Ref x, double y);                           // x + y, where x is consumed
GRADWALK_EXPORT Ref add_to_number(double x, Ref y);                        // x + y, where y is consumed

// Writes a record that grew over the words of its operands. These words change their type, so fences keep the compiler
// from mixing reads of the old words with writes of the new ones.
GRADWALK_INLINE void move_node(Ref to, Word operands, Word head, double data) {
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  unpoison(to, 4);
  write_node(to, operands, head, data);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  tape.top = to + 4;
}

// x + y
template <bool x_consumed, bool y_consumed> GRADWALK_INLINE Ref add(Ref x, Ref y) {
  constexpr Word product = fresh(Op::mul), one_term = Word{1} << 32;
  const Word head = tape.node(x)->head, factors = tape.node(x)->operands, y_factors = tape.node(y)->operands;
  const double data = rules::Rule<Op::add>::value(tape.node(x)->data, tape.node(y)->data);
  const bool x_is_newest = x_consumed && x + 4 == tape.top, y_is_newest = y_consumed && y + 4 == tape.top;
  const bool y_is_product = y_consumed && tape.node(y)->head == product;
  if (x_consumed && y_is_newest && y_is_product && x + 4 == y && is_sum(head) && !has(y_factors, x)) [[likely]] {
    move_node(x + 1, y_factors, head + one_term, data);  // sum + a * b
    return x + 1;
  }
  if (x_consumed && y_is_product && head == product) {  // a * b + c * d; either product may be recorded first
    const Ref lower = x < y ? x : y;
    if ((x_is_newest && y + 4 == x && !has(factors, y)) || (y_is_newest && x + 4 == y && !has(y_factors, x))) {
      tape.word(lower) = factors;
      move_node(lower + 1, y_factors, fresh(sum_of_products, 1), data);
      return lower + 1;
    }
  } else if (y_is_newest && y_is_product && (!x_consumed || x + 4 != y)) {  // x + a * b
    write_node(y, y_factors, fresh(multiply_add, x) | z_first, data);
    if constexpr (x_consumed) consume(x);
    return y;
  } else if (x_is_newest && x != y && head == product && (!y_consumed || y + 4 != x)) {  // a * b + y
    write_node(x, factors, fresh(multiply_add, y), data);
    if constexpr (y_consumed) consume(y);
    return x;
  } else if (x_is_newest && x != y && !y_consumed && is_sum(head) && tape.top < tape.limit) {  // sum + y
    move_node(x + 1, pair(y, nothing), head + one_term, data);
    return x + 1;
  }
  const bool joins = (x_is_newest && grows(head)) || (y_is_newest && is_product(tape.node(y)->head));
  return x != y && joins ? join(x, x_consumed, y, y_consumed) : binary<Op::add, x_consumed, y_consumed>(x, y);
}

// x - y
template <bool x_consumed, bool y_consumed> GRADWALK_INLINE Ref subtract(Ref x, Ref y) {
  const double data = rules::Rule<Op::sub>::value(tape.node(x)->data, tape.node(y)->data);
  if (y_consumed && y + 4 == tape.top && tape.node(y)->head == fresh(Op::mul) && x != y) {
    write_node(y, tape.node(y)->operands, fresh(minus_product, x), data);
    if constexpr (x_consumed) consume(x);
    return y;
  }
  if (x_consumed && x + 4 == tape.top && tape.node(x)->head == fresh(Op::mul) && x != y) {
    write_node(x, tape.node(x)->operands, fresh(product_minus, y), data);
    if constexpr (y_consumed) consume(y);
    return x;
  }
  return binary<Op::sub, x_consumed, y_consumed>(x, y);
}

}  // namespace gradwalk::detail
