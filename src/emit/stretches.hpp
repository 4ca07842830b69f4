// SPDX-License-Identifier: MIT
// The vector instructions of compile() as stretches: neighbours that compute as many numbers are one loop, whose body
// is a small function of the numbers that it reads. Layers stay apart.
#pragma once

#include <set>
#include <span>
#include <variant>
#include <vector>

#include "compile/ir.hpp"

namespace gradwalk::emit {

// One number for each iteration of a loop: of constants, of uniform numbers, of a row, or of what rows have added up.
struct Column {
  compiler::Rate rate = compiler::Rate::constant;
  std::vector<std::uint32_t> places;
  auto operator<=>(const Column&) const = default;
};

// A loop that computes numbers of one rate.
struct Stretch {
  struct Store {
    std::uint32_t first;  // the place of the first iteration; those of the others follow it
    compiler::Id node;
  };
  std::uint32_t count = 0;
  compiler::Rate rate = compiler::Rate::varying;
  compiler::Terms terms;       // the body; its parameters are the leaves
  std::vector<Column> leaves;  // of the body
  std::vector<Store> stores;   // what the body computes
};
// A sum over the members of one instruction.
struct Dot {
  compiler::Instruction instruction;
};
struct Layer {
  compiler::Instruction instruction;
  std::uint32_t splits = 1;  // parts of the inputs, whose products are computed side by side
  std::uint32_t sums = 0;    // where the sums of the second part begin; those of the next parts follow
};
using Piece = std::variant<Stretch, Layer, Dot>;

// How instructions are read.
struct StretchOptions {
  bool is_backward = false;     // whether the instructions are of the backward pass
  bool for_inputs = false;      // whether gradients of inputs are wanted
  std::uint32_t first_sum = 0;  // the first place for sums over rows, one per sum
};

// Returns the pieces of a list of instructions, in order. Sums over rows become sums of one row, which are put from
// first_sum on, in the order of the list.
std::vector<Piece> pieces_of(const compiler::Instructions& program, std::span<const compiler::Instruction> list,
                             const StretchOptions& options);

// Returns the places of an operand's numbers.
Column column_of(const compiler::Instructions& program, const compiler::Operand& operand, std::uint32_t count);

}  // namespace gradwalk::emit
