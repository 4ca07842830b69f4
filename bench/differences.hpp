// SPDX-License-Identifier: MIT
// What a gradient must be, from the values of the function alone: central differences, (f(x + h) - f(x - h)) / 2h.
//
// A difference is good to about a millionth of itself where h suits the function, and to what rounding leaves of it:
// the function's own error, some 1e-14 of its value, over h. Of many inputs a sample is taken, evenly spread.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "cases.hpp"

namespace bench {

// `first` is the place of the first derivative among a case's results; h is an input's own step, or 1e-5 where none is
// given, times the input where that is above 1.
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
