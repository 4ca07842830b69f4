// SPDX-License-Identifier: MIT
// The workloads as plain loops with hand-written gradients, and the data of both sides.
// They have their own compiler flags (bench/CMakeLists.txt), so this header defines nothing inline.
#pragma once

namespace bench::hand {

constexpr int rows = 100, parameters = 337;

struct Moons {
  double X[rows][2];
  double y[rows];
  double p0[parameters];  // neuron by neuron: its weights, then its bias; layers 2-16, 16-16, 16-1
};
const Moons& moons();

// Makes `steps` steps of gradient descent at rate 0.05 on p. Writes the last gradient to g and returns the last loss.
double moons_steps(int steps, double* p, double* g);
// The same with the batch at once: eight rows per vector (lanes.cpp), and matrix products by OpenBLAS (blas.cpp).
double moons_steps_lanes(int steps, double* p, double* g);
double moons_steps_blas(int steps, double* p, double* g);

// x = x * b + c, n times from a; g = d/da, d/db, d/dc.
double chain(long n, double a, double b, double c, double g[3]);

// tanh(x1 * w1 + x2 * w2 + b), n times with the k-th x1, x2; sums of d/dx1, d/dx2, d/dw1, d/dw2, d/db and of the
// result.
void neurons(long n, double sums[6]);

// The sum of a[i] * b[i]; g = the sums of d/da[i] * (1 + i % 7) and of d/db[i] * (1 + i % 5).
double products(long n, const double* a, const double* b, double g[2]);
void fill_products(long n, double* a, double* b);

}  // namespace bench::hand
