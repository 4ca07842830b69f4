// SPDX-License-Identifier: MIT
// Pseudorandom numbers for the cases, the same in every run.
#pragma once

#include <cstddef>
#include <random>
#include <vector>

namespace bench {

class Numbers {
 public:
  double uniform(double low, double high) {
    return low + (high - low) * static_cast<double>(generator_() >> 11) * 0x1p-53;
  }
  double normal() {  // approximately: the sum of twelve uniform numbers
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += uniform(0, 1);
    return sum;
  }
  std::vector<double> uniform(std::size_t count, double low, double high) {
    std::vector<double> numbers(count);
    for (double& number : numbers) number = uniform(low, high);
    return numbers;
  }
  std::vector<double> normal(std::size_t count) {
    std::vector<double> numbers(count);
    for (double& number : numbers) number = normal();
    return numbers;
  }

 private:
  std::mt19937_64 generator_{1};
};

}  // namespace bench
