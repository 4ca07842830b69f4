// SPDX-License-Identifier: MIT
// A larger network by hand: MLP 784-128-64-10 with ReLU, softmax cross-entropy, 64 rows, float32, by Eigen on OpenBLAS.
// It has its own compiler flags (bench/CMakeLists.txt), so this header defines nothing inline.
#pragma once

namespace bench::hand {

constexpr int mlp_rows = 64, mlp_inputs = 784, mlp_hidden1 = 128, mlp_hidden2 = 64, mlp_classes = 10;
constexpr int mlp_parameters =
    mlp_hidden1 * (mlp_inputs + 1) + mlp_hidden2 * (mlp_hidden1 + 1) + mlp_classes * (mlp_hidden2 + 1);
constexpr float mlp_rate = 0.01f;

class Mlp {
 public:
  Mlp(const float* inputs, const int* classes);  // row by row: mlp_inputs numbers and one class
  ~Mlp();
  Mlp(const Mlp&) = delete;
  Mlp& operator=(const Mlp&) = delete;

  void set_parameters(const float* p);  // neuron by neuron: its weights, then its bias
  float run(int steps);                 // gradient descent at mlp_rate on the mean loss; returns the last mean loss
  void get_parameters(float* p) const;

 private:
  struct State;
  State* state_;
};

}  // namespace bench::hand
