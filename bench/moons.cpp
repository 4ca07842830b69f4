// SPDX-License-Identifier: MIT
// moons: a training step of a small network, MLP 2-16-16-1 with ReLU, on 100 rows, with hinge loss + 1e-4 L2 and SGD.
// One run is a few steps from the same first parameters. The results are the last loss, gradient and parameters.
#include <algorithm>
#include <array>
#include <gradwalk/gradwalk.hpp>
#include <span>

#include "cases.hpp"
#include "differences.hpp"
#include "reference/hand.hpp"

namespace bench {
namespace {

using gradwalk::Value;

constexpr double ops_per_step = 65'077;  // micrograd's nodes: 100*(80 + 528 + 32 + 3) + 100 + 1 + 337*2 + 1 + 1
constexpr double learning_rate = 0.05;
constexpr std::size_t width = 16;

double relu(double x) { return x > 0 ? x : 0; }

// Returns a neuron before its activation. Its parameters are one weight per input, then the bias.
template <class T, class Input> T weighted_sum(std::span<const T> neuron, std::span<const Input> inputs) {
  T sum = neuron[inputs.size()] + neuron[0] * inputs[0];
  for (std::size_t i = 1; i < inputs.size(); ++i) sum += neuron[i] * inputs[i];
  return sum;
}

template <class T, class Input>
void layer(std::span<const T> parameters, std::span<const Input> inputs, std::span<T> outputs) {
  const std::size_t stride = inputs.size() + 1;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    outputs[i] = relu(weighted_sum(parameters.subspan(i * stride, stride), inputs));
  }
}

template <class T> T loss(std::span<const T> parameters, const hand::Moons& data) {
  const auto first = parameters.first(width * 3), second = parameters.subspan(width * 3, width * (width + 1));
  const auto last = parameters.last(width + 1);

  std::array<T, width> hidden1, hidden2;
  T total = 0.0;
  for (std::size_t row = 0; row < hand::rows; ++row) {
    layer(first, std::span<const double>(data.X[row]), std::span<T>(hidden1));
    layer(second, std::span<const T>(hidden1), std::span<T>(hidden2));
    const T score = weighted_sum(last, std::span<const T>(hidden2));
    total += relu(1.0 - data.y[row] * score);
  }
  T squares = 0.0;
  for (const T& p : parameters) squares += p * p;
  return total * (1.0 / hand::rows) + 1e-4 * squares;
}

// Returns the known gradient with respect to each parameter, before the last step.
std::vector<Known> last_differences(int steps) {
  std::vector<double> parameters(std::begin(hand::moons().p0), std::end(hand::moons().p0)), gradients(hand::parameters);
  hand::moons_steps(steps - 1, parameters.data(), gradients.data());
  const auto f = [](const std::vector<double>& p) { return loss(std::span<const double>(p), hand::moons()); };
  return central_differences(f, parameters);
}

class Engine final : public Task {
 public:
  explicit Engine(int steps) : steps_(steps), parameters_(std::begin(hand::moons().p0), std::end(hand::moons().p0)) {}

  void run() override {
    for (std::size_t i = 0; i < parameters_.size(); ++i) parameters_[i].data() = hand::moons().p0[i];
    for (int step = 0; step < steps_; ++step) {
      for (Value& p : parameters_) p.grad() = 0;
      Value result = loss(std::span<const Value>(parameters_), hand::moons());
      result.backward();
      for (Value& p : parameters_) p.data() -= learning_rate * p.grad();
      loss_ = result.data();
    }
  }

  std::vector<double> results() const override {
    std::vector<double> numbers{loss_};
    for (const Value& p : parameters_) numbers.push_back(p.grad());
    for (const Value& p : parameters_) numbers.push_back(p.data());
    return numbers;
  }

 private:
  int steps_;
  std::vector<Value> parameters_;
  double loss_ = 0;
};

class Hand final : public Task {
 public:
  explicit Hand(int steps) : steps_(steps) {}

  void run() override {
    std::copy_n(hand::moons().p0, hand::parameters, parameters_.begin());
    loss_ = hand::moons_steps(steps_, parameters_.data(), gradients_.data());
  }

  std::vector<double> results() const override {
    std::vector<double> numbers{loss_};
    numbers.insert(numbers.end(), gradients_.begin(), gradients_.end());
    numbers.insert(numbers.end(), parameters_.begin(), parameters_.end());
    return numbers;
  }

 private:
  int steps_;
  std::array<double, hand::parameters> parameters_{}, gradients_{};
  double loss_ = 0;
};

// The variant of another case, which compares no results.
class Yardstick final : public Task {
 public:
  explicit Yardstick(int steps) : engine_(steps) {}
  void run() override { engine_.run(); }
  std::vector<double> results() const override { return {}; }

 private:
  Engine engine_;
};

}  // namespace

Case moons(const Sizes& sizes) {
  const double ops = ops_per_step * sizes.moons_steps;
  return {"moons",
          {{"hand", ops, starting<Hand>(sizes.moons_steps)},
           {"engine", ops, starting<Engine>(sizes.moons_steps), {.ratio = 9.0, .goal = 7.8}}},
          [steps = sizes.moons_steps] { return last_differences(steps); }};
}

Variant moons_op(const Sizes& sizes) {
  return {"moons", ops_per_step * sizes.moons_steps, starting<Yardstick>(sizes.moons_steps)};
}

}  // namespace bench
