// SPDX-License-Identifier: MIT
// Prints straight code: one statement per line, each with a name of its own.
#pragma once

#include <string>
#include <vector>

#include "code.hpp"

namespace gradwalk::emit {

// Prints the statements of code without loops. `text_of` returns the text of an operand that is neither a number nor
// computed, and `assign` prints a statement and returns the name of its result. Returns the name of each store; a store
// of another number is that number.
template <class Dialect, class TextOf, class Assign>
std::vector<std::string> straight_text(const Code& code, std::size_t stores, const Dialect& dialect, TextOf text_of,
                                       Assign assign) {
  std::vector<std::string> names(code.nodes), made(stores);
  for (const Item& item : code.items) {
    const Statement& statement = item.statement;
    const std::string& pattern = code.patterns[statement.value.pattern];
    const std::string text = filled(pattern, [&](std::size_t k) {
      const Operand& operand = statement.value.operands[k][0];
      if (operand.array == Array::number) return dialect.literal(operand.number);
      return operand.array == Array::node ? names[operand.index] : text_of(operand);
    });
    const Operand& target = statement.target[0];
    std::string& name = target.array == Array::node ? names[target.index] : made[target.index];
    name = pattern == hole(0) ? text : assign(text);
  }
  return made;
}

}  // namespace gradwalk::emit
