// SPDX-License-Identifier: MIT
// A recorded graph cut into parts, each a small function of its own: what is computed before a loop, one round of it,
// what is computed after it.
//
// The leaves of a part are all differentiated in the same way, so one backward pass serves parameters, inputs and the
// numbers that other parts compute.
#pragma once

#include <compare>
#include <map>

#include "compile/ir.hpp"
#include "compile/rounds.hpp"

namespace gradwalk::emit {

// A number that a part is given.
struct Leaf {
  enum class From : std::uint8_t {
    front,         // a uniform number; `index` is an index into Cut::fronts
    input,         // an input of the row
    value,         // a node that another section computes; `index` is its id
    carried,       // of a round: an index into Loop::carried
    round_front,   // of a round: the front index + step * round
    round_input,   // of a round: the input index + step * round
    round_number,  // of a round: an entry of a table of constants; `index` is an index into Cut::tables
  } from = From::front;
  std::uint32_t index = 0;
  std::int32_t step = 0;
  auto operator<=>(const Leaf&) const = default;
  // Whether a gradient with respect to it can be wanted.
  bool is_number() const { return from == From::round_number; }
};

struct Part {
  compiler::Terms terms;  // the forward pass; its parameters are the leaves
  std::vector<Leaf> leaves;
};

// Some steps in a row, or all rounds of a loop. The sections of a graph follow one another; the last one computes its
// outputs.
struct Section {
  const compiler::Loop* loop = nullptr;
  std::vector<compiler::Id> outputs;  // of steps: what later sections read; of the last section: the graph's outputs
  std::vector<std::uint32_t> next;    // of a loop: for each output of its part, the carried value that it becomes
  Part part;
};

struct Cut {
  compiler::Scalars scalars;
  compiler::Rounds rounds;
  bool fronts_are_parameters = false;       // fronts are all parameters, in order
  std::vector<compiler::Id> fronts;         // uniform nodes that sections read; a node can occur several times
  std::vector<std::vector<double>> tables;  // constants that differ from round to round
  std::vector<Section> sections;
  Part uniform;  // computes the fronts from the parameters
  bool has_round_fronts = false;
};

// Cuts a graph at its loops, or makes one section of it if `has_loops` is false.
Cut cut_at_loops(compiler::Scalars scalars, bool has_loops, std::uint32_t multiple);

}  // namespace gradwalk::emit
