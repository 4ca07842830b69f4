// SPDX-License-Identifier: MIT
// The rule of an optimizer (update_rules.def) and the numbers that it needs for one step.
#pragma once

#include <cmath>
#include <cstdint>

#include "gradwalk/optim.hpp"

namespace gradwalk::detail {

// The formulas of update_rules.def.
enum class UpdateRule : std::uint8_t {
#define GRADWALK_UPDATE_RULE(name, has_first, has_second, ...) name,
#include "update_rules.def"
#undef GRADWALK_UPDATE_RULE
};

// The numbers of one step, in the type of the parameters. A rule reads some of them.
template <class T> struct StepNumbers {
  T lr = 0, decay = 0, shrink = 0, kept_first = 0, new_first = 0, kept_second = 0, new_second = 0, scale = 0,
    epsilon = 0;
};
// Their names, for structured bindings and for the text of kernels.
#define GRADWALK_STEP_NUMBERS lr, decay, shrink, kept_first, new_first, kept_second, new_second, scale, epsilon

template <class To> StepNumbers<To> converted(const StepNumbers<double>& from) {
  const auto [GRADWALK_STEP_NUMBERS] = from;
  const auto to = [](double number) { return static_cast<To>(number); };
  return {to(lr),          to(decay),      to(shrink), to(kept_first), to(new_first),
          to(kept_second), to(new_second), to(scale),  to(epsilon)};
}

// Computes a power by squaring: std::pow may differ in its last bit from one C library to the next.
inline double power(double base, std::uint64_t exponent) {
  double result = 1;
  for (; exponent != 0; exponent >>= 1, base *= base)
    if ((exponent & 1) != 0) result *= base;
  return result;
}

inline UpdateRule rule_of(const SGD& config) { return config.momentum != 0 ? UpdateRule::momentum : UpdateRule::sgd; }
inline UpdateRule rule_of(const Adam&) { return UpdateRule::adam; }
inline UpdateRule rule_of(const AdamW&) { return UpdateRule::adam; }
inline UpdateRule rule_of(const RMSprop&) { return UpdateRule::squares; }
inline UpdateRule rule_of(const Adagrad&) { return UpdateRule::squares; }
inline UpdateRule rule_of(const OptimizerConfig& config) {
  return std::visit([](const auto& typed) { return rule_of(typed); }, config);
}

// The numbers of a step with the learning rate `lr`; `step` counts from 1.
inline StepNumbers<double> numbers_of(const SGD& config, double lr, std::uint64_t) {
  return {.lr = lr, .decay = config.weight_decay, .kept_first = config.momentum};
}
template <class Config> StepNumbers<double> numbers_of_moments(const Config& config, double lr, std::uint64_t step) {
  return {.lr = lr / (1 - power(config.beta1, step)),
          .shrink = 1,
          .new_first = 1 - config.beta1,
          .kept_second = config.beta2,
          .new_second = 1 - config.beta2,
          .scale = std::sqrt(1 - power(config.beta2, step)),
          .epsilon = config.epsilon};
}
inline StepNumbers<double> numbers_of(const Adam& config, double lr, std::uint64_t step) {
  return numbers_of_moments(config, lr, step);
}
inline StepNumbers<double> numbers_of(const AdamW& config, double lr, std::uint64_t step) {
  StepNumbers<double> numbers = numbers_of_moments(config, lr, step);
  numbers.shrink = 1 - lr * config.weight_decay;
  return numbers;
}
inline StepNumbers<double> numbers_of(const RMSprop& config, double lr, std::uint64_t) {
  return {.lr = lr, .kept_second = config.alpha, .new_second = 1 - config.alpha, .epsilon = config.epsilon};
}
inline StepNumbers<double> numbers_of(const Adagrad& config, double lr, std::uint64_t) {
  return {.lr = lr, .kept_second = 1, .new_second = 1, .epsilon = config.epsilon};
}
inline StepNumbers<double> numbers_of(const OptimizerConfig& config, double lr, std::uint64_t step) {
  return std::visit([&](const auto& typed) { return numbers_of(typed, lr, step); }, config);
}

}  // namespace gradwalk::detail
