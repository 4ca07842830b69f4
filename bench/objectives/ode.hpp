// SPDX-License-Identifier: MIT
// The solution of a linear system of differential equations, by the classical Runge-Kutta method of order four:
//   y_0' = x_0, y_i' = x_i y_(i-1), from y = 0 at time 0 to time 2 in equal steps; the result is the last y.
#pragma once

#include <cstddef>
#include <vector>

namespace bench {

template <class T> void slope(const std::vector<T>& x, const std::vector<T>& y, std::vector<T>& result) {
  result[0] = x[0];
  for (std::size_t i = 1; i < x.size(); ++i) result[i] = x[i] * y[i - 1];
}

template <class T> std::vector<T> ode_end(const std::vector<T>& x, int steps) {
  const std::size_t n = x.size();
  const T h = T(2) / T(steps);
  std::vector<T> y(n), k1(n), k2(n), k3(n), k4(n), middle(n);
  for (int step = 0; step < steps; ++step) {
    slope(x, y, k1);
    for (std::size_t i = 0; i < n; ++i) middle[i] = y[i] + h * k1[i] / T(2);
    slope(x, middle, k2);
    for (std::size_t i = 0; i < n; ++i) middle[i] = y[i] + h * k2[i] / T(2);
    slope(x, middle, k3);
    for (std::size_t i = 0; i < n; ++i) middle[i] = y[i] + h * k3[i];
    slope(x, middle, k4);
    for (std::size_t i = 0; i < n; ++i) y[i] += h * (k1[i] + T(2) * k2[i] + T(2) * k3[i] + k4[i]) / T(6);
  }
  return y;
}

template <class T> T ode(const std::vector<T>& x, int steps) { return ode_end(x, steps).back(); }

}  // namespace bench
