// SPDX-License-Identifier: MIT
// Reading the words of a record: its operands, its terms, and the record before it. node.hpp describes the layout.
#pragma once

#include <utility>

#include "gradwalk/tape.hpp"

namespace gradwalk::detail {

inline bool in_leaf_region(Ref ref) { return ref >= first_leaf; }
inline bool is_leaf(Ref ref) { return op_of(*tape.node(ref)) == Op::leaf; }
inline bool is_constant(Ref ref) { return op_of(*tape.node(ref)) == Op::constant; }
inline bool is_recorded(Ref ref) { return op_of(*tape.node(ref)) > Op::constant; }

constexpr bool is_node(Ref operand) { return operand < last_ref; }
constexpr bool are_nodes(Word operands) { return is_node(first(operands)) && is_node(second(operands)); }
constexpr bool has_literal(Word operands) { return first(operands) == literal || second(operands) == literal; }

inline std::uint32_t words_below(const Node& node) { return has_third(op_of(node)) ? 0 : extra_of(node); }
inline Ref older(Ref ref) { return ref - words_below(*tape.node(ref)) - 4; }  // the record before, in the same chunk

// The op that users see. A fused record shows the op of its last node.
inline Op shown_op(Op op) {
  if (op == multiply_add || op == sum_of_products) return Op::add;
  return op == minus_product || op == product_minus ? Op::sub : op;
}

// Whether z comes before the product in a record of three operands: z + x * y or z - x * y.
inline bool is_third_first(const Node& node) {
  return op_of(node) == minus_product || (op_of(node) == multiply_add && (node.head & z_first) != 0);
}

// The condition of a choice, and the numbers it chooses from.
inline Ref condition_of(Ref ref) { return static_cast<Ref>(tape.word(ref - 1)); }
inline std::pair<double, double> values_of_choice(Ref ref) {
  const Word operands = tape.node(ref)->operands;
  const double y = second(operands) == literal ? tape.number(ref - 2) : tape.node(second(operands))->data;
  if (first(operands) != literal) return {tape.node(first(operands))->data, y};
  return {tape.number(second(operands) == literal ? ref - 3 : ref - 2), y};
}

// Calls visit(operands, at) for each term of a sum_of_products, last to first. `at` is the position of the operands.
template <class Visit> void each_term(Ref sum, Visit visit) {
  const Ref begin = sum - extra_of(*tape.node(sum));
  for (Ref at = sum; at >= begin; --at) {
    const Word operands = tape.word(at);
    visit(operands, at);
    if (!are_nodes(operands)) at -= has_literal(operands);
  }
}

// Calls visit(operand) for each operand that is a node, last to first.
template <class Visit> void each_operand(Ref ref, Visit visit) {
  const Node& node = *tape.node(ref);
  const auto both = [&](Word operands) {
    if (is_node(second(operands))) visit(second(operands));
    if (is_node(first(operands))) visit(first(operands));
  };
  switch (code(op_of(node))) {
    case code(Op::leaf): break;
    case code(Op::select):
      both(node.operands);
      visit(condition_of(ref));
      break;
    case code(sum_of_products): each_term(ref, [&](Word operands, Ref) { both(operands); }); break;
    case code(Op::custom):
      for (Ref at = ref; at > ref - extra_of(node); at -= 2) visit(static_cast<Ref>(tape.word(at - 1)));
      break;
    case code(multiply_add):
    case code(minus_product):
    case code(product_minus): {
      const bool is_first = is_third_first(node);
      if (!is_first) visit(extra_of(node));
      both(node.operands);
      if (is_first) visit(extra_of(node));
      break;
    }
    default: both(node.operands);
  }
}

}  // namespace gradwalk::detail
