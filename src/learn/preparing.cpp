// SPDX-License-Identifier: MIT
// The start of a run: checked and standardised data, and a model for it.
#include "preparing.hpp"

#include <algorithm>
#include <cmath>

#include "data/names.hpp"
#include "data/shape.hpp"
#include "text/numbers.hpp"

namespace gradwalk {
namespace {

// Row weights that give every class the same total weight. The weights of all rows add up to the number of rows.
std::vector<double> balanced_weights(const Dataset& data) {
  std::vector<std::size_t> counts(data.label_names.size());
  for (const std::size_t label : data.labels) ++counts[label];
  const auto present = static_cast<double>(counts.size()) -
                       static_cast<double>(std::count(counts.begin(), counts.end(), std::size_t{0}));
  std::vector<double> weights;
  weights.reserve(data.rows());
  for (const std::size_t label : data.labels)
    weights.push_back(static_cast<double>(data.rows()) / (present * static_cast<double>(counts[label])));
  return weights;
}

// Computes the mean and the standard deviation of the targets, as of a table with one column.
void fit_target(Regressor& model, const Dataset& data) {
  Dataset column{1, data.targets, {}, {}, {}, data.targets};
  const Standardisation fitted = Standardisation::fit(column);
  model.target_name = data.target_name;
  model.target_mean = fitted.mean[0];
  model.target_deviation = fitted.deviation[0];
}

}  // namespace

namespace detail {

void check_targets(const Dataset& data) {
  if (!is_name(data.target_name)) throw Error("train", name_rule, shown(data.target_name), "correct the name");
  for (const double target : data.targets)
    if (!std::isfinite(target))
      throw Error("train", "finite targets", short_number(target), "correct it or delete the row");
  const auto [low, high] = std::minmax_element(data.targets.begin(), data.targets.end());
  if (*low == *high)
    throw Error("train", "targets that differ", short_number(*low) + " in every row",
                "add rows, or choose another column");
}

void check_data(const Dataset& data) {
  if (data.rows() == 0) throw Error("train", "at least one row", "none", "add rows");
  check_shape("train", data);
  if (data.feature_names.size() != data.columns)
    throw Error("train", std::to_string(data.columns) + " feature_names", std::to_string(data.feature_names.size()),
                "name each column");
  for (const std::vector<std::string>* names : {&data.feature_names, &data.label_names})
    for (const std::string& name : *names)
      if (!is_name(name)) throw Error("train", name_rule, shown(name), "correct the name");
  if (data.has_targets()) return check_targets(data);
  const std::size_t largest = *std::max_element(data.labels.begin(), data.labels.end());
  if (largest >= data.label_names.size())
    throw Error("train", "labels below the " + std::to_string(data.label_names.size()) + " classes",
                std::to_string(largest), "count labels from 0, and name each class");
}

Dataset standardised(Dataset data, const AnyModel& model, const Recipe& recipe) {
  if (recipe.balance) data.weights = balanced_weights(data);
  const Standardisation& standardisation = model_of(model).standardisation;
  if (!standardisation.mean.empty()) standardisation.apply(data);
  if (const Regressor* regressor = std::get_if<Regressor>(&model))
    for (double& target : data.targets) target = regressor->in_deviations(target);
  return data;
}

AnyModel make_model(const Dataset& data, const Recipe& recipe) {
  check_data(data);
  check_recipe(recipe);
  if (data.has_targets() && recipe.balance)
    throw Error("train", "classes to balance", "targets that are numbers", "leave out balance");
  if (data.has_targets() && !is_for_numbers(recipe.loss))
    throw Error("train", "a loss for numbers", std::string(name(recipe.loss)), "use the loss mse, mae or huber");
  std::vector<std::size_t> sizes = recipe.hidden;
  sizes.push_back(data.has_targets() ? 1 : outputs_for(recipe.loss, data.label_names.size()));
  const MLPOptions options{.activation = recipe.activation, .init = recipe.init, .seed = recipe.seed};
  Model base{MLP(data.columns, sizes, options), recipe.loss, data.feature_names,
             recipe.standardise ? Standardisation::fit(data) : Standardisation{}, data.table};
  if (!data.has_targets()) return Classifier{std::move(base), data.label_names};
  Regressor regressor{std::move(base), {}};
  fit_target(regressor, data);
  return regressor;
}

AnyModel with_own_weights(const AnyModel& model) {
  AnyModel result = model;
  std::visit([](auto& either) { either.network = either.network.clone(); }, result);
  return result;
}

}  // namespace detail
}  // namespace gradwalk
