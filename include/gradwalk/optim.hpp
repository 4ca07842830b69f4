// SPDX-License-Identifier: MIT
// Optimizers (SGD, Adam, AdamW, RMSprop and Adagrad, with PyTorch's formulas), learning-rate schedules and gradient
// clipping.
//
//   Optimizer optimizer(model.parameters(), Adam{.lr = 0.01});
//   optimizer.zero_grad();
//   loss().backward();
//   optimizer.step();
//
// update() has the arithmetic, for plain numbers; an Optimizer applies it to Values. In the formulas below, p is a
// parameter and grad its gradient.
#pragma once

#include <array>
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

// m += (1 - beta1) * (grad - m);  v = beta2 * v + (1 - beta2) * grad^2;
// p -= lr / (1 - beta1^t) * m / (sqrt(v) / sqrt(1 - beta2^t) + epsilon), where t is the number of the step, from 1
struct Adam {
  double lr = 0.001;
  double beta1 = 0.9, beta2 = 0.999;
  double epsilon = 1e-8;
};

// p *= 1 - lr * weight_decay;  then Adam
struct AdamW {
  double lr = 0.001;
  double beta1 = 0.9;     // Adam's: how much of the mean gradient m is kept in each step
  double beta2 = 0.999;   // Adam's: how much of the mean squared gradient v is kept in each step
  double epsilon = 1e-8;  // Adam's: keeps the division finite where v is 0
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

// An optimizer and its settings.
using OptimizerConfig = std::variant<SGD, Adam, AdamW, RMSprop, Adagrad>;
// Every optimizer with its default settings.
inline constexpr std::array<OptimizerConfig, 5> all_optimizers{SGD{}, Adam{}, AdamW{}, RMSprop{}, Adagrad{}};
GRADWALK_EXPORT std::string_view name(const OptimizerConfig& config);  // "sgd", "adam", "adamw", "rmsprop", "adagrad"

// The numbers that an optimizer keeps from step to step. Training can continue later from the state and the parameters.
struct OptimizerState {
  std::uint64_t steps = 0;     // the number of steps made; Adam's formula has it as t
  std::vector<double> first;   // one number per parameter: m of Adam, v of SGD with momentum; otherwise empty
  std::vector<double> second;  // one number per parameter: v of Adam, RMSprop and Adagrad; otherwise empty
  bool operator==(const OptimizerState&) const = default;
};

// The state for parameters of type float.
struct OptimizerState32 {
  std::uint64_t steps = 0;           // as in OptimizerState
  std::vector<float> first, second;  // as in OptimizerState, one number per parameter or empty
};

// Returns the `lr` of the config, whichever optimizer it is for.
GRADWALK_EXPORT double learning_rate(const OptimizerConfig& config);
// Throws an Error if a number of the config is out of its range.
GRADWALK_EXPORT void check_config(const OptimizerConfig& config);
// Returns the state before the first step, for this number of parameters.
GRADWALK_EXPORT OptimizerState initial_state(const OptimizerConfig& config, std::size_t parameters);
// Throws an Error unless the state fits the config and the number of parameters.
GRADWALK_EXPORT void check_state(const OptimizerConfig& config, std::size_t parameters, const OptimizerState& state);
// Makes one step with the learning rate `lr`; that of the config is ignored. The state comes from initial_state() for
// the same number of parameters. data and grad have one number per parameter.
GRADWALK_EXPORT void update(const OptimizerConfig& config, double lr, std::span<double> data,
                            std::span<const double> grad, OptimizerState& state);
GRADWALK_EXPORT void update(const OptimizerConfig& config, double lr, std::span<float> data,
                            std::span<const float> grad, OptimizerState32& state);

// Does the work of update() for the parameters from `begin` to `end` only, so that threads can share a step. It does
// not count the step: add 1 to state.steps before the first part.
GRADWALK_EXPORT void update_part(const OptimizerConfig& config, double lr, std::span<double> data,
                                 std::span<const double> grad, OptimizerState& state, std::size_t begin,
                                 std::size_t end);
GRADWALK_EXPORT void update_part(const OptimizerConfig& config, double lr, std::span<float> data,
                                 std::span<const float> grad, OptimizerState32& state, std::size_t begin,
                                 std::size_t end);

// Updates Values by their gradients.
class GRADWALK_EXPORT Optimizer {
 public:
  // Throws an Error unless the parameters are leaves and all differ.
  Optimizer(std::vector<Value> parameters, const OptimizerConfig& config);

  // Updates all parameters once, with the learning rate of the config or with `lr`. Gradients stay as they are.
  void step() { step(learning_rate(config_)); }
  void step(double lr);
  void zero_grad();  // sets the gradients of all parameters to 0

  const std::vector<Value>& parameters() const { return parameters_; }  // the Values that step() changes
  const OptimizerConfig& config() const { return config_; }             // the optimizer and its settings, as given
  const OptimizerState& state() const { return state_; }                // a copy of it can be saved for set_state()
  void set_state(OptimizerState state);                                 // throws an Error if the state does not fit

 private:
  std::vector<Value> parameters_;
  OptimizerConfig config_;
  OptimizerState state_;
  std::vector<double> data_, grad_;  // of the current step; members so that their memory is reused
};

// The learning rate as a function of the step, counted from 0: optimizer.step(schedule(k)). Any such function will do.
using Schedule = std::function<double(std::uint64_t step)>;

// Returns the schedule that is `lr` at every step.
GRADWALK_EXPORT Schedule constant_rate(double lr);
// Returns the schedule from - (from - to) * step / steps, which stays at `to` after `steps` steps. micrograd's
// 1.0 - 0.9 * k / 100 is linear_decay(1, 0.1, 100).
GRADWALK_EXPORT Schedule linear_decay(double from, double to, std::uint64_t steps);
// Returns the schedule to + (from - to) * (1 + cos(pi * step / steps)) / 2, which stays at `to` after `steps` steps.
GRADWALK_EXPORT Schedule cosine_decay(double from, double to, std::uint64_t steps);
// Returns a schedule that rises linearly to then(0) in `steps` steps, and continues with `then` from its beginning.
GRADWALK_EXPORT Schedule warm_up(std::uint64_t steps, Schedule then);

// Scales the gradients of all parameters by one factor so that their norm is at most `most`. The factor is PyTorch's,
// most / (norm + 1e-6). Returns the norm before; if it is infinite or NaN, the gradients become NaN.
GRADWALK_EXPORT double clip_gradient_norm(std::span<const Value> parameters, double most);
// The same for gradients that are plain numbers.
GRADWALK_EXPORT double clip_norm(std::span<double> gradient, double most);
GRADWALK_EXPORT double clip_norm(std::span<float> gradient, double most);
// Limits the gradient of each parameter to [-most, most].
GRADWALK_EXPORT void clip_gradient_value(std::span<const Value> parameters, double most);

}  // namespace gradwalk
