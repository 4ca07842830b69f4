// SPDX-License-Identifier: MIT
// What the instructions on rows need to know and can be worked out once: which kernels, which of their numbers one call
// of a kernel can do, and which uniform numbers get sums over rows.
#pragma once

#include <vector>

#include "first_writers.hpp"
#include "ir.hpp"
#include "kernels.hpp"

namespace gradwalk::compiler {

// Numbers of an instruction that one call of a kernel can do: each operand goes on by the same step from one to the
// next. Of a function, and where it is joined, they lie side by side: all their rows are one vector.
struct Run {
  std::uint32_t first = 0, count = 0;
  bool joined = false;
};

// Where an operand of a run lies for its first number, and how much further on for each after it.
struct RunOperand {
  Rate rate = Rate::constant;
  std::uint32_t place = none;  // none: there is no operand
  std::int32_t step = 0;
};
struct RunTerm {
  RunOperand factor, a, b;
};

// Copies of a layer whose inputs lie side by side.
struct Stretch {
  std::uint32_t first = 0, count = 0;
  std::uint32_t stride = 0;  // from input to input; 0: as the table says
};

template <class T> struct Plan {  // of an instruction on rows
  typename detail::Kernels<T>::Value value = nullptr;
  typename detail::Kernels<T>::Local local = nullptr;
  std::vector<Run> runs;                             // of functions, local derivatives and sums
  std::vector<Stretch> stretches;                    // of layers and outer products
  std::vector<RunOperand> starts;                    // of sums, one per run
  std::vector<RunTerm> terms;                        // of sums, run by run
  bool stores_weights = false, stores_bias = false;  // of an outer product: it is the first to write these gradients
};

template <class T> struct RowsPlan {
  std::vector<Plan<T>> varying, backward, outers;
  // Uniform places that get a sum over rows, and for each place which of them it is.
  std::vector<std::uint32_t> reduced, slot;
  std::size_t work = 0;          // floating-point operations of a row, about, forward and backward
  bool weights_overlap = false;  // of layers that are not the same: their gradients are one thread's work
  // Row gradients to set to 0 before a run: all, and those that no outer product writes first.
  std::vector<Range> row_gradients, added_to;
};

template <class T> RowsPlan<T> plan_rows(const Instructions& program, const detail::Kernels<T>& kernels);

}  // namespace gradwalk::compiler
