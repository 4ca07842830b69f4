// SPDX-License-Identifier: MIT
// Checks gradients by central differences, (f(x + h) - f(x - h)) / 2h.
//
// The error of a difference is about a millionth of it if h suits the function, plus the rounding error of the
// function, about 1e-14 of its value, divided by h. If there are many inputs, an even sample of them is checked.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "cases.hpp"

namespace bench {

// Returns the differences as known results. `first` is the index of the first derivative among the results of the case.
// h is the step of an input, 1e-5 by default, times max(1, |input|).
template <class Function> std::vector<Known> central_differences(const Function& f, std::vector<double> inputs,
                                                                 std::size_t first = 1,
                                                                 const std::vector<double>& steps = {}) {
  constexpr std::size_t sample = 40;
  std::vector<Known> differences;
  const double rounding = 1e-14 * std::abs(f(inputs));
  for (std::size_t i = 0; i < inputs.size(); i += (inputs.size() + sample - 1) / sample) {
    const double x = inputs[i], h = (steps.empty() ? 1e-5 : steps[i]) * std::max(1.0, std::abs(x));
    const double right = x + h, left = x - h;
    inputs[i] = right;
    const double above = f(inputs);
    inputs[i] = left;
    const double below = f(inputs);
    inputs[i] = x;
    const double difference = (above - below) / (right - left);
    differences.push_back({first + i, difference, 1e-6 * std::abs(difference) + rounding / h});
  }
  return differences;
}

}  // namespace bench
