// SPDX-License-Identifier: MIT
// Least squares: the distance between the polynomial with coefficients x and the sign of t, at n points t from -1 to 1:
//   half the sum over t of (sign(t) - sum over j of x_j t^j)^2.
#pragma once

#include <cstddef>
#include <vector>

namespace bench {

template <class T> T llsq(const std::vector<T>& x, std::size_t n) {
  T sum = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double place = -1.0 + 2.0 * static_cast<double>(i) / static_cast<double>(n - 1);
    const T t = place;
    T residual = place > 0 ? 1.0 : place < 0 ? -1.0 : 0.0;
    T power = 1;
    for (std::size_t j = 0; j < x.size(); ++j) {
      residual -= x[j] * power;
      power *= t;
    }
    sum += residual * residual;
  }
  return sum / T(2);
}

}  // namespace bench
