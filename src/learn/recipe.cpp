// SPDX-License-Identifier: MIT
// Recipes: how the rate changes, what is in range, and the ones we give.
#include <array>
#include <cmath>

#include "gradwalk/training.hpp"
#include "text/numbers.hpp"

namespace gradwalk {
namespace {

void need_at_least_0(const char* needs, double got) {
  const bool fits = got >= 0 && std::isfinite(got);
  if (!fits) throw Error("train", needs, detail::short_number(got), "give a finite number that is not negative");
}

}  // namespace

std::string_view name(RatePlan::Kind kind) {
  constexpr std::array<std::string_view, 3> names{"constant", "linear", "cosine"};
  return names[static_cast<std::size_t>(kind)];
}

Schedule schedule_of(const RatePlan& plan, double lr) {
  Schedule schedule = plan.kind == RatePlan::Kind::constant ? constant_rate(lr)
                      : plan.kind == RatePlan::Kind::linear ? linear_decay(lr, lr * plan.final, plan.steps)
                                                            : cosine_decay(lr, lr * plan.final, plan.steps);
  if (plan.warm_up > 0) schedule = warm_up(plan.warm_up, std::move(schedule));
  if (plan.begin == 0) return schedule;
  return [begin = plan.begin, schedule = std::move(schedule)](std::uint64_t step) {
    return schedule(step < begin ? 0 : step - begin);
  };
}

std::optional<std::uint64_t> end_of(const RatePlan& plan) {
  if (plan.kind == RatePlan::Kind::constant) return std::nullopt;
  return plan.begin + plan.warm_up + plan.steps;
}

void check_recipe(const Recipe& recipe) {
  check_config(recipe.optimizer);
  need_at_least_0("l1 >= 0", recipe.l1);
  need_at_least_0("l2 >= 0", recipe.l2);
  need_at_least_0("clip >= 0", recipe.clip);
  need_at_least_0("a final share of the rate >= 0", recipe.rate.final);
  const bool is_chance = recipe.dropout >= 0 && recipe.dropout < 1;
  if (!is_chance) throw Error("train", "0 <= dropout < 1", detail::short_number(recipe.dropout), "0.2 is usual");
  if (recipe.dropout > 0 && recipe.hidden.empty())
    throw Error("train", "hidden neurons, for dropout to leave some out", "none", "give hidden layers, or no dropout");
  const bool is_share = recipe.validation >= 0 && recipe.validation < 1;
  if (!is_share) throw Error("train", "0 <= validation < 1", detail::short_number(recipe.validation), "0.1 is usual");
  if (recipe.patience > 0 && recipe.validation == 0)
    throw Error("train", "rows kept for validation, to be patient with", "none", "give a share of them, such as 0.1");
  constexpr std::uint64_t most = std::uint64_t{1} << 62;  // so that their sum can be counted
  for (const std::uint64_t steps : {recipe.rate.begin, recipe.rate.warm_up, recipe.rate.steps})
    if (steps >= most)
      throw Error("train", "a plan of fewer than 2^62 steps", std::to_string(steps), "plan what can be made");
  schedule_of(recipe.rate, learning_rate(recipe.optimizer));  // it checks its steps
}

Recipe micrograd_recipe() {
  return {.init = Init::uniform,
          .loss = LossKind::hinge,
          .optimizer = SGD{.lr = 1},
          .rate = {.kind = RatePlan::Kind::linear, .final = 0.1, .steps = 100},
          .batch = 0,
          .standardise = false};
}

// The penalty was chosen on iris, wine, breast cancer and digits: it is the best of four values on three of them.
Recipe default_recipe(std::size_t classes) {
  return {.loss = classes == 2 ? LossKind::bce : LossKind::softmax, .l2 = 0.003};
}

// Rate and penalty were chosen on diabetes, make_regression and make_friedman1, of eight pairs, by five test splits of
// each; tests/python/test_regression.py judges them by others.
Recipe regression_recipe() { return {.loss = LossKind::mse, .optimizer = Adam{.lr = 0.003}, .l2 = 0.01}; }

}  // namespace gradwalk
