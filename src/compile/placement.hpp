// SPDX-License-Identifier: MIT
// The first half of schedule: gives every number its place. The members of a group lie side by side, in the order of
// their first operands, so that operands lie side by side as well. A varying place is used again after the last
// instruction, of either pass, that reads it.
#pragma once

#include <string>
#include <vector>

#include "gradwalk/error.hpp"
#include "operand_writer.hpp"
#include "passes.hpp"

namespace gradwalk::compiler {

struct Placement {
  List<Place> places;                    // of each node
  std::vector<std::vector<Id>> members;  // of each group, in the order of their places
  std::vector<bool> has_relu;            // for each group, or empty: a layer whose members are the relus of its sums
  // For each layer with a backward pass: where the gradients of its outputs lie side by side, and whether they have to
  // be copied there.
  std::vector<std::uint32_t> gradients;
  std::vector<bool> are_gradients_copied;
  // In builds that verify, while instructions are written: for each varying place, which node's number it has.
  std::vector<Id> holders;

  Place operator[](Id id) const {
    if (id == none) return {};
    if (verifies && !holders.empty() && places[id].rate == Rate::varying && holders[places[id].at] != id)
      throw Error("compile, in schedule", "numbers that are still there when they are read",
                  "node " + std::to_string(id), "report this: it is a mistake of gradwalk's");
    return places[id];
  }
  void hold(Id id) {
    if (!holders.empty() && places[id].rate == Rate::varying) holders[places[id].at] = id;
  }
};
// Asks for the memory of a member that a loop over members reads a little later. Such loops mostly wait for memory.
inline void expect(const Terms& terms, std::span<const Id> members, std::size_t i) {
  constexpr std::size_t ahead = 8;
  if (i + 2 * ahead >= members.size()) return;
  __builtin_prefetch(&terms.nodes[members[i + 2 * ahead]]);
  const Node& next = terms.nodes[members[i + ahead]];
  if (next.has_products())
    __builtin_prefetch(terms.products.data() + next.begin);
  else
    __builtin_prefetch(terms.operands.data() + next.begin);
}

// Counts the places in the program, and writes its constants.
Placement place_numbers(const Terms& terms, const Groups& groups, Instructions& program, OperandWriter& operands);

}  // namespace gradwalk::compiler
