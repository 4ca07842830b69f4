// SPDX-License-Identifier: MIT
// The end of schedule: instructions that one can do for two.
#include <algorithm>

#include "passes.hpp"

namespace gradwalk::compiler {
namespace {

// How many read each varying place.
std::vector<std::uint32_t> readers(const Instructions& all) {
  std::vector<std::uint32_t> count(all.varying_places);
  const auto read = [&](const Operand& operand, std::uint32_t numbers) {
    if (!operand.exists() || operand.domain != Domain::varying) return;
    for (std::uint32_t i = 0; i < numbers; ++i) ++count[all.place(operand, i)];
  };
  for (const Instruction& one : all.varying) {
    if (one.form == Instruction::Form::layer) {
      for (std::uint32_t c = 0; c < one.copies; ++c)
        for (std::uint32_t t = 0; t < one.depth; ++t) ++count[all.input(one, t, c)];
    } else {
      for (const Operand& operand : one.in) read(operand, one.count);
    }
    for (std::uint32_t t = one.begin; t < one.begin + one.terms; ++t) {
      read(all.factors[t].a, one.count);
      read(all.factors[t].b, one.count);
    }
  }
  for (const Instructions::Output& output : all.outputs)
    if (output.domain == Domain::varying) ++count[output.place];
  return count;
}

}  // namespace

// A layer whose outputs all go through relu, and nowhere else, does that itself.
void join_relus(Instructions& all) {
  const std::vector<std::uint32_t> count = readers(all);
  std::vector<std::uint32_t> layer_of(all.varying_places, none);
  for (std::uint32_t i = 0; i < all.varying.size(); ++i)
    if (all.varying[i].form == Instruction::Form::layer)
      std::fill_n(layer_of.begin() + all.varying[i].out, all.varying[i].outputs(), i);
  const auto join = [&](const Instruction& relu) {
    if (relu.form != Instruction::Form::function || relu.op != Op::relu) return false;
    const Operand& in = relu.in[0];
    if (in.table != none || (in.stride != 1 && relu.count > 1)) return false;
    // Whole layers, one after the other.
    std::uint32_t next = in.place;
    while (next < in.place + relu.count) {
      if (layer_of[next] == none) return false;
      const Instruction& layer = all.varying[layer_of[next]];
      if (layer.out != next || next + layer.outputs() > in.place + relu.count) return false;
      for (std::uint32_t i = 0; i < layer.outputs(); ++i)
        if (count[next + i] != 1) return false;
      next += layer.outputs();
    }
    for (next = in.place; next < in.place + relu.count;) {
      Instruction& layer = all.varying[layer_of[next]];
      next += layer.outputs();
      layer.relu = true;
      layer.out = relu.out + (layer.out - in.place);
    }
    return true;
  };
  std::vector<Instruction> left;
  std::vector<bool> joined;
  for (const Instruction& one : all.varying) joined.push_back(join(one));
  for (std::size_t i = 0; i < joined.size(); ++i)
    if (!joined[i]) left.push_back(all.varying[i]);
  all.varying = std::move(left);
}

}  // namespace gradwalk::compiler
