// SPDX-License-Identifier: MIT
// Kinds of programs that a compiler of whole graphs finds hard: sums over pairs, recursions with small vectors, sums
// that mix products with single terms, and long simulations. Each is a function of any number type. The gradient is
// with respect to the inputs; of a simulation, which has a row of normally distributed numbers, to the parameters.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

namespace bench {

// The energy of particles with the potential of Lennard-Jones: the sum over pairs of 4 (r^-12 - r^-6).
// Inputs: three coordinates of each particle.
template <class T> T lennard_jones(const std::vector<T>& x) {
  T energy = 0;
  for (std::size_t i = 0; i < x.size(); i += 3)
    for (std::size_t j = 0; j < i; j += 3) {
      T square = 0;
      for (std::size_t k = 0; k < 3; ++k) {
        const T difference = x[i + k] - x[j + k];
        square += difference * difference;
      }
      const T inverse = 1.0 / square, sixth = inverse * inverse * inverse;
      energy += 4.0 * (sixth * sixth - sixth);
    }
  return energy;
}

// The first `states` inputs are the scores of the states at the start, then come the transitions, row by row, and the
// scores of an observation in each state.
inline std::size_t inputs_of_chain(std::size_t states) { return states * (states + 2); }

// The log-likelihood of a hidden Markov chain by the forward algorithm in log space.
template <class T> T hidden_chain(const std::vector<T>& x, std::size_t states, int steps) {
  using std::exp, std::log, std::max;
  const T *const transition = x.data() + states, *const seen = transition + states * states;
  std::vector<T> now(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(states)), next(states);
  for (int step = 0; step < steps; ++step) {
    for (std::size_t j = 0; j < states; ++j) {
      T most = now[0] + transition[j];
      for (std::size_t i = 1; i < states; ++i) most = max(most, T(now[i] + transition[i * states + j]));
      T sum = 0;
      for (std::size_t i = 0; i < states; ++i) sum += exp(now[i] + transition[i * states + j] - most);
      next[j] = most + log(sum) + static_cast<double>(step % 3) * seen[j];
    }
    now = next;
  }
  T sum = 0;
  for (const T& score : now) sum += exp(score - now[0]);
  return now[0] + log(sum);
}

// The score of the best path of the same chain, by Viterbi's algorithm.
template <class T> T best_path(const std::vector<T>& x, std::size_t states, int steps) {
  using std::max;
  const T *const transition = x.data() + states, *const seen = transition + states * states;
  std::vector<T> now(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(states)), next(states);
  for (int step = 0; step < steps; ++step) {
    for (std::size_t j = 0; j < states; ++j) {
      T most = now[0] + transition[j];
      for (std::size_t i = 1; i < states; ++i) most = max(most, T(now[i] + transition[i * states + j]));
      next[j] = most + static_cast<double>(step % 3) * seen[j];
    }
    now = next;
  }
  T best = now[0];
  for (std::size_t i = 1; i < states; ++i) best = max(best, now[i]);
  return best;
}

// The log-likelihood of measurements by a Kalman filter with a state of four numbers, whose first is measured.
// Inputs: the matrix of a step, row by row.
template <class T> T kalman4(const std::vector<T>& x, const std::vector<double>& measured) {
  using std::log;
  constexpr std::size_t d = 4;
  using Matrix = std::array<std::array<T, d>, d>;
  std::array<T, d> state;
  Matrix step, covariance;
  for (std::size_t i = 0; i < d; ++i) {
    state[i] = 0.1;
    for (std::size_t j = 0; j < d; ++j) {
      step[i][j] = x[i * d + j];
      covariance[i][j] = i == j ? 1.0 : 0.1;
    }
  }
  T total = 0;
  for (const double seen : measured) {
    std::array<T, d> expected;
    Matrix half, spread;
    for (std::size_t i = 0; i < d; ++i) {
      expected[i] = 0;
      for (std::size_t j = 0; j < d; ++j) expected[i] += step[i][j] * state[j];
      for (std::size_t j = 0; j < d; ++j) {
        half[i][j] = 0;
        for (std::size_t k = 0; k < d; ++k) half[i][j] += step[i][k] * covariance[k][j];
      }
    }
    for (std::size_t i = 0; i < d; ++i)
      for (std::size_t j = 0; j < d; ++j) {
        spread[i][j] = i == j ? 0.1 : 0.0;
        for (std::size_t k = 0; k < d; ++k) spread[i][j] += half[i][k] * step[j][k];
      }
    const T variance = spread[0][0] + 0.5, error = seen - expected[0];
    total -= 0.5 * (log(variance) + error * error / variance);
    for (std::size_t i = 0; i < d; ++i) {
      const T gain = spread[i][0] / variance;
      state[i] = expected[i] + gain * error;
      for (std::size_t j = 0; j < d; ++j) covariance[i][j] = spread[i][j] - gain * spread[0][j];
    }
  }
  return total;
}

// Van der Pol's oscillator by the implicit Euler method, with three Newton steps each. Inputs: position, velocity and
// damping.
template <class T> T implicit_euler(const std::vector<T>& x, int steps) {
  constexpr double h = 0.01;
  T p = x[0], v = x[1];
  for (int step = 0; step < steps; ++step) {
    T q = p, w = v;
    for (int newton = 0; newton < 3; ++newton) {
      const T f = q - p - h * w, g = w - v - h * (x[2] * (1.0 - q * q) * w - q);
      const T gq = h * (2.0 * x[2] * q * w + 1.0), gw = 1.0 - h * x[2] * (1.0 - q * q);
      const T determinant = gw + h * gq;
      q -= (gw * f + h * g) / determinant;
      w -= (g - gq * f) / determinant;
    }
    p = q;
    v = w;
  }
  return p * p + v * v;
}

// Squared errors of a smoothed series, with a penalty on each number: terms a * b and c in one sum.
template <class T> T mixed_sum(const std::vector<T>& x) {
  using std::exp;
  T sum = 0;
  for (std::size_t i = 0; i + 1 < x.size(); ++i) {
    const T error = x[i] - 0.5 * x[i + 1];
    sum += error * error;
    sum += 0.01 * x[i];
    sum += exp(x[i]);
  }
  return sum;
}

inline double relu(double x) { return x > 0 ? x : 0; }

// The payoff of a call option in Heston's model: a price whose variance is random, too. A row has two normally
// distributed numbers per time step. Parameters: price, variance, speed, level, volatility, correlation.
template <class T> T heston(const std::vector<T>& parameters, const std::vector<T>& row) {
  using std::exp, std::sqrt;
  const T &start = parameters[0], &variance = parameters[1], &speed = parameters[2], &level = parameters[3],
          &volatility = parameters[4], &correlation = parameters[5];
  const double dt = 2.0 / static_cast<double>(row.size()), root = std::sqrt(dt);
  const T other = sqrt(1.0 - correlation * correlation);
  T x = (start - 100.0) * 0.01, v = variance;
  for (std::size_t i = 0; i < row.size(); i += 2) {
    const T positive = relu(v) + 1e-8, deviation = sqrt(positive), both = correlation * row[i] + other * row[i + 1];
    x = x + (-0.5 * dt) * positive + deviation * (root * row[i]);
    v = v + speed * (level - positive) * dt + volatility * (deviation * (root * both));
  }
  return relu(exp(x) * 100.0 - 100.0);
}

// The value of swaptions in the LIBOR market model of Brace, Gatarek and Musiela. A row has one normally distributed
// number per time step. Parameters: the forward rates at the start, then their volatilities by the time to maturity.
// The rates that mature later than the last step are those of the swaps; the swaptions end with every eighth of them.
template <class T> T libor(const std::vector<T>& parameters, const std::vector<T>& row) {
  using std::exp;
  constexpr double quarter = 0.25, swap_rate = 0.045;
  const std::size_t rates = parameters.size() / 2, steps = row.size();
  std::vector<T> rate(parameters.begin(), parameters.begin() + static_cast<std::ptrdiff_t>(rates));
  const T* const volatility = parameters.data() + rates;
  for (std::size_t step = 0; step < steps; ++step) {
    T drift = 0.0;
    for (std::size_t i = step + 1; i < rates; ++i) {
      const T &own = volatility[i - step - 1], scaled = quarter * own;
      drift += scaled * rate[i] / (1.0 + quarter * rate[i]);
      rate[i] = rate[i] * exp(scaled * drift + own * (0.5 * row[step] - 0.5 * scaled));
    }
  }
  T discount = 1.0, annuity = 0.0, value = 0.0;
  for (std::size_t i = steps; i < rates; ++i) {
    discount = discount / (1.0 + quarter * rate[i]);
    annuity += quarter * discount;
    if ((i - steps) % 8 == 7) value += relu(1.0 - discount - swap_rate * annuity);
  }
  for (std::size_t i = 0; i < steps; ++i) value = value / (1.0 + quarter * rate[i]);
  return 100.0 * value;
}

}  // namespace bench
