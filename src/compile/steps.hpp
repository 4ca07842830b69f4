// SPDX-License-Identifier: MIT
// run, of what comes in ones and twos: a number a step, by the rules of the table.
//
// A recursion, as a filter's or a simulation's, has nothing to put side by side, and neither has a program that is run
// on a row or two. There a vector instruction costs ten times the number it makes, and its addresses a hundred times
// the memory.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "ir.hpp"

namespace gradwalk::compiler {

// The numbers of a program: uniform places, then constants, then 1 and 0, which stand for operands that are not there.
// Where a row is taken by steps its varying places come after these: `more` numbers. After all of them come the row
// gradients of the uniform places.
class Places {
 public:
  Places(const Instructions& program, std::size_t more)
      : program_(program),
        constants_(program.uniform_places),
        one_(constants_ + program.constants.size()),
        gradients_((varying() + more + alignment - 1) / alignment * alignment) {}

  std::size_t constants() const { return constants_; }
  std::size_t one() const { return one_; }
  std::size_t zero() const { return one_ + 1; }
  std::size_t varying() const { return one_ + 2; }
  std::size_t gradients() const { return gradients_; }
  // Of the operand's i-th number.
  std::uint32_t operator()(const Operand& operand, std::uint32_t i, std::size_t absent) const {
    if (!operand.exists()) return static_cast<std::uint32_t>(absent);
    return of(operand.domain, program_.place(operand, i));
  }
  std::uint32_t of(Domain domain, std::uint32_t place) const {
    const std::array<std::size_t, 4> first{constants_, 0, varying(), gradients_};  // in the order of Domain
    return static_cast<std::uint32_t>(first[static_cast<std::size_t>(domain)]) + place;
  }

 private:
  static constexpr std::size_t alignment = 16;

  const Instructions& program_;
  std::size_t constants_, one_, gradients_;
};

template <class T> class Steps {
 public:
  // Whether the uniform instruction is done sooner as steps than as a vector.
  static bool takes(const Instructions& program, const Instruction& one);
  void append(const Instructions& program, const Places& places, const Instruction& one);
  std::size_t size() const { return steps_.size(); }
  std::size_t terms() const { return terms_.size(); }
  void shrink_to_fit() {
    steps_.shrink_to_fit();
    terms_.shrink_to_fit();
    locals_.shrink_to_fit();
  }
  std::size_t bytes() const {
    return steps_.size() * sizeof(Step) + terms_.size() * sizeof(Term) + locals_.size() * sizeof(locals_[0]);
  }

  // Steps begin ... end, of the numbers laid out as Places says. With skip_zeros, a term of a sum is 0 where factor * a
  // is.
  template <bool skip_zeros = false> void run(std::size_t begin, std::size_t end, T* values) const;

 private:
  static constexpr std::uint8_t no_local = 0xff;
  struct Step {
    Op op = Op::leaf;            // leaf: a sum
    std::uint8_t by = no_local;  // of a local step
    std::uint32_t out = 0;
    // The operands. Of a sum: where it starts, and its terms, from one to before another. Of a local step: the first is
    // the index of its operands.
    std::array<std::uint32_t, 3> in{};
  };
  struct Term {
    T factor;
    std::uint32_t a, b;
  };

  void append_outer(const Instructions& program, const Places& at, const Instruction& outer);
  void append_layer(const Instructions& program, const Places& at, const Instruction& layer);
  static T local_times(const Step& step, const std::array<T, 3>& in, T result, T gradient);
  void end_sum(std::uint32_t out, std::uint32_t start, std::size_t first_term);

  std::vector<Step> steps_;
  std::vector<Term> terms_;
  std::vector<std::array<std::uint32_t, local_operands>> locals_;
};

}  // namespace gradwalk::compiler
