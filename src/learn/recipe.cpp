// SPDX-License-Identifier: MIT
// Recipes: learning-rate schedules, the ranges of the fields, and the recipes that gradwalk suggests.
#include <array>
#include <cmath>

#include "gradwalk/recipe.hpp"
#include "text/numbers.hpp"

namespace gradwalk {
namespace {

void need_at_least_0(const char* needs, double got) {
  const bool fits = got >= 0 && std::isfinite(got);
  if (!fits) throw Error("train", needs, detail::short_number(got), "give a finite number that is not negative");
}

}  // namespace

std::string_view name(LearningRateSchedule::Kind kind) {
  constexpr std::array<std::string_view, 3> names{"constant", "linear", "cosine"};
  return names[static_cast<std::size_t>(kind)];
}

Schedule schedule_of(const LearningRateSchedule& schedule, double lr) {
  using enum LearningRateSchedule::Kind;
  const double final_lr = lr * schedule.final;
  Schedule rate = schedule.kind == constant ? constant_rate(lr)
                  : schedule.kind == linear ? linear_decay(lr, final_lr, schedule.steps)
                                            : cosine_decay(lr, final_lr, schedule.steps);
  if (schedule.warm_up > 0) rate = warm_up(schedule.warm_up, std::move(rate));
  if (schedule.begin == 0) return rate;
  return [begin = schedule.begin, rate = std::move(rate)](std::uint64_t step) {
    return rate(step < begin ? 0 : step - begin);
  };
}

std::optional<std::uint64_t> end_of(const LearningRateSchedule& schedule) {
  if (schedule.kind == LearningRateSchedule::Kind::constant) return std::nullopt;
  return schedule.begin + schedule.warm_up + schedule.steps;
}

void check_recipe(const Recipe& recipe) {
  check_config(recipe.optimizer);
  need_at_least_0("l1 >= 0", recipe.l1);
  need_at_least_0("l2 >= 0", recipe.l2);
  need_at_least_0("clip >= 0", recipe.clip);
  need_at_least_0("a final rate >= 0", recipe.rate.final);
  const bool is_chance = recipe.dropout >= 0 && recipe.dropout < 1;
  if (!is_chance) throw Error("train", "0 <= dropout < 1", detail::short_number(recipe.dropout), "0.2 is usual");
  if (recipe.dropout > 0 && recipe.hidden.empty())
    throw Error("train", "hidden neurons for dropout", "none", "add hidden layers, or leave out dropout");
  const bool is_share = recipe.validation >= 0 && recipe.validation < 1;
  if (!is_share) throw Error("train", "0 <= validation < 1", detail::short_number(recipe.validation), "0.1 is usual");
  if (recipe.patience > 0 && recipe.validation == 0)
    throw Error("train", "validation rows for patience", "none", "set validation, for example to 0.1");
  constexpr std::uint64_t most = std::uint64_t{1} << 62;  // so that the sum of the three does not overflow
  for (const std::uint64_t steps : {recipe.rate.begin, recipe.rate.warm_up, recipe.rate.steps})
    if (steps >= most)
      throw Error("train", "a schedule of fewer than 2^62 steps", std::to_string(steps), "give fewer steps");
  schedule_of(recipe.rate, learning_rate(recipe.optimizer));  // throws if the schedule has no steps
}

Recipe micrograd_recipe() {
  return {.init = Init::uniform,
          .loss = LossKind::hinge,
          .optimizer = SGD{.lr = 1},
          .rate = {.kind = LearningRateSchedule::Kind::linear, .final = 0.1, .steps = 100},
          .batch = 0,
          .standardise = false};
}

// This penalty was the best of four on three of the data sets iris, wine, breast cancer and digits.
Recipe default_recipe(std::size_t classes) {
  return {.loss = classes == 2 ? LossKind::bce : LossKind::softmax, .l2 = 0.003};
}

// This pair of rate and penalty was the best of eight on diabetes, make_regression and make_friedman1, with five test
// splits of each. tests/python/test_regression.py checks it on other splits.
Recipe regression_recipe() { return {.loss = LossKind::mse, .optimizer = Adam{.lr = 0.003}, .l2 = 0.01}; }

}  // namespace gradwalk
