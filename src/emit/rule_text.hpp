// SPDX-License-Identifier: MIT
// The rules of ops.def as trees, parsed from the text of the op table, for printers of other languages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gradwalk/ops.hpp"

namespace gradwalk::emit {

// A rule as a tree. Children come before their parents, so the root is the last node.
struct RuleTree {
  enum class Kind : std::uint8_t {
    number,    // a literal
    operand,   // x, y, c or r
    call,      // name(children...)
    binary,    // a child, an operator in `name`, a child
    negative,  // minus a child
    select,    // three children: if the first holds the second, otherwise the third
  };
  // The meaning of an operand's name: the operands of an op are 0 ... 2, in the order of its nodes; r is 3.
  static constexpr std::size_t result = 3;
  struct Node {
    Kind kind;
    std::string_view name = {};
    double number = 0;
    std::size_t operand = 0;
    std::vector<std::size_t> children = {};
  };
  std::vector<Node> nodes;
  const Node& root() const { return nodes.back(); }
};

// Parses a rule of an op: its value, dx or dy. Throws an Error for text that is not a rule.
RuleTree parse_rule(Op op, std::string_view text);

}  // namespace gradwalk::emit
