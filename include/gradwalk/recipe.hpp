// SPDX-License-Identifier: MIT
// A recipe: the hyperparameters of a training run. Data and recipe together determine a run, bit for bit.
//
// fields_of<Recipe> lists its fields, for everything that reads, writes or shows recipes.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include "gradwalk/model.hpp"
#include "gradwalk/optim.hpp"

namespace gradwalk {

// How the learning rate changes during a run: first it may rise (warm-up), then it falls to its final value, and there
// it stays. The schedule does not depend on how many steps are made, so a run can stop anywhere and continue later.
struct LearningRateSchedule {
  enum class Kind { constant, linear, cosine } kind = Kind::cosine;
  double final = 0;            // the final rate, as a fraction of the first
  std::uint64_t steps = 2000;  // the number of steps in which the rate falls, after the warm-up
  std::uint64_t warm_up = 0;   // the number of steps in which the rate rises
  std::uint64_t begin = 0;     // the number of steps that the run had made when the schedule began
};
using RatePlan [[deprecated("use LearningRateSchedule")]] = LearningRateSchedule;

inline constexpr std::array all_schedules{LearningRateSchedule::Kind::constant, LearningRateSchedule::Kind::linear,
                                          LearningRateSchedule::Kind::cosine};
GRADWALK_EXPORT std::string_view name(LearningRateSchedule::Kind kind);  // "cosine"
// Returns the learning rate as a function of the step, counted from 0 at the start of the run. `lr` is the first rate.
GRADWALK_EXPORT Schedule schedule_of(const LearningRateSchedule& schedule, double lr);
// Returns the number of steps after which the rate has its final value; nothing for a constant rate.
GRADWALK_EXPORT std::optional<std::uint64_t> end_of(const LearningRateSchedule& schedule);

struct Recipe {
  std::vector<std::size_t> hidden = {16, 16};  // the number of neurons in each hidden layer
  Activation activation = Activation::relu;    // of the hidden layers
  Init init = Init::he;
  LossKind loss = LossKind::softmax;
  OptimizerConfig optimizer = Adam{.lr = 0.01};
  LearningRateSchedule rate = {};
  std::size_t batch = 32;     // rows per step; 0: all rows in every step, in their order
  double l1 = 0, l2 = 1e-4;   // penalties: l1 * (sum of |parameter|) + l2 * (sum of squares) is added to the loss
  double clip = 0;            // the largest norm of the gradient; 0: no limit
  bool standardise = true;    // scale each feature to mean 0 and standard deviation 1
  std::uint64_t seed = 1337;  // of the weights and of the order of the rows
  bool balance = false;       // give rows of rare classes more weight, so that every class has the same total
  // The fraction of the rows that is held out for validation. The run measures its loss on them after each epoch and
  // keeps the parameters with the lowest one. With 0 no rows are held out, and the last parameters count.
  double validation = 0;
  std::uint64_t patience = 0;  // the run is done after this many steps without a lower validation loss; 0: never
  double dropout = 0;          // the probability that a hidden neuron is left out, drawn for each row of each step
};

// Throws an Error if a field of the recipe is out of its range.
GRADWALK_EXPORT void check_recipe(const Recipe& recipe);

GRADWALK_EXPORT Recipe micrograd_recipe();                   // of micrograd's demo on moons: 100 steps
GRADWALK_EXPORT Recipe default_recipe(std::size_t classes);  // a good start for data with classes: 2,000 steps
GRADWALK_EXPORT Recipe regression_recipe();                  // a good start for data with numbers: 2,000 steps

// A field of a recipe: its name in model files and its member. `Since` is the version that introduced the field; model
// files of earlier versions lack it, and then its default applies.
enum class Since { v0_1, v0_2 };
template <class Struct, class Type> struct RecipeField {
  const char* name;
  Type Struct::* member;
  Since since = Since::v0_1;
};
template <class Struct, class Type> RecipeField(const char*, Type Struct::*) -> RecipeField<Struct, Type>;
template <class Struct, class Type> RecipeField(const char*, Type Struct::*, Since) -> RecipeField<Struct, Type>;

// The fields of each part of a recipe, in the order of model files. Everything that reads, writes or shows recipes goes
// through these lists: a new field is one line in its struct, one here, and an option in cli/recipe.cpp.
template <class Struct> inline constexpr auto fields_of = std::tuple{};

template <> inline constexpr auto fields_of<Recipe> = std::tuple{
    RecipeField{"hidden", &Recipe::hidden},
    RecipeField{"activation", &Recipe::activation},
    RecipeField{"init", &Recipe::init},
    RecipeField{"loss", &Recipe::loss},
    RecipeField{"optimizer", &Recipe::optimizer},
    RecipeField{"rate", &Recipe::rate},
    RecipeField{"batch", &Recipe::batch},
    RecipeField{"l1", &Recipe::l1},
    RecipeField{"l2", &Recipe::l2},
    RecipeField{"clip", &Recipe::clip},
    RecipeField{"standardise", &Recipe::standardise},
    RecipeField{"seed", &Recipe::seed},
    RecipeField{"balance", &Recipe::balance, Since::v0_2},
    RecipeField{"validation", &Recipe::validation, Since::v0_2},
    RecipeField{"patience", &Recipe::patience, Since::v0_2},
    RecipeField{"dropout", &Recipe::dropout, Since::v0_2},
};
template <> inline constexpr auto fields_of<LearningRateSchedule> = std::tuple{
    RecipeField{"kind", &LearningRateSchedule::kind},
    RecipeField{"final", &LearningRateSchedule::final},
    RecipeField{"steps", &LearningRateSchedule::steps},
    RecipeField{"warm_up", &LearningRateSchedule::warm_up},
    RecipeField{"begin", &LearningRateSchedule::begin, Since::v0_2},
};
template <> inline constexpr auto fields_of<SGD> = std::tuple{
    RecipeField{"lr", &SGD::lr},
    RecipeField{"momentum", &SGD::momentum},
    RecipeField{"weight_decay", &SGD::weight_decay},
};
template <> inline constexpr auto fields_of<Adam> = std::tuple{
    RecipeField{"lr", &Adam::lr},
    RecipeField{"beta1", &Adam::beta1},
    RecipeField{"beta2", &Adam::beta2},
    RecipeField{"epsilon", &Adam::epsilon},
};
template <> inline constexpr auto fields_of<AdamW> = std::tuple{
    RecipeField{"lr", &AdamW::lr},
    RecipeField{"beta1", &AdamW::beta1},
    RecipeField{"beta2", &AdamW::beta2},
    RecipeField{"epsilon", &AdamW::epsilon},
    RecipeField{"weight_decay", &AdamW::weight_decay},
};
template <> inline constexpr auto fields_of<RMSprop> = std::tuple{
    RecipeField{"lr", &RMSprop::lr},
    RecipeField{"alpha", &RMSprop::alpha},
    RecipeField{"epsilon", &RMSprop::epsilon},
};
template <> inline constexpr auto fields_of<Adagrad> = std::tuple{
    RecipeField{"lr", &Adagrad::lr},
    RecipeField{"epsilon", &Adagrad::epsilon},
};

// Calls visit(field) for each field of a Recipe, a LearningRateSchedule or an optimizer's config.
template <class Struct, class Visit> void for_each_field(Visit visit) {
  std::apply([&](const auto&... field) { (visit(field), ...); }, fields_of<Struct>);
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
