// SPDX-License-Identifier: MIT
// run, of what comes in ones and twos: a number a step, by the rules of the table.
//
// A recursion, as a filter's or a simulation's, has nothing to put side by side, and neither has a program that is run
// on a row or two. There a vector instruction costs ten times the number it makes, and its addresses a hundred times
// the memory.
#pragma once

#include <cstdint>
#include <vector>

#include "first_writers.hpp"
#include "ir.hpp"

namespace gradwalk::compiler {

// The numbers of a program: uniform places, then constants, then 1 and 0, which stand for operands that are not there.
// Where a row is taken by steps its varying places come after these, then what its layers have before their relu.
class Places {
 public:
  explicit Places(const Instructions& program)
      : program_(program), constants_(program.uniform_places), one_(constants_ + program.constants.size()) {}

  std::size_t constants() const { return constants_; }
  std::size_t one() const { return one_; }
  std::size_t zero() const { return one_ + 1; }
  std::size_t varying() const { return one_ + 2; }
  std::size_t before_relu() const { return varying() + program_.varying_places; }
  std::size_t size() const { return varying(); }
  // Of the operand's i-th number.
  std::uint32_t operator()(const Operand& operand, std::uint32_t i, std::size_t absent) const {
    if (!operand.exists()) return static_cast<std::uint32_t>(absent);
    return of(operand.domain, program_.place(operand, i));
  }
  std::uint32_t of(Domain domain, std::uint32_t place) const {
    const std::size_t first = domain == Domain::constant ? constants_ : domain == Domain::varying ? varying() : 0;
    return static_cast<std::uint32_t>(first) + place;
  }

 private:
  const Instructions& program_;
  std::size_t constants_, one_;
};

template <class T> class Steps {
 public:
  // Whether the uniform instruction is done sooner as steps than as a vector.
  static bool takes(const Instructions& program, const Instruction& one);
  void append(const Instructions& program, const Instruction& one);
  std::size_t size() const { return steps_.size(); }
  std::size_t terms() const { return terms_.size(); }
  std::size_t places() const { return before_relu_; }  // that were needed before relus
  std::size_t bytes() const { return steps_.size() * sizeof(Step) + terms_.size() * sizeof(Term); }

  // Steps begin ... end, of the numbers and their gradients, laid out as Places says.
  void forward(std::size_t begin, std::size_t end, T* values) const;
  void backward(std::size_t begin, std::size_t end, const T* values, T* gradients) const;
  void plan(std::size_t begin, std::size_t end, FirstWriters& writers) const;  // tells of what backward() adds to

 private:
  struct Step {
    Op op = Op::leaf;              // leaf: a sum
    std::array<bool, 3> wanted{};  // of an operand: its gradient
    std::uint32_t out = 0;
    std::array<std::uint32_t, 3> in{};  // operands; of a sum, where it starts and its terms, from one to before another
  };
  struct Term {
    T factor;
    std::uint32_t a, b;
  };

  void append_layer(const Instructions& program, const Instruction& layer);
  void end_sum(std::uint32_t out, std::uint32_t start, std::size_t first_term);

  std::vector<Step> steps_;
  std::vector<Term> terms_;
  std::size_t before_relu_ = 0;
};

}  // namespace gradwalk::compiler
