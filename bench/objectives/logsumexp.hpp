// SPDX-License-Identifier: MIT
// log(exp(x_1) + ... + exp(x_n)). The largest x, m, prevents overflow: m + log(sum of exp(x_i - m)).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace bench {

template <class T> T logsumexp(const std::vector<T>& x) {
  using std::exp, std::log;
  T largest = x[0];
  for (std::size_t i = 1; i < x.size(); ++i) largest = std::max(largest, x[i]);
  T sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += exp(x[i] - largest);
  return log(sum) + largest;
}

}  // namespace bench
