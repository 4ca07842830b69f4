// SPDX-License-Identifier: MIT
// The yardstick for code that runs a batch at once: the moons step as matrix products by Eigen on OpenBLAS
// (EIGEN_USE_BLAS), copied token for token from the reference workloads, then the loop that their harness timed. Do not
// follow its style.
#include <Eigen/Dense>

#include "hand.hpp"
using namespace bench::hand;
namespace {
constexpr int NS = rows, NP = parameters;
const Moons& data() { return moons(); }
struct Lib {
  using D = Eigen::MatrixXd;
  D W1, W2, W3, X, y, sc, ds, m, H1, H2, D1, D2, gW1, gW2, gW3;
  Eigen::VectorXd b1, b2, gb1, gb2;
  Lib() {
    W1.resize(16, 2);
    W2.resize(16, 16);
    W3.resize(1, 16);
    b1.resize(16);
    b2.resize(16);
    X.resize(2, NS);
    y.resize(1, NS);
    for (int s = 0; s < NS; s++) {
      X(0, s) = data().X[s][0];
      X(1, s) = data().X[s][1];
      y(0, s) = data().y[s];
    }
  }
  double w1(const double* p, double* g) {
    for (int j = 0; j < 16; j++) {
      W1(j, 0) = p[3 * j];
      W1(j, 1) = p[3 * j + 1];
      b1(j) = p[3 * j + 2];
      b2(j) = p[48 + 17 * j + 16];
      W3(0, j) = p[320 + j];
      for (int i = 0; i < 16; i++) W2(j, i) = p[48 + 17 * j + i];
    }
    H1.noalias() = W1 * X;
    H1.colwise() += b1;
    H1 = H1.cwiseMax(0.0);
    H2.noalias() = W2 * H1;
    H2.colwise() += b2;
    H2 = H2.cwiseMax(0.0);
    sc.noalias() = W3 * H2;
    sc.array() += p[336];
    m = 1.0 - y.array() * sc.array();
    ds = (m.array() > 0).select(-y * (1.0 / NS), 0.0);
    gW3.noalias() = ds * H2.transpose();
    D2.noalias() = W3.transpose() * ds;
    D2 = (H2.array() > 0).select(D2, 0.0);
    gW2.noalias() = D2 * H1.transpose();
    gb2 = D2.rowwise().sum();
    D1.noalias() = W2.transpose() * D2;
    D1 = (H1.array() > 0).select(D1, 0.0);
    gW1.noalias() = D1 * X.transpose();
    gb1 = D1.rowwise().sum();
    for (int j = 0; j < 16; j++) {
      g[3 * j] = gW1(j, 0);
      g[3 * j + 1] = gW1(j, 1);
      g[3 * j + 2] = gb1(j);
      g[48 + 17 * j + 16] = gb2(j);
      g[320 + j] = gW3(0, j);
      for (int i = 0; i < 16; i++) g[48 + 17 * j + i] = gW2(j, i);
    }
    g[336] = ds.sum();
    double reg = 0;
    for (int i = 0; i < NP; i++) {
      reg += p[i] * p[i];
      g[i] += 2e-4 * p[i];
    }
    return m.cwiseMax(0.0).sum() / NS + 1e-4 * reg;
  }
};
}  // namespace

double bench::hand::moons_steps_blas(int steps, double* p, double* g) {
  static Lib lib;
  double loss = 0;
  for (int k = 0; k < steps; k++) {
    loss = lib.w1(p, g);
    for (int i = 0; i < NP; i++) p[i] -= 0.05 * g[i];
  }
  return loss;
}
