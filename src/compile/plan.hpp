// SPDX-License-Identifier: MIT
// What the passes over rows need to know and can be worked out once: which kernels, who writes a gradient first, and
// which uniform numbers get sums over rows.
#pragma once

#include <array>
#include <vector>

#include "first_writers.hpp"
#include "ir.hpp"
#include "kernels.hpp"

namespace gradwalk::compiler {

// Numbers of an instruction that one call of a kernel can do: each operand goes on by the same step from one to the
// next. Of a function, and where it is joined, they lie side by side: all their rows are one vector.
struct Run {
  std::uint32_t first = 0, count = 0;
  bool joined = false;       // forwards
  bool joined_back = false;  // and backwards: what it passes on to lies apart, too
};

// Where an operand of a run lies for its first number, and how much further on for each after it.
struct RunOperand {
  Domain domain = Domain::constant;
  std::uint32_t place = none;  // none: there is no operand
  std::int32_t step = 0;
};
struct RunTerm {
  RunOperand factor, a, b;
  bool stores_a = false, stores_b = false;  // what is passed on is the first to be written there
};

// Copies of a layer whose inputs lie side by side.
struct Stretch {
  std::uint32_t first = 0, count = 0;
  std::uint32_t stride = 0;  // from input to input; 0: as the table says
  bool only_inputs = true;   // of the program: nobody may want their gradients
  bool direct = false;       // gradients of its inputs can be made where they lie,
  bool stores = false;       // and are the first there
};

template <class T> struct Plan {  // of a varying instruction
  typename detail::Kernels<T>::Value value = nullptr;
  std::array<typename detail::Kernels<T>::Local, 3> local{};
  bool is_needed = false;                            // the first output depends on it
  bool stores_weights = false, stores_bias = false;  // of a layer: is first to write their gradients
  std::vector<Run> runs;                             // of functions and sums
  std::vector<Stretch> stretches;                    // of layers
  std::vector<RunOperand> starts;                    // of sums, one a run
  std::vector<RunTerm> terms;                        // of sums, run by run
  std::vector<bool> stores;  // of a function: whether what it passes on is the first to be written, run by run
};

template <class T> struct RowsPlan {
  std::vector<Plan<T>> plans;
  std::vector<Range> to_zero;  // varying places whose gradients are only added to
  std::vector<std::uint32_t> reduced,
      slot;                            // uniform places that get a sum over rows, and by place which of them it is
  bool weights_overlap = false;        // of layers that are not the same: their gradients are one thread's work
  std::vector<Range> uniform_to_zero;  // uniform places whose gradients rows only add to, and the parameters
};

template <class T> RowsPlan<T> plan_rows(const Instructions& program, const detail::Kernels<T>& kernels);

}  // namespace gradwalk::compiler
