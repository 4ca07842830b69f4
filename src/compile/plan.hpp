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

template <class T> struct Plan {  // of a varying instruction
  typename detail::Kernels<T>::Value value = nullptr;
  std::array<typename detail::Kernels<T>::Local, 3> local{};
  bool one_call = false;                             // does for all its numbers and rows
  bool is_needed = false;                            // the first output depends on it
  bool stores_weights = false, stores_bias = false;  // of a layer: is first to write their gradients
  std::vector<bool> stores;  // whether what it passes on is the first to be written, operand by operand
};

template <class T> struct RowsPlan {
  std::vector<Plan<T>> plans;
  std::vector<Range> to_zero;  // varying places whose gradients are only added to
  std::vector<std::uint32_t> reduced,
      slot;                      // uniform places that get a sum over rows, and by place which of them it is
  bool weights_overlap = false;  // of layers that are not the same: their gradients are one thread's work
  FirstWriters uniform;          // after the rows: layers from the last to the first, then the sums
};

template <class T> RowsPlan<T> plan_rows(const Instructions& program, const detail::Kernels<T>& kernels);

}  // namespace gradwalk::compiler
