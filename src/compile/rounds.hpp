// SPDX-License-Identifier: MIT
// rounds: finds the loops that a user's loop unrolled when it was recorded.
//
// A simulation of 252 steps is recorded as 252 copies of the same nodes. The pass finds the period, and for each
// operand of a round where it comes from. It reads Scalars, before simplify() flattens x = x + dx, which is carried
// from round to round, into one sum over all rounds. A loop is found by hashes and then verified operand by operand.
//
// The loop is over the steps: the nodes that depend on inputs, as they were recorded; in a graph without inputs, those
// that depend on parameters. Rounds that differ from the others, mostly the first and the last, stay outside of
// the loop.
#pragma once

#include "ir.hpp"

namespace gradwalk::compiler {

// Where a node of a round takes an operand from.
struct RoundOperand {
  enum class From : std::uint8_t {
    nothing,  // the op has fewer operands
    inside,   // a node of the same round; `index` is its place
    carried,  // a node of an earlier round; `index` is an index into Loop::carried
    same,     // the same node for all rounds, which is outside of the loop; `index` is its id
    even,     // leaves with evenly spaced ids: index + round * step
    listed,   // constants or uniform nodes that follow no rule: operand_of() of each round
  } from = From::nothing;
  std::uint32_t index = 0;
  std::int32_t step = 0;
};

// A value that later rounds, or the nodes after the loop, read: the node at `place` of the round `lag` rounds before.
struct Carried {
  std::uint32_t place = 0, lag = 1;
  Id initial = none;       // its node before the first round; none if no round reads it
  std::uint32_t next = 0;  // with lag 1: the place; otherwise the index of the carried value with lag - 1
};

struct Loop {
  std::uint32_t first = 0, period = 0, rounds = 0;    // in steps
  std::vector<std::array<RoundOperand, 3>> operands;  // for each place of a round
  std::vector<Carried> carried;                       // a value with a larger lag comes after that with the smaller
  std::uint32_t end() const { return first + period * rounds; }
};

struct Rounds {
  std::vector<Id> steps;
  std::vector<Loop> loops;  // in their order; they do not overlap
  Id node(const Loop& loop, std::uint32_t round, std::uint32_t place) const {
    return steps[loop.first + round * loop.period + place];
  }
};

// The operands of a node, of a sum or product in an order that is the same in all rounds: constants, uniform nodes,
// inputs, steps, and steps by what they compute. Ids depend on the recording, so their order can differ between rounds.
std::array<Id, 3> ordered_operands(const Scalars& scalars, Id id);

// Finds at most a few loops. Their numbers of rounds are multiples of `multiple`, so that a printer can unroll them;
// the rounds that are left stay outside. Finds none in a graph with picks, whose operands are tables. Takes time
// proportional to the number of nodes.
Rounds find_rounds(const Scalars& scalars, std::uint32_t multiple = 1);

}  // namespace gradwalk::compiler
