// SPDX-License-Identifier: MIT
// Strips: uniform instructions on long vectors that are run piece by piece.
//
// A sum over a hundred thousand pairs is a list of instructions on vectors of a hundred thousand numbers. Run one after
// the other, each instruction reads from memory what the one before it wrote there. Run on the first thousand numbers
// of all vectors, then on the next thousand, they find it in the cache. A strip is a list of instructions for which
// both orders give the same numbers.
#pragma once

#include <vector>

#include "ir.hpp"

namespace gradwalk::compiler {

struct StripLimits {
  std::uint32_t is_long = 256;                // shorter vectors are in no strip
  std::size_t cached = std::size_t{1} << 15;  // numbers that fit the cache
  std::uint32_t unit = 64, most = 1024;       // of numbers in a piece
};

struct Strip {
  std::uint32_t instructions = 0;  // 0: no strip begins here
  std::uint32_t piece = 0;         // how many numbers of each vector are computed at a time
};

// Returns the strip that begins at each instruction of a list of uniform instructions.
std::vector<Strip> find_strips(const Instructions& program, const std::vector<Instruction>& list,
                               const StripLimits& limits = {});

constexpr std::size_t operands_of(Instruction::Form form) {
  return form == Instruction::Form::function ? 3 : form == Instruction::Form::local ? local_operands : 2;
}
inline bool has_terms(const Instruction& one) {
  return one.form == Instruction::Form::sums || one.form == Instruction::Form::dot || one.terms > 0;
}

// Calls meet(operand, count) for all operands of an instruction on uniform numbers, or of a function or sum on rows,
// also for those that do not exist.
template <class Meet> void each_operand(const Instructions& program, const Instruction& one, Meet meet) {
  if (one.form == Instruction::Form::steps) return;
  if (!has_terms(one)) {
    for (std::size_t k = 0; k < operands_of(one.form); ++k) meet(one.in[k], one.count);
    return;
  }
  meet(one.form == Instruction::Form::shares ? one.in[1] : one.start, one.count);
  for (std::uint32_t t = one.begin; t < one.begin + one.terms; ++t) {
    const Factors& factors = program.factors[t];
    const std::uint32_t count = one.form == Instruction::Form::dot ? factors.count : one.count;
    for (const Operand* operand : {&factors.factor, &factors.a, &factors.b}) meet(*operand, count);
  }
}

}  // namespace gradwalk::compiler
