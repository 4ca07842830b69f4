// SPDX-License-Identifier: MIT
// Fusing beyond the usual cases of sums.hpp: sums of products with numbers and plain terms, in any order.
#include "gradwalk/sums.hpp"

#include <atomic>

namespace gradwalk::detail {
namespace {

// Appends a term to a product, a multiply_add or a sum, and returns the sum. `number` is the literal of the term.
Ref append_term(Ref sum, Word term, bool has_number, double number, double data) {
  const Word head = tape.node(sum)->head, factors = tape.node(sum)->operands;
  Ref at = sum + 1, below = static_cast<Ref>(head >> 32) + 1;
  unpoison(sum, 7);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (is_multiply_add(head)) {
    const Word addend = pair(static_cast<Ref>(head >> 32), nothing);
    tape.word(sum) = (head & z_first) != 0 ? addend : factors;
    tape.word(at++) = (head & z_first) != 0 ? factors : addend;
    below = 2;
  }
  if (has_number) tape.number(at++) = number, ++below;
  move_node(at, term, fresh(sum_of_products, below), data);
  return at;
}

// sum + product, if the product is the record right above the sum. Returns 0 if they cannot be fused.
Ref extend(Ref sum, Ref product, double data) {
  const Node &x = *tape.node(sum), &y = *tape.node(product);
  const Word factors = y.operands;
  const Ref numbers = extra_of(y);
  if (product + 4 != tape.top || has(factors, sum)) return 0;
  if (!is_product(y.head) || sum + 4 + numbers != product || !grows(x.head)) return 0;
  return append_term(sum, factors, numbers != 0, numbers != 0 ? tape.number(product - 1) : 0, data);
}

// sum + product, if the product is the record right below a product or a short sum: the compiler chooses which operand
// is evaluated first. Returns 0 if they cannot be fused.
Ref extend_downwards(Ref sum, Ref product, double data) {
  constexpr Ref longest = 8;
  const Word head = tape.node(sum)->head, last = tape.node(product)->operands;
  const Ref below = extra_of(*tape.node(sum));
  if (sum + 4 != tape.top || product + 4 != sum - below || tape.node(product)->head != fresh(Op::mul)) return 0;
  if ((!is_sum(head) && head != fresh(Op::mul)) || below > longest) return 0;
  for (Ref at = sum - below; at <= sum; ++at)
    if (has(tape.word(at), product)) return 0;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  for (Ref i = 0; i <= below; ++i) tape.word(product + i) = tape.word(sum - below + i);
  move_node(product + below + 1, last, fresh(sum_of_products, below + 1), data);
  return product + below + 1;
}

// x + product, if the product has a literal: the words "number, product" become "x, number, product". Returns 0 if they
// cannot be fused.
Ref add_to_scaled(Ref x, Ref product, double data) {
  const Node& y = *tape.node(product);
  if (product + 4 != tape.top || !is_product(y.head) || x == product || tape.top >= tape.limit) return 0;
  const Word factors = y.operands;
  const double number = tape.number(product - 1);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  tape.word(product - 1) = pair(x, nothing);
  tape.number(product) = number;
  move_node(product + 1, factors, fresh(sum_of_products, 2), data);
  return product + 1;
}

}  // namespace

// One of the operands is the newest record and is consumed.
Ref join(Ref x, bool x_consumed, Ref y, bool y_consumed) {
  const double data = rules::Rule<Op::add>::value(tape.node(x)->data, tape.node(y)->data);
  if (x_consumed && y_consumed) {
    if (const Ref made = extend(x, y, data)) return made;
    if (const Ref made = extend_downwards(x, y, data)) return made;
  }
  Ref made = 0;
  if (y_consumed && y + 4 == tape.top && is_product(tape.node(y)->head)) {
    if (extra_of(*tape.node(y)) != 0) {
      made = add_to_scaled(x, y, data);
    } else {
      write_node(made = y, tape.node(y)->operands, fresh(multiply_add, x) | z_first, data);
    }
    if (made != 0) {
      if (x_consumed) consume(x);
      return made;
    }
  }
  if (x_consumed && x + 4 == tape.top && grows(tape.node(x)->head) && tape.top + 2 <= tape.limit) {
    if (tape.node(x)->head == fresh(Op::mul)) {
      write_node(made = x, tape.node(x)->operands, fresh(multiply_add, y), data);
    } else {
      made = append_term(x, pair(y, nothing), false, 0, data);
    }
    if (y_consumed) consume(y);
    return made;
  }
  made = binary<Op::add, false, false>(x, y);
  if (x_consumed) consume(x);
  if (y_consumed) consume(y);
  return made;
}

Ref add_number(Ref x, double y) {
  if (x + 4 != tape.top || tape.top + 3 > tape.limit || !grows(tape.node(x)->head))
    return with_number<Op::add, true>(x, y);
  return append_term(x, pair(literal, nothing), true, y, rules::Rule<Op::add>::value(tape.node(x)->data, y));
}

Ref add_to_number(double x, Ref y) {
  const Word head = tape.node(y)->head, factors = tape.node(y)->operands;
  if (y + 4 != tape.top || tape.top + 2 > tape.limit || head != fresh(Op::mul)) return with_number<Op::add, true>(x, y);
  const double data = rules::Rule<Op::add>::value(x, tape.node(y)->data);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  tape.number(y) = x;
  tape.word(y + 1) = pair(literal, nothing);
  move_node(y + 2, factors, fresh(sum_of_products, 2), data);
  return y + 2;
}

}  // namespace gradwalk::detail
