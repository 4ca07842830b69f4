// SPDX-License-Identifier: MIT
// A recipe: the hyperparameters of a training run. Data, recipe, kind of step (BatchStep::kind()) and size of
// the team together determine a run, bit for bit.
//
// The fields of a recipe are listed once, for everything that reads, writes or shows recipes: see for_each_field().
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "gradwalk/model.hpp"
#include "gradwalk/optim.hpp"

namespace gradwalk {

// How the learning rate changes during a run: first it may rise (warm-up), then it falls to its final value, and there
// it stays. The schedule does not depend on how many steps are made, so a run can stop anywhere and continue later.
struct LearningRateSchedule {
  // How the rate goes from its first to its last value.
  enum class Kind { constant, linear, cosine };
  Kind kind = Kind::cosine;    // the shape of the schedule
  double final = 0;            // the final rate, as a fraction of the first
  std::uint64_t steps = 2000;  // the number of steps in which the rate falls, after the warm-up
  std::uint64_t warm_up = 0;   // the number of steps in which the rate rises
  std::uint64_t begin = 0;     // the number of steps that the run had made when the schedule began
};
using RatePlan [[deprecated("use LearningRateSchedule")]] = LearningRateSchedule;

// Every shape of a schedule.
inline constexpr std::array all_schedules{LearningRateSchedule::Kind::constant, LearningRateSchedule::Kind::linear,
                                          LearningRateSchedule::Kind::cosine};
GRADWALK_EXPORT std::string_view name(LearningRateSchedule::Kind kind);  // "cosine"
// Returns the learning rate as a function of the step, counted from 0 at the start of the run. `lr` is the first rate.
GRADWALK_EXPORT Schedule schedule_of(const LearningRateSchedule& schedule, double lr);
// Returns the number of steps after which the rate has its final value; nothing for a constant rate.
GRADWALK_EXPORT std::optional<std::uint64_t> end_of(const LearningRateSchedule& schedule);

// The hyperparameters of a run. Start from one of the recipes below, and change what you need.
struct Recipe {
  std::vector<std::size_t> hidden = {16, 16};    // the number of neurons in each hidden layer
  Activation activation = Activation::relu;      // the activation of the hidden layers
  Init init = Init::he;                          // the distribution of the initial weights
  LossKind loss = LossKind::softmax;             // the loss to minimise
  OptimizerConfig optimizer = Adam{.lr = 0.01};  // its rate is the first rate of the schedule
  LearningRateSchedule rate = {};                // how the learning rate changes from step to step
  std::size_t batch = 32;                        // rows per step; 0: all rows in every step, in their order
  double l1 = 0, l2 = 1e-4;   // penalties: l1 * (sum of |parameter|) + l2 * (sum of squares) is added to the loss
  double clip = 0;            // the largest norm of the gradient; 0: no limit
  bool standardise = true;    // scale each feature to mean 0 and standard deviation 1
  std::uint64_t seed = 1337;  // the seed of the weights and of the order of the rows
  bool balance = false;       // give rows of rare classes more weight, so that every class has the same total
  // The fraction of the rows that is held out for validation. The run measures its loss on them after each epoch and
  // keeps the parameters with the lowest one. With 0 no rows are held out, and the last parameters count.
  double validation = 0;
  std::uint64_t patience = 0;  // the run is done after this many steps without a lower validation loss; 0: never
  double dropout = 0;          // the probability that a hidden neuron is left out, drawn for each row of each step
};

// Throws an Error if a field of the recipe is out of its range.
GRADWALK_EXPORT void check_recipe(const Recipe& recipe);

GRADWALK_EXPORT Recipe micrograd_recipe();                   // the recipe of micrograd's demo on moons: 100 steps
GRADWALK_EXPORT Recipe default_recipe(std::size_t classes);  // a good start for data with classes: 2,000 steps
GRADWALK_EXPORT Recipe regression_recipe();                  // a good start for data with numbers: 2,000 steps

// GRADWALK_FIELDS(Struct, field, ...) lists the fields of a part of a recipe, with their names in model files and in
// their order. Everything that reads, writes or shows recipes goes through these lists, so a new field is one line in
// its struct, one word here, and an option in cli/recipe.cpp. A list that lacks a field of its struct does not compile.
#define GRADWALK_FIELDS(Struct, ...)                                             \
  constexpr std::string_view field_names(const Struct&) { return #__VA_ARGS__; } \
  constexpr auto fields_of(FieldsOf<Struct> auto& object) {                      \
    auto& [__VA_ARGS__] = object;                                                \
    return std::tie(__VA_ARGS__);                                                \
  }
// A struct whose fields are listed, const or not.
template <class Type, class Struct>
concept FieldsOf = std::same_as<std::remove_const_t<Type>, Struct>;
GRADWALK_FIELDS(SGD, lr, momentum, weight_decay)
GRADWALK_FIELDS(Adam, lr, beta1, beta2, epsilon)
GRADWALK_FIELDS(AdamW, lr, beta1, beta2, epsilon, weight_decay)
GRADWALK_FIELDS(RMSprop, lr, alpha, epsilon)
GRADWALK_FIELDS(Adagrad, lr, epsilon)
GRADWALK_FIELDS(LearningRateSchedule, kind, final, steps, warm_up, begin)
GRADWALK_FIELDS(Recipe, hidden, activation, init, loss, optimizer, rate, batch, l1, l2, clip, standardise, seed,
                balance, validation, patience, dropout)
#undef GRADWALK_FIELDS

// Calls visit(name, field, ...) for each field of one or several objects of the same type. The name is a std::string,
// and each object contributes one field.
template <class Visit, class First, class... Rest> void for_each_field(Visit visit, First& first, Rest&... rest) {
  std::string_view names = field_names(first);
  const auto next_name = [&] {
    const std::size_t end = names.find(',');
    const std::string name(names.substr(0, end));
    names = end == std::string_view::npos ? std::string_view() : names.substr(end + 2);
    return name;
  };
  const auto visit_field = [&]<std::size_t i>(std::integral_constant<std::size_t, i>) {
    visit(next_name(), std::get<i>(fields_of(first)), std::get<i>(fields_of(rest))...);
  };
  [&]<std::size_t... i>(std::index_sequence<i...>) {
    (visit_field(std::integral_constant<std::size_t, i>()), ...);
  }(std::make_index_sequence<std::tuple_size_v<decltype(fields_of(first))>>());
}

// All values of an enumeration in a recipe.
constexpr const auto& choices(Activation) { return all_activations; }
constexpr const auto& choices(Init) { return all_inits; }
constexpr const auto& choices(LossKind) { return all_losses; }
constexpr const auto& choices(LearningRateSchedule::Kind) { return all_schedules; }

// Returns the value with this name, or nothing if no value has it.
template <class Enum> std::optional<Enum> from_name(std::string_view text) {
  for (const Enum choice : choices(Enum{}))
    if (name(choice) == text) return choice;
  return std::nullopt;
}

}  // namespace gradwalk
