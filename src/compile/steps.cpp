// SPDX-License-Identifier: MIT
#include "steps.hpp"

#include <algorithm>

#include "gradwalk/ops.hpp"

namespace gradwalk::compiler {

void StepWriter::value(Op op, std::uint32_t out, std::span<const std::uint32_t> in) {
  const auto operands = static_cast<std::size_t>(info(op).operands);
  words_.push_back(StepHead(StepHead::value(op), 1 + operands).word());
  words_.push_back(out);
  for (std::size_t k = 0; k < operands; ++k) write(in[k]);
}

void StepWriter::local(Op op, std::uint8_t by, std::uint32_t out, std::span<const std::uint32_t> in) {
  const int operands = info(op).operands;
  words_.push_back(StepHead(StepHead::local(op, by), operands == 1 ? 4 : operands == 2 ? 5 : 3).word());
  words_.push_back(out);
  write(in[0]);
  if (operands == 2) write(in[1]);
  if (operands < 3) write(in[3]);
  write(in[4]);
}

// The head of a step counts its words in 16 bits, so a long sum is several steps.
void StepWriter::add_term(std::uint32_t out, std::uint32_t& start, const Term& term) {
  constexpr std::size_t most = 20'000;
  static_assert(3 * most + 2 < 0x10000);
  if (terms_.size() == most) {
    sum(out, start);
    start = out;
  }
  terms_.push_back(term);
}

void StepWriter::sum(std::uint32_t out, std::uint32_t start) {
  const bool has_start = start != none, has_factors = std::any_of(terms_.begin(), terms_.end(),
                                                                  [](const Term& term) { return term.factor != none; });
  std::uint32_t code = StepHead::sum;
  if (has_factors)
    code = StepHead::scaled;
  else if (terms_.size() == 1)
    code = StepHead::product;
  if (has_start) ++code;
  if (code == StepHead::sum && terms_.size() == 2) code = StepHead::two_products;
  const std::size_t head = words_.size();
  words_.push_back(0);
  words_.push_back(out);
  if (has_start) words_.push_back(start);
  for (const Term& term : terms_) {
    if (has_factors) write(term.factor);
    write(term.a);
    write(term.b);
  }
  words_[head] = StepHead(code, words_.size() - head - 1).word();
  all_terms_ += terms_.size();
  terms_.clear();
}

void StepWriter::add_layer(const Instructions& program, const Addresses& at, const Instruction& layer) {
  for (std::uint32_t i = 0; i < layer.count; ++i)
    for (std::uint32_t c = 0; c < layer.copies; ++c) {
      const std::uint32_t out = at.of(Rate::varying, layer.out + i * layer.copies + c);
      std::uint32_t start = layer.in[2].exists() ? at.of(layer.in[2].rate, Instructions::bias(layer, i, c))
                                                 : static_cast<std::uint32_t>(at.zero());
      for (std::uint32_t t = 0; t < layer.depth; ++t)
        add_term(out, start,
                 {none, at.of(Rate::varying, program.input(layer, t, c)),
                  at.of(layer.in[0].rate, layer.in[0].place + i * layer.row + t * layer.column)});
      sum(out, start);
      if (layer.relu) value(Op::relu, out, {&out, 1});
    }
}

// Sums that start with what is there already.
void StepWriter::add_outer(const Instructions& program, const Addresses& at, const Instruction& outer) {
  const auto gradient = [&](std::uint32_t i, std::uint32_t c) {
    return at.of(Rate::varying, outer.in[3].place + i * outer.copies + c);
  };
  for (std::uint32_t i = 0; i < outer.count; ++i) {
    for (std::uint32_t t = 0; outer.in[0].rate == Rate::uniform && t < outer.depth; ++t) {
      const std::uint32_t out = at.of(Rate::row_gradient, outer.in[0].place + i * outer.row + t * outer.column);
      std::uint32_t start = out;
      for (std::uint32_t c = 0; c < outer.copies; ++c)
        add_term(out, start, {none, gradient(i, c), at.of(Rate::varying, program.input(outer, t, c))});
      sum(out, start);
    }
    for (std::uint32_t c = 0; outer.in[2].exists() && outer.in[2].rate == Rate::uniform && c < outer.copies; ++c) {
      add_term(none, gradient(i, c), none);
      const std::uint32_t out = at.of(Rate::row_gradient, Instructions::bias(outer, i, c));
      sum(out, out);
    }
  }
}

void StepWriter::add_numbers(const Instructions& program, const Addresses& at, const Instruction& one) {
  const bool is_row_sum = one.form == Instruction::Form::row_sums;
  for (std::uint32_t i = 0; i < one.count; ++i) {
    const std::uint32_t out =
        is_row_sum ? at.of(Rate::row_gradient, program.place(one.targets, i)) : at.of(one.rate, one.out + i);
    if (one.form == Instruction::Form::function || one.form == Instruction::Form::local) {
      std::array<std::uint32_t, local_operands> in;
      for (std::size_t k = 0; k < in.size(); ++k) in[k] = at(one.in[k], i);
      one.form == Instruction::Form::function ? value(one.op, out, in) : local(one.op, one.by, out, in);
      continue;
    }
    std::uint32_t start = is_row_sum ? out : at(one.start, i);
    for (std::uint32_t t = one.begin; t < one.begin + one.terms; ++t) {
      const Factors& factors = program.factors[t];
      add_term(out, start, {at(factors.factor, i), at(factors.a, i), at(factors.b, i)});
    }
    sum(out, start);
  }
}

void StepWriter::add(const Instructions& program, const Addresses& at, const Instruction& one) {
  switch (one.form) {
    case Instruction::Form::function:
    case Instruction::Form::local:
    case Instruction::Form::sums:
    case Instruction::Form::row_sums: return add_numbers(program, at, one);
    case Instruction::Form::layer: return add_layer(program, at, one);
    case Instruction::Form::outer: return add_outer(program, at, one);
    case Instruction::Form::dot:
    case Instruction::Form::extreme:
    case Instruction::Form::shares:
    case Instruction::Form::steps: break;  // of uniform numbers
    case Instruction::Form::pick:
    case Instruction::Form::scatter: break;  // Programs with picks run their rows in blocks.
  }
}

RowSteps row_steps(const Instructions& program, bool for_inputs) {
  const Addresses at(program);
  RowSteps steps;
  StepWriter writer(steps.words, at.one());
  for (const Instruction& one : program.varying) writer.add(program, at, one);
  steps.forward = steps.words.size();
  for (const Instruction& one : program.varying_backward)
    if (for_inputs || !one.for_inputs) writer.add(program, at, one);
  for (const Instruction& one : program.outers) writer.add(program, at, one);
  steps.words.shrink_to_fit();
  steps.terms = writer.terms();
  return steps;
}

}  // namespace gradwalk::compiler
