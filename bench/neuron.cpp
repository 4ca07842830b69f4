// SPDX-License-Identifier: MIT
// neuron: tanh(x1*w1 + x2*w2 + b), five leaves and five operations, built, run backward and dropped many times.
// The results are the sums of the gradients and of the outputs.
#include <array>
#include <cmath>
#include <gradwalk/gradwalk.hpp>

#include "cases.hpp"
#include "differences.hpp"
#include "reference/hand.hpp"

namespace bench {
namespace {

using gradwalk::Value;

// Returns the sum of the outputs if x1, x2, w1, w2 and b of every neuron are shifted by these numbers.
double sum_of_moved(const std::vector<double>& by, long times) {
  double sum = 0;
  for (long k = 0; k < times; ++k) {
    const double shift = 1e-6 * static_cast<double>(k);
    const double x1 = 2.0 - shift + by[0], x2 = 0.5 + shift + by[1];
    sum += std::tanh(x1 * (-0.3 + by[2]) + x2 * (0.7 + by[3]) + (0.25 + by[4]));
  }
  return sum;
}

class Engine final : public Task {
 public:
  explicit Engine(long times) : times_(times) {}

  void run() override {
    sums_ = {};
    for (long k = 0; k < times_; ++k) {
      const double shift = 1e-6 * static_cast<double>(k);
      Value x1{2.0 - shift}, x2{0.5 + shift};
      Value w1{-0.3}, w2{0.7}, b{0.25};
      Value out = tanh(x1 * w1 + x2 * w2 + b);
      out.backward();
      sums_[0] += x1.grad();
      sums_[1] += x2.grad();
      sums_[2] += w1.grad();
      sums_[3] += w2.grad();
      sums_[4] += b.grad();
      sums_[5] += out.data();
    }
  }
  std::vector<double> results() const override { return {sums_.begin(), sums_.end()}; }

 private:
  long times_;
  std::array<double, 6> sums_{};
};

class Hand final : public Task {
 public:
  explicit Hand(long times) : times_(times) {}

  void run() override { hand::neurons(times_, sums_.data()); }
  std::vector<double> results() const override { return {sums_.begin(), sums_.end()}; }

 private:
  long times_;
  std::array<double, 6> sums_{};
};

}  // namespace

Case neuron(const Sizes& sizes) {
  const long times = sizes.neurons;
  const double ops = 5.0 * static_cast<double>(times);
  return {"neuron",
          {{"hand", ops, starting<Hand>(times)}, {"engine", ops, starting<Engine>(times), {.ratio = 5.5, .goal = 3.7}}},
          [times] {
            const auto sum = [times](const std::vector<double>& by) { return sum_of_moved(by, times); };
            return central_differences(sum, std::vector<double>(5, 0.0), 0);
          }};
}

}  // namespace bench
