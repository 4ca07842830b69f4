// SPDX-License-Identifier: MIT
// run, of what is uniform: computed once a run, vectors along the groups of the program.
#pragma once

#include <vector>

#include "buffer.hpp"
#include "first_writers.hpp"
#include "ir.hpp"
#include "kernels.hpp"

namespace gradwalk::compiler {

template <class T> class UniformPart {
 public:
  UniformPart(const Instructions& program, const detail::Kernels<T>& kernels);  // the program stays where it is
  ~UniformPart();

  T* values() { return values_.data(); }
  T* gradients() { return adjoints_.data(); }
  const T* values() const { return values_.data(); }
  const T* constants() const { return constants_.data(); }

  void plan(FirstWriters writers);  // those who wrote gradients before backward(); once, before the first run
  void forward();
  void zero_gradients();  // those that are only added to, before anything is
  void backward();
  std::size_t bytes() const;

 private:
  struct Bound;  // an instruction with its addresses
  void bind(const Instructions& program, const Instruction& one);

  const detail::Kernels<T>& kernels_;
  Buffer<T> values_, adjoints_, constants_;
  std::vector<Bound> bound_;
  std::vector<Range> to_zero_;
};

}  // namespace gradwalk::compiler
