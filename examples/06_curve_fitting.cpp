// SPDX-License-Identifier: MIT
// Goal: second derivatives. Newton's method fits a * exp(-b * x) + c to points near such a curve. Each step solves
// H * step = -gradient, where H is the Hessian, the matrix of all second derivatives.
// The program prints the norm of the gradient. Near the end each step squares the error, so the norm's exponent
// doubles.
#include <cmath>
#include <cstdio>
#include <gradwalk/gradwalk.hpp>

using namespace gradwalk;

double noise(int i) { return 0.05 * ((i * 7) % 5 - 2); }  // the same on every machine

// Returns the sum of the squared distances between the curve and the points.
Value misfit(const std::vector<Value>& parameters) {
  const Value &a = parameters[0], &b = parameters[1], &c = parameters[2];
  Value sum = 0.0;
  for (int i = 0; i < 20; ++i) {
    const double x = 0.25 * i, y = 3 * std::exp(-1.2 * x) + 0.5 + noise(i);
    sum += pow(a * exp(-b * x) + c - y, 2);
  }
  return sum;
}

// Returns the solution of A * x = y, by Gaussian elimination with the largest number of each column as the pivot.
Numbers solve(std::vector<Numbers> A, Numbers y) {
  const std::size_t n = y.size();
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t pivot = k;
    for (std::size_t i = k + 1; i < n; ++i)
      if (std::abs(A[i][k]) > std::abs(A[pivot][k])) pivot = i;
    std::swap(A[k], A[pivot]);
    std::swap(y[k], y[pivot]);
    for (std::size_t i = k + 1; i < n; ++i) {
      const double factor = A[i][k] / A[k][k];
      for (std::size_t j = k; j < n; ++j) A[i][j] -= factor * A[k][j];
      y[i] -= factor * y[k];
    }
  }
  for (std::size_t k = n; k-- > 0;) {
    for (std::size_t j = k + 1; j < n; ++j) y[k] -= A[k][j] * y[j];
    y[k] /= A[k][k];
  }
  return y;
}

double norm(const Numbers& x) {
  double sum = 0;
  for (const double coordinate : x) sum += coordinate * coordinate;
  return std::sqrt(sum);
}

int main() {
  Numbers p{2.5, 1.0, 0.3};
  std::printf("step        a        b        c    misfit  |gradient|\n");
  for (int step = 0;; ++step) {
    const auto [value, slope] = value_and_gradient(misfit, p);
    std::printf("%4d  %7.4f  %7.4f  %7.4f  %8.4f  ", step, p[0], p[1], p[2], value);
    if (norm(slope) < 1e-12) break;
    std::printf("%10.1e\n", norm(slope));
    const Numbers move = solve(hessian(misfit, p), slope);
    for (std::size_t i = 0; i < p.size(); ++i) p[i] -= move[i];
  }
  std::printf("   < 1e-12\n");
}
