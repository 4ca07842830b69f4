// SPDX-License-Identifier: MIT
// The arithmetic of the optimizers, with the operations in PyTorch's order.
#include <array>
#include <cmath>
#include <type_traits>

#include "gradwalk/optim.hpp"
#include "text/numbers.hpp"

namespace gradwalk {
namespace {

void need(bool holds, const char* rule, const char* needs, double got, const char* advice) {
  if (!holds) throw Error(rule, needs, detail::format_number(got), advice);
}

void need_at_least_0(const char* rule, const char* needs, double got) {
  need(got >= 0 && std::isfinite(got), rule, needs, got, "give a finite number that is not negative");
}

void check_rule(const SGD& rule) {
  need_at_least_0("SGD", "lr >= 0", rule.lr);
  need_at_least_0("SGD", "momentum >= 0", rule.momentum);
  need_at_least_0("SGD", "weight_decay >= 0", rule.weight_decay);
}

template <class Rule> void check_moments(const char* name, const Rule& rule) {
  need_at_least_0(name, "lr >= 0", rule.lr);
  need(rule.beta1 >= 0 && rule.beta1 < 1, name, "0 <= beta1 < 1", rule.beta1, "0.9 is usual");
  need(rule.beta2 >= 0 && rule.beta2 < 1, name, "0 <= beta2 < 1", rule.beta2, "0.999 is usual");
  need_at_least_0(name, "epsilon >= 0", rule.epsilon);
}

void check_rule(const Adam& rule) { check_moments("Adam", rule); }

void check_rule(const AdamW& rule) {
  check_moments("AdamW", rule);
  need_at_least_0("AdamW", "weight_decay >= 0", rule.weight_decay);
}

void check_rule(const RMSprop& rule) {
  need_at_least_0("RMSprop", "lr >= 0", rule.lr);
  need(rule.alpha >= 0 && rule.alpha < 1, "RMSprop", "0 <= alpha < 1", rule.alpha, "0.99 is usual");
  need_at_least_0("RMSprop", "epsilon >= 0", rule.epsilon);
}

void check_rule(const Adagrad& rule) {
  need_at_least_0("Adagrad", "lr >= 0", rule.lr);
  need_at_least_0("Adagrad", "epsilon >= 0", rule.epsilon);
}

// Computes a power by squaring: std::pow may differ in its last bit from one C library to the next.
double power(double base, std::uint64_t exponent) {
  double result = 1;
  for (; exponent != 0; exponent >>= 1, base *= base)
    if ((exponent & 1) != 0) result *= base;
  return result;
}

// The config and the moments are copied to locals. Nothing else can write to these, so compilers can vectorise the
// loops.
template <class T, class State> void apply(SGD rule, double given_lr, std::span<T> data, std::span<const T> grad,
                                           State& state, std::size_t begin, std::size_t end) {
  const T lr = static_cast<T>(given_lr), decay = static_cast<T>(rule.weight_decay);
  const T momentum = static_cast<T>(rule.momentum);
  for (std::size_t i = begin; i < end; ++i) {
    T velocity = grad[i] + decay * data[i];
    if (momentum != 0) velocity = state.first[i] = momentum * state.first[i] + velocity;
    data[i] -= lr * velocity;
  }
}

// Updates by the running mean of squares v: v = kept * v + taken * grad^2.
template <class T, class State> void apply_squares(double given_lr, double given_kept, double given_taken,
                                                   double given_epsilon, std::span<T> data, std::span<const T> grad,
                                                   State& state, std::size_t begin, std::size_t end) {
  const T lr = static_cast<T>(given_lr), kept = static_cast<T>(given_kept), taken = static_cast<T>(given_taken);
  const T epsilon = static_cast<T>(given_epsilon);
  for (std::size_t i = begin; i < end; ++i) {
    const T g = grad[i], v = kept * state.second[i] + taken * g * g;
    data[i] -= lr * g / (std::sqrt(v) + epsilon);
    state.second[i] = v;
  }
}

template <class T, class State> void apply(RMSprop rule, double lr, std::span<T> data, std::span<const T> grad,
                                           State& state, std::size_t begin, std::size_t end) {
  apply_squares(lr, rule.alpha, 1 - rule.alpha, rule.epsilon, data, grad, state, begin, end);
}

template <class T, class State> void apply(Adagrad rule, double lr, std::span<T> data, std::span<const T> grad,
                                           State& state, std::size_t begin, std::size_t end) {
  apply_squares(lr, 1.0, 1.0, rule.epsilon, data, grad, state, begin, end);
}

template <class Rule, class T, class State> void apply(Rule rule, double lr, std::span<T> data, std::span<const T> grad,
                                                       State& state, std::size_t begin, std::size_t end) {
  const T rate = static_cast<T>(lr / (1 - power(rule.beta1, state.steps)));
  const T scale = static_cast<T>(std::sqrt(1 - power(rule.beta2, state.steps)));
  const T new_first = static_cast<T>(1 - rule.beta1), epsilon = static_cast<T>(rule.epsilon);
  const T old_second = static_cast<T>(rule.beta2), new_second = static_cast<T>(1 - rule.beta2);
  for (std::size_t i = begin; i < end; ++i) {
    T p = data[i], m = state.first[i], v = state.second[i];
    const T g = grad[i];
    if constexpr (std::is_same_v<Rule, AdamW>) p *= static_cast<T>(1 - lr * rule.weight_decay);
    m += new_first * (g - m);
    v = old_second * v + new_second * g * g;
    data[i] = p - rate * m / (std::sqrt(v) / scale + epsilon);
    state.first[i] = m;
    state.second[i] = v;
  }
}

template <class T, class State> void update_any(const OptimizerConfig& config, double lr, std::span<T> data,
                                                std::span<const T> grad, State& state, std::size_t begin,
                                                std::size_t end) {
  std::visit([&](const auto& rule) { apply(rule, lr, data, grad, state, begin, end); }, config);
}

}  // namespace

std::string_view name(const OptimizerConfig& config) {
  constexpr std::array<std::string_view, 5> names{"sgd", "adam", "adamw", "rmsprop", "adagrad"};
  return names[config.index()];
}

double learning_rate(const OptimizerConfig& config) {
  return std::visit([](const auto& rule) { return rule.lr; }, config);
}

void check_config(const OptimizerConfig& config) {
  std::visit([](const auto& rule) { check_rule(rule); }, config);
}

OptimizerState initial_state(const OptimizerConfig& config, std::size_t parameters) {
  OptimizerState state;
  const SGD* sgd = std::get_if<SGD>(&config);
  const bool is_adam = std::holds_alternative<Adam>(config) || std::holds_alternative<AdamW>(config);
  if (is_adam || (sgd != nullptr && sgd->momentum != 0)) state.first.assign(parameters, 0.0);
  if (sgd == nullptr) state.second.assign(parameters, 0.0);
  return state;
}

void check_state(const OptimizerConfig& config, std::size_t parameters, const OptimizerState& state) {
  const auto sizes = [](const OptimizerState& moments) {
    return std::to_string(moments.first.size()) + " and " + std::to_string(moments.second.size());
  };
  const std::string wanted = sizes(initial_state(config, parameters)), got = sizes(state);
  if (got != wanted)
    throw Error("set_state", "moments of " + wanted + " numbers", got,
                "give the state of the same optimizer with as many parameters");
}

void update(const OptimizerConfig& config, double lr, std::span<double> data, std::span<const double> grad,
            OptimizerState& state) {
  ++state.steps;
  update_any(config, lr, data, grad, state, 0, data.size());
}

void update(const OptimizerConfig& config, double lr, std::span<float> data, std::span<const float> grad,
            OptimizerState32& state) {
  ++state.steps;
  update_any(config, lr, data, grad, state, 0, data.size());
}

void update_part(const OptimizerConfig& config, double lr, std::span<double> data, std::span<const double> grad,
                 OptimizerState& state, std::size_t begin, std::size_t end) {
  update_any(config, lr, data, grad, state, begin, end);
}

void update_part(const OptimizerConfig& config, double lr, std::span<float> data, std::span<const float> grad,
                 OptimizerState32& state, std::size_t begin, std::size_t end) {
  update_any(config, lr, data, grad, state, begin, end);
}

}  // namespace gradwalk
