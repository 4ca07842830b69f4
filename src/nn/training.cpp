// SPDX-License-Identifier: MIT
// A training run. Rows are walked back one by one, each with its share of the mean as the seed: leaves accumulate, so
// the gradient is that of the whole batch, and a batch of any size takes the memory of one row.
#include "gradwalk/training.hpp"

#include <array>
#include <cmath>
#include <numeric>

#include "gradwalk/loss.hpp"
#include "text/numbers.hpp"

namespace gradwalk {
namespace {

Dataset standardised(Dataset data, const Standardisation& standardisation) {
  if (!standardisation.mean.empty()) standardisation.apply(data);
  return data;
}

Classifier make_classifier(const Dataset& data, const Recipe& recipe) {
  if (data.rows() == 0) throw Error("train", "data", "no rows", "give it some");
  std::vector<std::size_t> sizes = recipe.hidden;
  sizes.push_back(outputs_for(recipe.loss, data.label_names.size()));
  const MLPOptions options{.activation = recipe.activation, .init = recipe.init, .seed = recipe.seed};
  return {MLP(data.columns, sizes, options), recipe.loss, data.feature_names, data.label_names,
          recipe.standardise ? Standardisation::fit(data) : Standardisation{}};
}

std::size_t batch_size(const Recipe& recipe, const Dataset& data) {
  return recipe.batch == 0 ? data.rows() : std::min(recipe.batch, data.rows());
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
  return plan.warm_up > 0 ? warm_up(plan.warm_up, std::move(schedule)) : schedule;
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

void History::add(std::uint64_t step, double new_loss, double new_accuracy) {
  if ((step - 1) % stride != 0) return;
  if (steps.size() == most) {
    for (std::vector<double>* all : {&steps, &loss, &accuracy}) {
      for (std::size_t i = 0; i < most / 2; ++i) (*all)[i] = (*all)[2 * i];
      all->resize(most / 2);
    }
    stride *= 2;
    if ((step - 1) % stride != 0) return;
  }
  steps.push_back(static_cast<double>(step));
  loss.push_back(new_loss);
  accuracy.push_back(new_accuracy);
}

TrainingRun::TrainingRun(const Dataset& data, const Recipe& recipe)
    : recipe_(recipe),
      model_(make_classifier(data, recipe)),
      parameters_(model_.network.parameters()),
      optimizer_(parameters_, recipe.optimizer),
      schedule_(schedule_of(recipe.rate, learning_rate(recipe.optimizer))),
      batches_(data.rows(), batch_size(recipe, data), recipe.seed) {
  data_ = standardised(data, model_.standardisation);
  all_rows_.resize(data.rows());
  std::iota(all_rows_.begin(), all_rows_.end(), std::size_t{0});
}

TrainingRun::Report TrainingRun::step() {
  const bool whole = recipe_.batch == 0;
  const Batches::State before = batches_.state();
  const std::span<const std::size_t> rows = whole ? std::span<const std::size_t>(all_rows_) : batches_.next();
  const double share = 1.0 / static_cast<double>(rows.size());
  optimizer_.zero_grad();
  Report report{state_.steps + 1, 0, 0, schedule_(state_.steps), 0};
  std::size_t right = 0;
  std::vector<double> scores;
  for (const std::size_t row : rows) {
    const std::vector<Value> outputs = model_.network(data_.row(row));
    scores.clear();
    for (const Value& output : outputs) scores.push_back(output.data());
    right += Classifier::label_of(scores) == data_.labels[row] ? 1 : 0;
    const Value loss = row_loss(recipe_.loss, outputs, data_.labels[row]);
    report.loss += share * loss.data();
    loss.backward(share);
  }
  report.accuracy = static_cast<double>(right) / static_cast<double>(rows.size());
  if (recipe_.l1 > 0 || recipe_.l2 > 0) {
    Value penalty = recipe_.l2 * l2_penalty(parameters_);
    if (recipe_.l1 > 0) penalty += recipe_.l1 * l1_penalty(parameters_);
    report.loss += penalty.data();
    penalty.backward();
  }
  if (!std::isfinite(report.loss)) {
    if (!whole) batches_.set_state(before);
    throw Error("train", "a loss that is finite",
                detail::short_number(report.loss) + " at step " + std::to_string(report.step),
                "lower the learning rate, or clip the gradient");
  }
  if (recipe_.clip > 0) report.gradient_norm = clip_gradient_norm(parameters_, recipe_.clip);
  optimizer_.step(report.rate);
  ++state_.steps;
  state_.history.add(state_.steps, report.loss, report.accuracy);
  return report;
}

void TrainingRun::set_data(const Dataset& data) {
  if (data.rows() == 0) throw Error("set_data", "data", "no rows", "give it some");
  if (data.columns != data_.columns)
    throw Error("set_data", "rows of " + std::to_string(data_.columns) + " features", std::to_string(data.columns),
                "give it the features it was made for");
  const std::size_t classes = model_.label_names.size();
  for (const std::size_t label : data.labels)
    if (label >= classes)
      throw Error("set_data", "labels below " + std::to_string(classes), std::to_string(label),
                  "give it the classes it was made for");
  data_ = standardised(data, model_.standardisation);
  all_rows_.resize(data.rows());
  std::iota(all_rows_.begin(), all_rows_.end(), std::size_t{0});
  batches_ = Batches(data.rows(), batch_size(recipe_, data), recipe_.seed);
}

void TrainingRun::set_rate(double lr) {
  OptimizerConfig config = recipe_.optimizer;
  std::visit([&](auto& rule) { rule.lr = lr; }, config);
  check_config(config);
  recipe_.optimizer = config;
  recipe_.rate = {.kind = RatePlan::Kind::constant};
  schedule_ = constant_rate(lr);
}

TrainingState TrainingRun::state() const {
  return {state_.steps, optimizer_.state(), batches_.state(), state_.history};
}

void TrainingRun::set_state(TrainingState state) {
  optimizer_.set_state(state.optimizer);
  batches_.set_state(state.batches);
  state_ = std::move(state);
}

}  // namespace gradwalk
