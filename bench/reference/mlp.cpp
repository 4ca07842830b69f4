// SPDX-License-Identifier: MIT
// The yardstick for networks whose layers fill a cache: the step of the reference workload W5, token for token, by
// Eigen on OpenBLAS (EIGEN_USE_BLAS). The code around it, which sets and reads numbers, is never timed. Do not follow
// its style.
#include "mlp.hpp"

#include <Eigen/Dense>
#include <cmath>
using M = Eigen::MatrixXf;
using V = Eigen::VectorXf;

namespace bench::hand {

struct Mlp::State {
  M X, W1, W2, W3, H1, H2, Z, D1, D2, D3;
  V b1, b2, b3;
  int y[64];

  float steps(int count) {
    const float lr = mlp_rate / 64;
    float loss = 0;
    for (int k = 0; k < count; k++) {
      H1.noalias() = W1 * X;
      H1.colwise() += b1;
      H1 = H1.cwiseMax(0.f);
      H2.noalias() = W2 * H1;
      H2.colwise() += b2;
      H2 = H2.cwiseMax(0.f);
      Z.noalias() = W3 * H2;
      Z.colwise() += b3;
      loss = 0;
      D3.resize(10, 64);
      for (int s = 0; s < 64; s++) {
        float m = Z.col(s).maxCoeff();
        D3.col(s) = (Z.col(s).array() - m).exp();
        float S = D3.col(s).sum();
        D3.col(s) /= S;
        loss -= logf(D3(y[s], s));
        D3(y[s], s) -= 1;
      }
      D2.noalias() = W3.transpose() * D3;
      D2 = (H2.array() > 0).select(D2, 0.f);
      D1.noalias() = W2.transpose() * D2;
      D1 = (H1.array() > 0).select(D1, 0.f);
      W3.noalias() -= lr * D3 * H2.transpose();
      b3 -= lr * D3.rowwise().sum();
      W2.noalias() -= lr * D2 * H1.transpose();
      b2 -= lr * D2.rowwise().sum();
      W1.noalias() -= lr * D1 * X.transpose();
      b1 -= lr * D1.rowwise().sum();
    }
    return loss / 64;
  }

  template <class Visit> void each_parameter(Visit visit) {
    long k = 0;
    auto layer = [&](M& W, V& b) {
      for (int j = 0; j < W.rows(); j++) {
        for (int i = 0; i < W.cols(); i++) visit(W(j, i), k++);
        visit(b(j), k++);
      }
    };
    layer(W1, b1);
    layer(W2, b2);
    layer(W3, b3);
  }
};

Mlp::Mlp(const float* inputs, const int* classes) : state_(new State) {
  state_->X = Eigen::Map<const M>(inputs, mlp_inputs, mlp_rows);
  state_->W1.resize(mlp_hidden1, mlp_inputs);
  state_->W2.resize(mlp_hidden2, mlp_hidden1);
  state_->W3.resize(mlp_classes, mlp_hidden2);
  state_->b1.resize(mlp_hidden1);
  state_->b2.resize(mlp_hidden2);
  state_->b3.resize(mlp_classes);
  for (int s = 0; s < mlp_rows; s++) state_->y[s] = classes[s];
}
Mlp::~Mlp() { delete state_; }

void Mlp::set_parameters(const float* p) {
  state_->each_parameter([p](float& parameter, long k) { parameter = p[k]; });
}
float Mlp::run(int steps) { return state_->steps(steps); }
void Mlp::get_parameters(float* p) const {
  state_->each_parameter([p](float& parameter, long k) { p[k] = parameter; });
}

}  // namespace bench::hand
