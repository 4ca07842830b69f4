// SPDX-License-Identifier: MIT
// Repeats: parts of a list of uniform instructions that do the same again and again, as the steps of a recursion do.
//
// Each step of a recursion was recorded, so its instructions are in the list once for each step. If the addresses of
// every operand grow by the same amount from step to step, one copy of the instructions in a loop can run all steps.
// That is far shorter, so it stays in the processor's cache for instructions.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "ir.hpp"
#include "steps.hpp"

namespace gradwalk::compiler {

// A vector instruction, or one step of an instruction that is a list of steps.
struct Unit {
  std::uint32_t instruction;  // in the list
  std::uint32_t word = none;  // of a step: its head
  bool is_step() const { return word != none; }
};

struct Repeat {
  std::size_t begin = 0;   // its first unit
  std::size_t period = 0;  // units
  std::size_t rounds = 0;
  struct Moving {
    std::uint32_t address;  // in the first round
    std::int32_t by;        // how much it grows from round to round
  };
  std::vector<Moving> moving;  // the addresses that are not the same in every round
};

constexpr std::size_t most_strides = 4;  // different values of Moving::by in one repeat; each needs a register

// The units of a list of instructions; without a list, all the steps.
std::vector<Unit> units_of(std::span<const Instruction> list, std::span<const std::uint32_t> steps);

// is_written says whether machine code has the addresses of a unit; all others are calls of a kernel.
std::vector<Repeat> find_repeats(const Instructions& program, std::span<const Instruction> list,
                                 std::span<const std::uint32_t> steps, std::span<const Unit> units,
                                 const std::function<bool(const Unit&)>& is_written);

}  // namespace gradwalk::compiler
