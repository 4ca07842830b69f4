// SPDX-License-Identifier: MIT
// Learning rules: SGD, Adam, AdamW, RMSprop and Adagrad with PyTorch's formulas, rates that change over time, and
// clipped gradients.
//
// update() is the arithmetic, over plain numbers; an Optimizer does it to the Values it was given.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "gradwalk/value.hpp"

namespace gradwalk {

// g = grad + weight_decay * p;  v = momentum * v + g;  p -= lr * v
struct SGD {
  double lr = 0.01;
  double momentum = 0;
  double weight_decay = 0;
};

// m += (1 - beta1) * (grad - m);  v = beta2 * v + (1 - beta2) * grad^2;  t is the number of the step, from 1:
// p -= lr / (1 - beta1^t) * m / (sqrt(v) / sqrt(1 - beta2^t) + epsilon)
struct Adam {
  double lr = 0.001;
  double beta1 = 0.9, beta2 = 0.999;
  double epsilon = 1e-8;
};

// p *= 1 - lr * weight_decay;  then as Adam
struct AdamW {
  double lr = 0.001;
  double beta1 = 0.9, beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0.01;
};

// v = alpha * v + (1 - alpha) * grad^2;  p -= lr * grad / (sqrt(v) + epsilon)
struct RMSprop {
  double lr = 0.01;
  double alpha = 0.99;
  double epsilon = 1e-8;
};

// v += grad^2;  p -= lr * grad / (sqrt(v) + epsilon)
struct Adagrad {
  double lr = 0.01;
  double epsilon = 1e-10;
};

using OptimizerConfig = std::variant<SGD, Adam, AdamW, RMSprop, Adagrad>;
GRADWALK_EXPORT std::string_view name(const OptimizerConfig& config);  // "sgd", "adam", "adamw", "rmsprop", "adagrad"

// What a rule remembers; with the parameters, all that going on later needs.
struct OptimizerState {
  std::uint64_t steps = 0;
  std::vector<double> first;   // a number a parameter: SGD's v where there is momentum, Adam's m; else empty
  std::vector<double> second;  // v of Adam, RMSprop and Adagrad; else empty
  bool operator==(const OptimizerState&) const = default;
};

// The same for parameters that are floats.
struct OptimizerState32 {
  std::uint64_t steps = 0;
  std::vector<float> first, second;
};

GRADWALK_EXPORT double learning_rate(const OptimizerConfig& config);
GRADWALK_EXPORT void check_config(const OptimizerConfig& config);  // an Error where a number is out of its range
GRADWALK_EXPORT OptimizerState initial_state(const OptimizerConfig& config, std::size_t parameters);
// An Error where the state is none of this rule for so many parameters.
GRADWALK_EXPORT void check_state(const OptimizerConfig& config, std::size_t parameters, const OptimizerState& state);
// One step at the rate given, not the config's. The state is one that initial_state() made for as many parameters.
GRADWALK_EXPORT void update(const OptimizerConfig& config, double lr, std::span<double> data,
                            std::span<const double> grad, OptimizerState& state);
GRADWALK_EXPORT void update(const OptimizerConfig& config, double lr, std::span<float> data,
                            std::span<const float> grad, OptimizerState32& state);

// The same for some of the parameters, from `begin` to `end`, where others are seen to elsewhere, as on other threads.
// The state's count of steps is the new one already.
GRADWALK_EXPORT void update_part(const OptimizerConfig& config, double lr, std::span<double> data,
                                 std::span<const double> grad, OptimizerState& state, std::size_t begin,
                                 std::size_t end);
GRADWALK_EXPORT void update_part(const OptimizerConfig& config, double lr, std::span<float> data,
                                 std::span<const float> grad, OptimizerState32& state, std::size_t begin,
                                 std::size_t end);

class GRADWALK_EXPORT Optimizer {
 public:
  // Parameters are leaves, each given once.
  Optimizer(std::vector<Value> parameters, const OptimizerConfig& config);

  void step() { step(learning_rate(config_)); }
  void step(double lr);
  void zero_grad();

  const std::vector<Value>& parameters() const { return parameters_; }
  const OptimizerConfig& config() const { return config_; }
  const OptimizerState& state() const { return state_; }
  void set_state(OptimizerState state);

 private:
  std::vector<Value> parameters_;
  OptimizerConfig config_;
  OptimizerState state_;
  std::vector<double> data_, grad_;  // of the step at hand; kept for their room
};

// The rate of each step, counted from 0: optimizer.step(schedule(k)). Any such function will do.
using Schedule = std::function<double(std::uint64_t step)>;

GRADWALK_EXPORT Schedule constant_rate(double lr);
// from - (from - to) * step / steps, and `to` from then on. micrograd's 1.0 - 0.9 * k / 100 is linear_decay(1, 0.1,
// 100).
GRADWALK_EXPORT Schedule linear_decay(double from, double to, std::uint64_t steps);
// to + (from - to) * (1 + cos(pi * step / steps)) / 2, and `to` from then on.
GRADWALK_EXPORT Schedule cosine_decay(double from, double to, std::uint64_t steps);
// then(0) * (step + 1) / steps for the first steps, and after them `then`, from its beginning.
GRADWALK_EXPORT Schedule warm_up(std::uint64_t steps, Schedule then);

// Scales all gradients by one factor so that their norm, which is returned as it was, is at most `most`; as PyTorch,
// by most / (norm + 1e-6). A norm that is infinite or not a number makes NaNs: look at it.
GRADWALK_EXPORT double clip_gradient_norm(std::span<const Value> parameters, double most);
// The same of plain numbers.
GRADWALK_EXPORT double clip_norm(std::span<double> gradient, double most);
GRADWALK_EXPORT double clip_norm(std::span<float> gradient, double most);
// Moves each gradient into [-most, most].
GRADWALK_EXPORT void clip_gradient_value(std::span<const Value> parameters, double most);

}  // namespace gradwalk
