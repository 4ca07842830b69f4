// SPDX-License-Identifier: MIT
// A mixture of k Gaussians in d dimensions: the log-likelihood of n points, plus the logarithm of a Wishart prior on
// the inverse covariances, up to constants.
//   sum over points x of logsumexp over j of (a_j + sum(q_j) - |Q_j (x - mu_j)|^2 / 2), less n logsumexp(a),
//   and over j of (m sum(q_j) - gamma^2 |Q_j|^2 / 2);  Q_j is lower triangular: exp(q_j) on its diagonal, l_j below.
// Parameters: the k weights a, then all mu, all q, all l.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

#include "logsumexp.hpp"

namespace bench {

struct GmmData {
  std::size_t d = 0, k = 0, n = 0;
  std::vector<double> points = {};  // n rows of d numbers
  double gamma = 1, m = 0;          // parameters of the prior

  std::size_t below() const { return d * (d - 1) / 2; }  // the number of entries of l_j
  std::size_t parameters() const { return k * (1 + 2 * d + below()); }
};

template <class T> T square_norm(const std::vector<T>& x) {
  T sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * x[i];
  return sum;
}

template <class T> T gmm(const std::vector<T>& parameters, const GmmData& data) {
  using std::exp;
  const std::size_t d = data.d, k = data.k, below = data.below();
  const T* a = parameters.data();
  const T* mu = a + k;
  const T* q = mu + k * d;
  const T* l = q + k * d;

  std::vector<T> diagonals(k * d), sums_q(k);
  for (std::size_t j = 0; j < k; ++j) {
    for (std::size_t i = 0; i < d; ++i) {
      diagonals[j * d + i] = exp(q[j * d + i]);
      sums_q[j] += q[j * d + i];
    }
  }

  T total = 0;
  std::vector<T> centred(d), scaled(d), terms(k);
  for (std::size_t row = 0; row < data.n; ++row) {
    for (std::size_t j = 0; j < k; ++j) {
      for (std::size_t i = 0; i < d; ++i) centred[i] = data.points[row * d + i] - mu[j * d + i];
      for (std::size_t i = 0; i < d; ++i) scaled[i] = diagonals[j * d + i] * centred[i];
      std::size_t next = j * below;
      for (std::size_t column = 0; column < d; ++column) {
        for (std::size_t i = column + 1; i < d; ++i) scaled[i] += l[next++] * centred[column];
      }
      terms[j] = a[j] + sums_q[j] - 0.5 * square_norm(scaled);
    }
    total += logsumexp(terms);
  }
  total -= static_cast<double>(data.n) * logsumexp(std::vector<T>(a, a + k));

  for (std::size_t j = 0; j < k; ++j) {
    T squares = 0;
    for (std::size_t i = 0; i < d; ++i) squares += diagonals[j * d + i] * diagonals[j * d + i];
    for (std::size_t i = 0; i < below; ++i) squares += l[j * below + i] * l[j * below + i];
    total += data.m * sums_q[j] - 0.5 * data.gamma * data.gamma * squares;
  }
  return total;
}

}  // namespace bench
