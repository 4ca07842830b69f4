// SPDX-License-Identifier: MIT
// run, of what is uniform: computed once a run, vectors along the groups of the program, and step by step where there
// is little to put side by side.
#pragma once

#include <vector>

#include "buffer.hpp"
#include "first_writers.hpp"
#include "ir.hpp"
#include "kernels.hpp"
#include "steps.hpp"

namespace gradwalk::compiler {

template <class T> class UniformPart {
 public:
  // The program stays where it is. There is room for more numbers after those of its places.
  UniformPart(const Instructions& program, const detail::Kernels<T>& kernels, std::size_t more);
  ~UniformPart();

  T* values() { return values_.data(); }
  T* gradients() { return adjoints_.data(); }
  const T* values() const { return values_.data(); }
  const T* constants() const { return values_.data() + places_.constants(); }

  void plan(FirstWriters writers);  // those who wrote gradients before backward(); once, before the first run
  void forward();
  void zero_gradients();      // those that are only added to, before anything is
  void zero_all_gradients();  // and those of the room for more
  void backward();
  std::size_t bytes() const;

 private:
  struct Bound;     // an instruction with its addresses
  struct Stretch {  // vector instructions, then steps, from where the last stretch ended
    std::size_t bound_end = 0, steps_end = 0;
  };
  void bind(const Instructions& program, const Instruction& one);

  void forward(const Bound& one);
  void backward(const Bound& one, std::vector<T>& scratch);
  // Calls of_bound(instruction) and of_steps(begin, end) from the last to the first.
  template <class OfBound, class OfSteps> void each_reversed(const OfBound& of_bound, const OfSteps& of_steps);

  const detail::Kernels<T>& kernels_;
  Places places_;
  Buffer<T> values_, adjoints_;
  std::vector<Bound> bound_;
  Steps<T> steps_;
  std::vector<Stretch> stretches_;
  std::vector<Range> to_zero_;
};

}  // namespace gradwalk::compiler
