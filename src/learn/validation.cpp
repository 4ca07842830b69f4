// SPDX-License-Identifier: MIT
// Validation: after each epoch the run computes its loss on the rows that it holds out, and keeps the parameters with
// the lowest loss. A run is done when its patience is exhausted.
#include <cmath>

#include "preparing.hpp"

namespace gradwalk {

TrainingSplit training_split(const Dataset& data, const Recipe& recipe) {
  if (!(recipe.validation > 0)) return {data, {}};
  detail::check_data(data);
  check_recipe(recipe);
  Split parts = split(data, recipe.validation, recipe.seed);
  return {std::move(parts.train), std::move(parts.test)};
}

std::optional<double> TrainingRun::validate() {
  if (validation_.rows() == 0 || state_.steps % batches_.in_an_epoch() != 0) return std::nullopt;
  const double loss = step_->loss(validation_);
  BestParameters& best = state_.best;
  if (std::isfinite(loss) && (best.step == 0 || loss < best.loss)) {
    if (updating_step() != nullptr) {
      write_back();
      read_parameters();
    }
    best = {state_.steps, loss, numbers_};
  }
  return loss;
}

bool TrainingRun::is_done() const {
  return recipe_.patience > 0 && state_.best.step > 0 && state_.steps - state_.best.step >= recipe_.patience;
}

void TrainingRun::set_patience(std::uint64_t steps) {
  Recipe recipe = recipe_;
  recipe.patience = steps;
  check_recipe(recipe);
  recipe_ = std::move(recipe);
}

LearningSplit learning_split(const Dataset& data, const Recipe& recipe) {
  TrainingSplit parts = training_split(data, recipe);
  return {std::move(parts.training), std::move(parts.validation)};
}

AnyModel TrainingRun::kept_model() const { return best_model(); }

AnyModel TrainingRun::best_model() const {
  if (state_.best.step == 0) return any_model();
  AnyModel result = detail::with_own_weights(model_);
  std::vector<Value> parameters = model_of(result).network.parameters();
  for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i].data() = state_.best.parameters[i];
  return result;
}

void TrainingRun::check_best(const TrainingState& state) const {
  const BestParameters& best = state.best;
  const bool is_known = best.step > 0;
  const bool fits = best.step <= state.steps && (!is_known || (recipe_.validation > 0 && std::isfinite(best.loss))) &&
                    best.parameters.size() == (is_known ? parameters_.size() : 0);
  if (!fits) throw Error("set_state", "best parameters of this run or none", "others", "give what state() returned");
}

}  // namespace gradwalk
