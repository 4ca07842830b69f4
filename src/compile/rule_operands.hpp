// SPDX-License-Identifier: MIT
// Which operands the rules of ops.def mention, read from their text.
#pragma once

#include <cstddef>
#include <string_view>

#include "gradwalk/ops.hpp"

namespace gradwalk::detail {

// Whether a rule's text names an operand or its result, as x in "1 + x * x" but not in "exp(r)".
constexpr bool mentions(std::string_view rule, char name) {
  constexpr auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
  for (std::size_t i = 0; i < rule.size(); ++i)
    if (rule[i] == name && (i == 0 || !is_letter(rule[i - 1])) && (i + 1 == rule.size() || !is_letter(rule[i + 1])))
      return true;
  return false;
}

// Whether a rule of the op names this operand.
constexpr bool mentions_operand(Op op, std::string_view rule, std::size_t operand) {
  const std::string_view names = info(op).operands == 3 ? "cxy" : info(op).operands == 2 ? "xy" : "x";
  return operand < names.size() && mentions(rule, names[operand]);
}

// The rule of the local derivative with respect to operand `by`. The condition of a choice has none.
constexpr std::string_view local_rule(Op op, std::size_t by) {
  const std::size_t first = info(op).operands == 3 ? 1 : 0;
  return by < first ? "0" : by == first ? info(op).dx : info(op).dy;
}
constexpr bool local_mentions(Op op, std::size_t by, std::size_t operand) {
  return mentions_operand(op, local_rule(op, by), operand);
}
// Whether the derivative is the same if the result takes the place of the operand: relu(x) > 0 if and only if x > 0.
// Then the operand need not be kept for the backward pass.
constexpr bool result_stands_for_operand(Op op) { return op == Op::relu; }
constexpr bool local_mentions_result(Op op, std::size_t by) { return mentions(local_rule(op, by), 'r'); }

}  // namespace gradwalk::detail
