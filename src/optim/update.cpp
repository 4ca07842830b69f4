// SPDX-License-Identifier: MIT
// The arithmetic of the optimizers on plain numbers.
#include <array>
#include <cmath>

#include "gradwalk/optim.hpp"
#include "text/numbers.hpp"
#include "update_rules.hpp"

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

template <class T> T root(T x) { return std::sqrt(x); }

// Applies a rule to some parameters. The moments that it does not keep have no memory. Numbers are copied to locals:
// nothing else can write to these, so compilers can vectorise the loop.
#define GRADWALK_UPDATE_RULE(name, has_first, has_second, ...)                                                \
  template <class T, class State> void apply_##name(const detail::StepNumbers<T>& numbers, std::span<T> data, \
                                                    std::span<const T> grad, State& state, std::size_t begin, \
                                                    std::size_t end) {                                        \
    const auto [GRADWALK_STEP_NUMBERS] = numbers;                                                             \
    for (std::size_t i = begin; i < end; ++i) {                                                               \
      const T g = grad[i];                                                                                    \
      T p = data[i];                                                                                          \
      [[maybe_unused]] T m = has_first ? state.first[i] : T(0), v = has_second ? state.second[i] : T(0);      \
      __VA_ARGS__                                                                                             \
      data[i] = p;                                                                                            \
      if (has_first) state.first[i] = m;                                                                      \
      if (has_second) state.second[i] = v;                                                                    \
    }                                                                                                         \
  }
#include "update_rules.def"
#undef GRADWALK_UPDATE_RULE

template <class T, class State> void update_any(const OptimizerConfig& config, double lr, std::span<T> data,
                                                std::span<const T> grad, State& state, std::size_t begin,
                                                std::size_t end) {
  const auto numbers = detail::converted<T>(detail::numbers_of(config, lr, state.steps));
  switch (detail::rule_of(config)) {
#define GRADWALK_UPDATE_RULE(name, has_first, has_second, ...) \
  case detail::UpdateRule::name: return apply_##name<T>(numbers, data, grad, state, begin, end);
#include "update_rules.def"
#undef GRADWALK_UPDATE_RULE
  }
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
