// SPDX-License-Identifier: MIT
// Sums that take over the records of their operands, where these are the newest and their handles die: x + a * b is one
// record, and a sum of products grows in place by a word a term. Twice as fast, and nobody can tell, for looking at
// such a record splits it again (graph.cpp). The engine would be right without this file.
//
// Each function returns the new record, or 0 where it does not apply. A node that moves up lies over what was another,
// so words change their type: the fences keep the compiler from mixing reads of the old with writes of the new.
#pragma once

#include <atomic>

#include "gradwalk/tape.hpp"

namespace gradwalk::detail {

constexpr bool is_product(Word head) { return without_extra(head) == fresh(Op::mul); }
constexpr bool is_multiply_add(Word head) { return without_extra(head & ~z_first) == fresh(Op::multiply_add); }
constexpr bool is_sum_of_products(Word head) { return without_extra(head) == fresh(Op::sum_of_products); }

// The product or sum with one term more; its room has been seen to.
GRADWALK_INLINE Ref append_term(Ref sum, Word term, bool has_number, double number, double data) {
  const Word head = tape.node(sum)->head, factors = tape.node(sum)->operands;
  Ref at = sum + 1, below = static_cast<Ref>(head >> 32) + 1;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (is_multiply_add(head)) {
    const Word addend = pair(static_cast<Ref>(head >> 32), nothing);
    tape.word(sum) = (head & z_first) != 0 ? addend : factors;
    tape.word(at++) = (head & z_first) != 0 ? factors : addend;
    below = 2;
  }
  if (has_number) tape.number(at++) = number, ++below;
  write_node(at, term, fresh(Op::sum_of_products, below), data);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  tape.top = at + 4;
  return at;
}

// sum + product
GRADWALK_INLINE Ref extend_sum(Ref sum, Ref product) {
  const Node &x = *tape.node(sum), &y = *tape.node(product);
  const Word head = x.head, factors = y.operands;
  if (product + 4 != tape.top || first(factors) == sum || second(factors) == sum) return 0;
  const double data = rules::Rule<Op::add>::value(x.data, y.data);
  if (is_sum_of_products(head) && y.head == fresh(Op::mul) && sum + 4 == product) [[likely]] {  // as in a loop
    std::atomic_signal_fence(std::memory_order_seq_cst);
    write_node(sum + 1, factors, head + (Word{1} << 32), data);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    tape.top = sum + 5;
    return sum + 1;
  }
  const Ref numbers = extra_of(y);
  if (!is_product(y.head) || sum + 4 + numbers != product) return 0;
  if (!is_sum_of_products(head) && !is_multiply_add(head) && !is_product(head)) return 0;
  return append_term(sum, factors, numbers != 0, numbers != 0 ? tape.number(product - 1) : 0, data);
}

// x + y of products or sums; compilers choose which is evaluated first and lies below.
inline Ref join_sums(Ref x, Ref y) {
  if (const Ref made = extend_sum(x, y)) return made;
  const Word x_head = tape.node(x)->head, x_factors = tape.node(x)->operands;
  const Word y_head = tape.node(y)->head, y_factors = tape.node(y)->operands;
  if (x + 4 != tape.top || y + 4 != x || x_head != fresh(Op::mul) || y_head != fresh(Op::mul)) return 0;
  if (first(x_factors) == y || second(x_factors) == y) return 0;
  const double data = rules::Rule<Op::add>::value(tape.node(x)->data, tape.node(y)->data);
  tape.node(y)->operands = x_factors;
  return append_term(y, y_factors, false, 0, data);
}

// x + product
GRADWALK_INLINE Ref add_to_product(Ref x, Ref product) {
  const Node& y = *tape.node(product);
  if (product + 4 != tape.top || !is_product(y.head) || x == product) return 0;
  const double data = rules::Rule<Op::add>::value(tape.node(x)->data, y.data);
  const Word factors = y.operands;
  if (extra_of(y) == 0) {
    write_node(product, factors, fresh(Op::multiply_add, x) | z_first, data);
    return product;
  }
  if (tape.top == tape.limit) return 0;
  const double number = tape.number(product - 1);  // number, product become x, number, product
  std::atomic_signal_fence(std::memory_order_seq_cst);
  tape.word(product - 1) = pair(x, nothing);
  tape.number(product) = number;
  write_node(product + 1, factors, fresh(Op::sum_of_products, 2), data);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  ++tape.top;
  return product + 1;
}

// sum + y
GRADWALK_INLINE Ref add_plain_term(Ref sum, Ref y) {
  const Node& x = *tape.node(sum);
  if (sum + 4 != tape.top || sum == y) return 0;
  const double data = rules::Rule<Op::add>::value(x.data, tape.node(y)->data);
  if (x.head == fresh(Op::mul)) {
    write_node(sum, x.operands, fresh(Op::multiply_add, y), data);
    return sum;
  }
  const bool grows = is_sum_of_products(x.head) || is_multiply_add(x.head) || is_product(x.head);
  return grows && tape.top + 2 <= tape.limit ? append_term(sum, pair(y, nothing), false, 0, data) : 0;
}

}  // namespace gradwalk::detail
