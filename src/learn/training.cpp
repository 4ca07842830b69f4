// SPDX-License-Identifier: MIT
// A training run. Rows are walked back one by one, each with its share of the mean as the seed: leaves accumulate, so
// the gradient is that of the whole batch, and a batch of any size takes the memory of one row.
#include "gradwalk/training.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numeric>

#include "data/names.hpp"
#include "gradwalk/loss.hpp"
#include "text/numbers.hpp"

namespace gradwalk {
namespace {

// What the run and its file rely on.
void check_data(const Dataset& data) {
  if (data.rows() == 0) throw Error("train", "data", "no rows", "give it some");
  if (data.x.size() != data.rows() * data.columns)
    throw Error("train", std::to_string(data.rows() * data.columns) + " numbers: rows times columns",
                std::to_string(data.x.size()), "give each row its features");
  if (data.feature_names.size() != data.columns)
    throw Error("train", std::to_string(data.columns) + " feature_names", std::to_string(data.feature_names.size()),
                "name each column");
  for (const std::vector<std::string>* names : {&data.feature_names, &data.label_names})
    for (const std::string& one : *names)
      if (!detail::is_name(one)) throw Error("train", detail::name_rule, detail::shown(one), "correct the name");
  const std::size_t largest = *std::max_element(data.labels.begin(), data.labels.end());
  if (largest >= data.label_names.size())
    throw Error("train", "labels below the " + std::to_string(data.label_names.size()) + " classes",
                std::to_string(largest), "count labels from 0, and name each class");
}

void need_at_least_0(const char* needs, double got) {
  const bool fits = got >= 0 && std::isfinite(got);
  if (!fits) throw Error("train", needs, detail::short_number(got), "give a finite number that is not negative");
}

[[noreturn]] void refuse_step(const char* needs, double got, std::uint64_t step) {
  throw Error("train", needs, detail::short_number(got) + " at step " + std::to_string(step),
              "lower the learning rate, or clip the gradient");
}

Dataset standardised(Dataset data, const Standardisation& standardisation) {
  if (!standardisation.mean.empty()) standardisation.apply(data);
  return data;
}

Classifier make_classifier(const Dataset& data, const Recipe& recipe) {
  check_data(data);
  check_recipe(recipe);
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

void check_recipe(const Recipe& recipe) {
  check_config(recipe.optimizer);
  need_at_least_0("l1 >= 0", recipe.l1);
  need_at_least_0("l2 >= 0", recipe.l2);
  need_at_least_0("clip >= 0", recipe.clip);
  need_at_least_0("a final share of the rate >= 0", recipe.rate.final);
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

bool History::is_of(std::uint64_t made) const {
  if (!std::has_single_bit(stride)) return false;
  const std::uint64_t kept = made / stride + (made % stride == 0 ? 0 : 1);
  if (kept > most || (stride > 1 && kept <= most / 2)) return false;
  if (steps.size() != kept || loss.size() != kept || accuracy.size() != kept) return false;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const bool fits = steps[i] == static_cast<double>(1 + i * stride) && std::isfinite(loss[i]) && accuracy[i] >= 0 &&
                      accuracy[i] <= 1;
    if (!fits) return false;
  }
  return true;
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
  const auto bad = std::find_if(parameters_.begin(), parameters_.end(),
                                [](const Value& parameter) { return !std::isfinite(parameter.grad()); });
  if (!std::isfinite(report.loss) || bad != parameters_.end()) {
    if (!whole) batches_.set_state(before);
    if (!std::isfinite(report.loss)) refuse_step("a loss that is finite", report.loss, report.step);
    refuse_step("a gradient that is finite", bad->grad(), report.step);
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
  if (state.optimizer.steps != state.steps || !state.history.is_of(state.steps))
    throw Error("set_state", "the optimizer's steps and the history of " + std::to_string(state.steps) + " steps",
                "those of others", "give what state() gave");
  Batches batches = batches_;
  batches.set_state(state.batches);
  optimizer_.set_state(state.optimizer);
  batches_ = std::move(batches);
  state_ = std::move(state);
}

}  // namespace gradwalk
