// SPDX-License-Identifier: MIT
// Steps compute one number each, by the rules of ops.def.
//
// A recursion, such as a filter or a simulation, has few numbers that could be computed side by side; a program that is
// run on one row has none. A vector instruction for a single number takes longer than a step, and about ten times the
// memory: an Instruction has 156 bytes, a step of two operands 16.
//
// A list of steps is a list of words. Each step is a head, the address of its result, and the addresses of its
// operands. An address is an index into the numbers of a program, in the order of Addresses. The kernel that runs them
// is in steps-inl.hpp.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "ir.hpp"

namespace gradwalk::compiler {

// The numbers of a program: uniform places, constants, 1 and 0, the row gradients of the uniform places, and where a
// row is computed by steps, its varying places. 1 and 0 stand for operands that are not there.
class Addresses {
 public:
  explicit Addresses(const Instructions& program)
      : program_(program),
        one_(program.uniform_places + program.constants.size()),
        gradients_((one_ + 2 + alignment - 1) / alignment * alignment),
        varying_(gradients_ + (program.inputs == 0 ? program.parameters : program.uniform_places)) {}

  std::size_t constants() const { return program_.uniform_places; }
  std::size_t one() const { return one_; }
  std::size_t zero() const { return one_ + 1; }
  std::size_t gradients() const { return gradients_; }
  std::size_t varying() const { return varying_; }
  std::uint32_t of(Rate rate, std::uint32_t place) const {
    const std::array<std::size_t, 4> first{constants(), 0, varying_, gradients_};  // in the order of Rate
    return static_cast<std::uint32_t>(first[static_cast<std::size_t>(rate)]) + place;
  }
  // Of the operand's i-th number; none where there is no operand.
  std::uint32_t operator()(const Operand& operand, std::uint32_t i) const {
    return operand.exists() ? of(operand.rate, program_.place(operand, i)) : none;
  }

 private:
  static constexpr std::size_t alignment = 16;

  const Instructions& program_;
  std::size_t one_, gradients_, varying_;
};

// The head of a step says what it computes, and how many words follow.
class StepHead {
 public:
  // The codes of sums. Their operands are: the start, where there is one ("more"); then for each term its two operands,
  // or ("scaled") its factor and its two operands.
  enum Code : std::uint32_t { product, product_more, two_products, sum, sum_more, scaled, scaled_more, sums_end };
  // Operands of a value: those of the rule. Of a local derivative: x, y where the rule is of two, the result where the
  // rule is not of three, and the gradient to multiply by.
  static constexpr std::uint32_t value(Op op) { return sums_end + 4 * static_cast<std::uint32_t>(op); }
  static constexpr std::uint32_t local(Op op, std::uint32_t by) { return value(op) + 1 + by; }

  explicit constexpr StepHead(std::uint32_t word) : word_(word) {}
  constexpr StepHead(std::uint32_t code, std::size_t words) : word_(code << 16 | static_cast<std::uint32_t>(words)) {}
  constexpr std::uint32_t word() const { return word_; }
  constexpr std::uint32_t code() const { return word_ >> 16; }
  constexpr std::uint32_t words() const { return word_ & 0xffff; }
  constexpr bool is_sum() const { return code() < sums_end; }
  constexpr bool has_start() const { return code() == product_more || code() == sum_more || code() == scaled_more; }
  constexpr bool has_factors() const { return code() == scaled || code() == scaled_more; }
  constexpr Op op() const { return static_cast<Op>((code() - sums_end) / 4); }
  constexpr bool is_local() const { return !is_sum() && (code() - sums_end) % 4 != 0; }
  constexpr std::uint32_t by() const { return (code() - sums_end) % 4 - 1; }

 private:
  std::uint32_t word_;
};
static_assert(StepHead::local(static_cast<Op>(0xff), 2) < 0x10000);

// Writes steps. An operand, factor or start that is `none` is not there; for operands and factors, the address of 1 is
// written.
class StepWriter {
 public:
  StepWriter(std::vector<std::uint32_t>& words, std::size_t one)
      : words_(words), one_(static_cast<std::uint32_t>(one)) {}

  void value(Op op, std::uint32_t out, std::span<const std::uint32_t> in);
  // `in`: x, y, z, the result and the gradient.
  void local(Op op, std::uint8_t by, std::uint32_t out, std::span<const std::uint32_t> in);
  // Terms, and then the sum that they are the terms of.
  void add_term(std::uint32_t factor, std::uint32_t a, std::uint32_t b) { terms_.push_back({factor, a, b}); }
  void sum(std::uint32_t out, std::uint32_t start);
  // All numbers of an instruction on rows.
  void add(const Instructions& program, const Addresses& at, const Instruction& one);

  std::size_t terms() const { return all_terms_; }  // of all sums so far

 private:
  struct Term {
    std::uint32_t factor, a, b;
  };
  void add_term(std::uint32_t out, std::uint32_t& start, const Term& term);  // of a sum of any length
  void write(std::uint32_t address) { words_.push_back(address == none ? one_ : address); }
  void add_numbers(const Instructions& program, const Addresses& at, const Instruction& one);
  void add_layer(const Instructions& program, const Addresses& at, const Instruction& layer);
  void add_outer(const Instructions& program, const Addresses& at, const Instruction& outer);

  std::vector<std::uint32_t>& words_;
  std::uint32_t one_;
  std::vector<Term> terms_;
  std::size_t all_terms_ = 0;
};

// Calls meet(head, the words that follow it) for each step.
template <class Meet> void each_step(std::span<const std::uint32_t> words, Meet meet) {
  for (std::size_t at = 0; at < words.size();) {
    const StepHead head(words[at]);
    meet(head, words.data() + at + 1);
    at += 1 + head.words();
  }
}

// What is varying, for one row.
struct RowSteps {
  std::vector<std::uint32_t> words;
  std::size_t forward = 0;  // words of the forward pass, which comes first
  std::size_t terms = 0;    // of all sums
  std::span<const std::uint32_t> forward_pass() const { return std::span(words).first(forward); }
  std::span<const std::uint32_t> backward_pass() const { return std::span(words).subspan(forward); }
};
RowSteps row_steps(const Instructions& program, bool for_inputs);

}  // namespace gradwalk::compiler
