// SPDX-License-Identifier: MIT
// More objectives, each a few lines in one common style of code: simulation, filters, linear algebra, recursion,
// branches, structs of numbers, standard algorithms. They test that no style is much slower than the others. The
// gradient is with respect to the inputs.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

namespace bench {

// The value of call options by simulation: the mean over draws z of the sum over assets of
//   exp(-r) max(s exp(r - v^2 / 2 + v z) - k, 0).  Inputs: r, then price s, volatility v and strike k of each asset.
template <class T> T options(const std::vector<T>& x, const std::vector<double>& draws) {
  using std::exp, std::max;
  const T& rate = x[0];
  T total = 0;
  for (double z : draws) {
    T portfolio = 0;
    for (std::size_t i = 1; i + 2 < x.size(); i += 3) {
      const T &price = x[i], &volatility = x[i + 1], &strike = x[i + 2];
      const T end = price * exp(rate - 0.5 * volatility * volatility + volatility * z);
      portfolio += max(T(end - strike), T(0));
    }
    total += exp(-rate) * portfolio;
  }
  return total / static_cast<double>(draws.size());
}

// The log-likelihood of measurements by a Kalman filter that estimates position p, velocity v and their covariance:
//   sum of -(log(s) + e^2 / s) / 2 with e = measured - p and s its variance.
// Inputs: p and v at the start, their variance per step, and the variance of a measurement.
template <class T> T kalman(const std::vector<T>& x, const std::vector<double>& measured) {
  using std::log;
  const T wander_p = x[2], wander_v = x[3], noise = x[4];
  T p = x[0], v = x[1];
  T pp = 1, pv = 0, vv = 1;
  T total = 0;
  for (double m : measured) {
    p += v;
    pp += 2.0 * pv + vv + wander_p;
    pv += vv;
    vv += wander_v;
    const T error = m - p, variance = pp + noise;
    total -= 0.5 * (log(variance) + error * error / variance);
    const T gain_p = pp / variance, gain_v = pv / variance;
    p += gain_p * error;
    v += gain_v * error;
    vv -= gain_v * pv;
    pv *= 1.0 - gain_p;
    pp *= 1.0 - gain_p;
  }
  return total;
}

// The energy of bodies that attract each other: minus the sum over pairs of m_i m_j / |x_i - x_j|.
// Inputs: mass and three coordinates of each body.
template <class T> T attraction(const std::vector<T>& x) {
  using std::sqrt;
  T energy = 0;
  for (std::size_t i = 0; i < x.size(); i += 4) {
    for (std::size_t j = 0; j < i; j += 4) {
      T square = 0;
      for (std::size_t k = 1; k < 4; ++k) {
        const T difference = x[i + k] - x[j + k];
        square += difference * difference;
      }
      energy -= x[i] * x[j] / sqrt(square);
    }
  }
  return energy;
}

// The trace of the inverse of an n by n matrix, by Gauss-Jordan elimination with exchange of rows.
template <class T> T inverse_trace(const std::vector<T>& x, std::size_t n) {
  using std::abs;
  std::vector<std::vector<T>> a(n, std::vector<T>(2 * n));
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) a[i][j] = x[i * n + j];
    a[i][n + i] = 1;
  }
  for (std::size_t column = 0; column < n; ++column) {
    std::size_t pivot = column;
    for (std::size_t i = column + 1; i < n; ++i) {
      if (abs(a[i][column]) > abs(a[pivot][column])) pivot = i;
    }
    std::swap(a[column], a[pivot]);
    const T divisor = a[column][column];
    for (T& entry : a[column]) entry /= divisor;
    for (std::size_t i = 0; i < n; ++i) {
      if (i == column) continue;
      const T factor = a[i][column];
      for (std::size_t j = column; j < 2 * n; ++j) a[i][j] -= factor * a[column][j];
    }
  }
  T trace = 0;
  for (std::size_t i = 0; i < n; ++i) trace += a[i][n + i];
  return trace;
}

// Rosenbrock's valley: the sum of 100 (x_(i+1) - x_i^2)^2 + (1 - x_i)^2.
template <class T> T rosenbrock(const std::vector<T>& x) {
  T sum = 0;
  for (std::size_t i = 0; i + 1 < x.size(); ++i) {
    const T valley = x[i + 1] - x[i] * x[i], slope = 1.0 - x[i];
    sum += 100.0 * valley * valley + slope * slope;
  }
  return sum;
}

// A sequence of choices: each input is clipped, folded or compared with the last result, by min, max, abs and if.
template <class T> T choices(const std::vector<T>& x) {
  using std::abs, std::max, std::min;
  T last = 0, sum = 0;
  for (const T& input : x) {
    T clipped = min(max(input, T(-0.75)), T(0.75));
    if (clipped > last) {
      last = clipped - 0.5 * last;
    } else if (input < 0.0) {
      last = abs(T(input - last));
    } else {
      last = -last;
    }
    sum += last * input;
  }
  return sum;
}

// Fibonacci's recursion with factors, as a program that calls itself twice: f(n) = x f(n - 1) + y f(n - 2).
template <class T> T fibonacci(const T& x, const T& y, int n) {
  if (n < 2) return n == 0 ? y : x;
  return x * fibonacci(x, y, n - 1) + y * fibonacci(x, y, n - 2);
}

template <class T> struct Complex {
  T re, im;
  friend Complex operator+(const Complex& a, const Complex& b) { return {a.re + b.re, a.im + b.im}; }
  friend Complex operator*(const Complex& a, const Complex& b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
  }
};

// The sum over points z on the unit circle of |p(z)|^2, with p by Horner's rule. Inputs: real and imaginary parts of
// the coefficients, highest first.
template <class T> T horner(const std::vector<T>& x, int places) {
  using std::cos, std::sin;
  T sum = 0;
  for (int i = 0; i < places; ++i) {
    const double angle = 6.283185307179586 * i / places;
    const Complex<T> z{cos(angle), sin(angle)};
    Complex<T> value{0.0, 0.0};
    for (std::size_t j = 0; j + 1 < x.size(); j += 2) value = value * z + Complex<T>{x[j], x[j + 1]};
    sum += value.re * value.re + value.im * value.im;
  }
  return sum / static_cast<double>(places);
}

// The mean square of a walk of standardised steps, by the algorithms of the standard library: with z = (x - mean) /
// deviation and the positions w_i = z_1 + ... + z_i, the mean of w^2.
template <class T> T walk(const std::vector<T>& x) {
  using std::sqrt;
  const double n = static_cast<double>(x.size());
  const T mean = std::accumulate(x.begin(), x.end(), T(0)) / n;
  std::vector<T> z(x.size());
  std::transform(x.begin(), x.end(), z.begin(), [&](const T& step) -> T { return step - mean; });
  const T deviation = sqrt(T(std::inner_product(z.begin(), z.end(), z.begin(), T(0)) / n));
  for (T& step : z) step /= deviation;
  std::partial_sum(z.begin(), z.end(), z.begin());
  return std::inner_product(z.begin(), z.end(), z.begin(), T(0)) / n;
}

// The heat in the middle of a rod with cold ends: u_i becomes u_i + c_i (u_(i-1) - 2 u_i + u_(i+1)) at each step.
// Inputs: the conductivity c of each point. The rod is hot everywhere at the start.
template <class T> T heat(const std::vector<T>& c, int steps) {
  std::vector<T> u(c.size(), T(1)), next = u;
  for (int step = 0; step < steps; ++step) {
    next.front() = next.back() = 0;
    for (std::size_t i = 1; i + 1 < u.size(); ++i) next[i] = u[i] + c[i] * (u[i - 1] - 2.0 * u[i] + u[i + 1]);
    std::swap(u, next);
  }
  return u[u.size() / 2];
}

}  // namespace bench
