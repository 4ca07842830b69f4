// SPDX-License-Identifier: MIT
// Functions that branch on their data, as templates over the number type. p are the parameters, x the numbers of a row.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

namespace bench::models {

using std::exp, std::erfc, std::log, std::sqrt, std::abs;  // for doubles; for Values they are found by their argument

// A call option that is worthless once the price has crossed a barrier: the payoff of one simulated path.
struct Barrier {
  static constexpr std::size_t steps = 64, inputs = steps;
  static constexpr double start[] = {100, 0.2, 0.03};  // price, volatility, rate

  template <class T> static T of(const std::vector<T>& p, const std::vector<T>& x) {
    constexpr double dt = 1.0 / steps;
    const T drift = (p[2] - 0.5 * p[1] * p[1]) * dt, scale = p[1] * std::sqrt(dt);
    T price = p[0];
    for (std::size_t i = 0; i < steps; ++i) {
      price = price * exp(drift + scale * x[i]);
      if (price > 130) return T(0.0);
    }
    if (price < 100) return T(0.0);
    return (price - 100) * exp(-p[2]);
  }
  static void draw(std::mt19937_64& random, double* row) {
    std::normal_distribution<double> normal;
    std::generate_n(row, inputs, [&] { return normal(random); });
  }
};

// The volatility at which a call option has its price, by Newton's method to a tolerance.
struct ImpliedVolatility {
  static constexpr std::size_t inputs = 2;  // strike, price
  static constexpr double start[] = {100, 0.03};

  template <class T> static T normal_cdf(const T& z) { return 0.5 * erfc(-0.7071067811865476 * z); }
  template <class T> static T of(const std::vector<T>& p, const std::vector<T>& x) {
    const T discount = exp(-p[1]), money = log(p[0] / x[0]);
    T sigma = T(0.5);
    for (int i = 0; i < 50; ++i) {
      const T d1 = (money + p[1]) / sigma + 0.5 * sigma;
      const T price = p[0] * normal_cdf(d1) - x[0] * discount * normal_cdf(T(d1 - sigma));
      const T vega = p[0] * 0.3989422804014327 * exp(-0.5 * d1 * d1);
      const T change = (price - x[1]) / vega;
      sigma = sigma - change;
      if (abs(change) < 1e-9) break;
    }
    return sigma;
  }
  static void draw(std::mt19937_64& random, double* row) {
    const double sigma = std::uniform_real_distribution<double>(0.1, 0.6)(random);
    row[0] = std::uniform_real_distribution<double>(80, 125)(random);
    const double d1 = (std::log(start[0] / row[0]) + start[1]) / sigma + 0.5 * sigma;
    row[1] = start[0] * normal_cdf(d1) - row[0] * std::exp(-start[1]) * normal_cdf(d1 - sigma);
  }
};

// y'' = m (1 - y^2) y' - y by Heun's method with an adaptive step, from starts that are alike or spread.
template <bool are_alike> struct AdaptiveOde {
  static constexpr std::size_t inputs = 2;
  static constexpr double start[] = {0.8, 1.1};

  template <class T> static T of(const std::vector<T>& p, const std::vector<T>& x) {
    T y = x[0], v = x[1], t = T(0.0), h = T(0.05);
    while (t < 1.5) {
      if (t + h > 1.5) h = 1.5 - t;
      const T a = p[0] * (1 - y * y) * v - p[1] * y, y1 = y + h * v, v1 = v + h * a;
      const T b = p[0] * (1 - y1 * y1) * v1 - p[1] * y1, v2 = v + 0.5 * h * (a + b);
      const T error = abs(v2 - v1);
      if (error > 0.01) {
        h = 0.5 * h;
        continue;
      }
      t = t + h;
      y = y + 0.5 * h * (v + v1);
      v = v2;
      if (error < 0.002) h = 2 * h;
    }
    return y;
  }
  static void draw(std::mt19937_64& random, double* row) {
    std::uniform_real_distribution<double> between(-1, 1);
    row[0] = are_alike ? 1 + 0.05 * between(random) : 2 * between(random);
    row[1] = are_alike ? 0.05 * between(random) : 2 * between(random);
  }
};

// A gamma variate by Marsaglia and Tsang's rejection, from the row's normal and uniform numbers.
struct Rejection {
  static constexpr std::size_t tries = 8, inputs = 2 * tries;
  static constexpr double start[] = {1.7, 0.5};

  template <class T> static T of(const std::vector<T>& p, const std::vector<T>& x) {
    const T d = p[0] - 1.0 / 3, c = 1 / sqrt(9 * d);
    for (std::size_t i = 0; i < tries; ++i) {
      const T cube = 1 + c * x[2 * i];
      if (cube <= 0) continue;
      const T v = cube * cube * cube;
      if (log(x[2 * i + 1]) < 0.5 * x[2 * i] * x[2 * i] + d - d * v + d * log(v)) return p[1] * d * v;
    }
    return p[1] * d;
  }
  static void draw(std::mt19937_64& random, double* row) {
    std::normal_distribution<double> normal;
    std::uniform_real_distribution<double> uniform(1e-9, 1);
    for (std::size_t i = 0; i < tries; ++i) row[2 * i] = normal(random), row[2 * i + 1] = uniform(random);
  }
};

// A weighted sum of sorted numbers.
template <std::size_t count> struct Sorting {
  static constexpr std::size_t inputs = count;
  static constexpr double start[] = {1.5, 0.5, -1};

  template <class T> static T of(const std::vector<T>& p, const std::vector<T>& x) {
    std::vector<T> y;
    for (const T& number : x) y.push_back(exp(0.1 * number) * p[0]);
    std::sort(y.begin(), y.end());
    T sum = T(0.0);
    for (std::size_t i = 0; i < count; ++i) sum += p[i % 3] * y[i] * y[i];
    return sum;
  }
  static void draw(std::mt19937_64& random, double* row) {
    std::normal_distribution<double> normal;
    std::generate_n(row, count, [&] { return normal(random); });
  }
};

}  // namespace bench::models
