// SPDX-License-Identifier: MIT
// A training run: which rows are next, the sums over them, and the step the parameters make by these.
#include "gradwalk/training.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "data/names.hpp"
#include "data/shape.hpp"
#include "gradwalk/loss.hpp"
#include "text/numbers.hpp"

namespace gradwalk {
namespace {

void check_targets(const Dataset& data) {
  if (!detail::is_name(data.target_name))
    throw Error("train", detail::name_rule, detail::shown(data.target_name), "correct the name");
  for (const double target : data.targets)
    if (!std::isfinite(target))
      throw Error("train", "targets that are finite", detail::short_number(target), "correct it or drop the row");
  const auto [low, high] = std::minmax_element(data.targets.begin(), data.targets.end());
  if (*low == *high)
    throw Error("train", "a target that is not the same in every row", detail::short_number(*low),
                "add rows of another, or choose another column");
}

// What the run and its file rely on.
void check_data(const Dataset& data) {
  if (data.rows() == 0) throw Error("train", "data", "no rows", "give it some");
  detail::check_shape("train", data);
  if (data.feature_names.size() != data.columns)
    throw Error("train", std::to_string(data.columns) + " feature_names", std::to_string(data.feature_names.size()),
                "name each column");
  for (const std::vector<std::string>* names : {&data.feature_names, &data.label_names})
    for (const std::string& one : *names)
      if (!detail::is_name(one)) throw Error("train", detail::name_rule, detail::shown(one), "correct the name");
  if (data.has_targets()) return check_targets(data);
  const std::size_t largest = *std::max_element(data.labels.begin(), data.labels.end());
  if (largest >= data.label_names.size())
    throw Error("train", "labels below the " + std::to_string(data.label_names.size()) + " classes",
                std::to_string(largest), "count labels from 0, and name each class");
}

[[noreturn]] void refuse_step(const char* needs, double got, std::uint64_t step) {
  throw Error("train", needs, detail::short_number(got) + " at step " + std::to_string(step),
              "lower the learning rate, or clip the gradient");
}

// So that each class weighs as much as any other, and all rows together as many as they are.
std::vector<double> balanced_weights(const Dataset& data) {
  std::vector<std::size_t> counts(data.label_names.size());
  for (const std::size_t label : data.labels) ++counts[label];
  const auto present = static_cast<double>(counts.size()) -
                       static_cast<double>(std::count(counts.begin(), counts.end(), std::size_t{0}));
  std::vector<double> weights;
  for (const std::size_t label : data.labels)
    weights.push_back(static_cast<double>(data.rows()) / (present * static_cast<double>(counts[label])));
  return weights;
}

// As the network takes and gives it.
Dataset standardised(Dataset data, const AnyModel& model, const Recipe& recipe) {
  if (recipe.balance) data.weights = balanced_weights(data);
  const Standardisation& standardisation = model_of(model).standardisation;
  if (!standardisation.mean.empty()) standardisation.apply(data);
  if (const Regressor* regressor = std::get_if<Regressor>(&model))
    for (double& target : data.targets) target = regressor->in_deviations(target);
  return data;
}

// The targets' mean and deviation, as of a table of one column.
void fit_target(Regressor& model, const Dataset& data) {
  Dataset column{1, data.targets, {}, {}, {}, data.targets};
  const Standardisation fitted = Standardisation::fit(column);
  model.target_name = data.target_name;
  model.target_mean = fitted.mean[0];
  model.target_deviation = fitted.deviation[0];
}

AnyModel make_model(const Dataset& data, const Recipe& recipe) {
  check_data(data);
  check_recipe(recipe);
  if (data.has_targets() && recipe.balance)
    throw Error("train", "classes to balance", "numbers to learn", "leave it out");
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

// A network's copies are handles to the same weights.
AnyModel with_own_weights(const AnyModel& model) {
  AnyModel result = model;
  std::visit([&](auto& one) { one.network = one.network.clone(); }, result);
  return result;
}

std::size_t batch_size(const Recipe& recipe, const Dataset& data) {
  return recipe.batch == 0 ? data.rows() : std::min(recipe.batch, data.rows());
}

void check_team(const Team& team) {
  if (team.member >= team.size)
    throw Error("train", "a member of the team's " + std::to_string(team.size), "number " + std::to_string(team.member),
                "count members from 0");
  if (team.size > 1 && !team.add_up) throw Error("train", "a team that adds up its sums", "none", "fill in add_up");
}

}  // namespace

const Model& model_of(const AnyModel& model) {
  return std::visit([](const auto& one) -> const Model& { return one; }, model);
}

const Classifier& classifier_of(const AnyModel& model) {
  if (const Classifier* classifier = std::get_if<Classifier>(&model)) return *classifier;
  throw Error("model", "a classifier", "a regressor", "ask for the regressor");
}

const Regressor& regressor_of(const AnyModel& model) {
  if (const Regressor* regressor = std::get_if<Regressor>(&model)) return *regressor;
  throw Error("model", "a regressor", "a classifier", "ask for the classifier");
}

std::vector<TrainingRun::Place> TrainingRun::places_of(std::vector<Value>& parameters) {
  std::vector<Place> places;
  for (Value& p : parameters) places.push_back({&p.data(), &p.grad()});
  return places;
}

TrainingRun::TrainingRun(const Dataset& data, const Recipe& recipe, MakeStep make_step, Team team)
    : recipe_(recipe),
      model_(make_model(data, recipe)),
      parameters_(network().parameters()),
      make_step_(std::move(make_step)),
      step_(make_step_(model_of(model_))),
      team_(std::move(team)),
      sums_(parameters_.size()),
      places_(places_of(parameters_)),
      numbers_(parameters_.size()),
      schedule_(schedule_of(recipe.rate, learning_rate(recipe.optimizer))),
      batches_(data.rows(), batch_size(recipe, data), recipe.seed) {
  check_team(team_);
  state_.optimizer = initial_state(recipe.optimizer, parameters_.size());
  data_ = standardised(data, model_, recipe_);
  all_rows_.resize(data.rows());
  std::iota(all_rows_.begin(), all_rows_.end(), std::size_t{0});
}

TrainingRun::TrainingRun(const TrainingRun& other)
    : recipe_(other.recipe_),
      data_(other.data_),
      model_(with_own_weights(other.model_)),
      parameters_(network().parameters()),
      make_step_(other.make_step_),
      step_(make_step_(model_of(model_))),
      team_(other.team_),
      sums_(other.sums_),
      places_(places_of(parameters_)),
      numbers_(other.numbers_),
      schedule_(other.schedule_),
      batches_(other.batches_),
      all_rows_(other.all_rows_),
      state_(other.state_) {}

TrainingRun& TrainingRun::operator=(const TrainingRun& other) { return *this = TrainingRun(other); }

namespace {

// Adds the penalties' gradient for some of the parameters, and gives what they add to the loss.
double add_penalties(const Recipe& recipe, std::span<const double> parameters, std::span<double> gradient) {
  using Size = rules::Rule<Op::abs>;
  double squares = 0, sizes = 0;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const double p = parameters[i], size = Size::value(p);
    squares += p * p;
    sizes += size;
    gradient[i] += 2 * recipe.l2 * p + recipe.l1 * Size::dx(p, size);
  }
  return recipe.l2 * squares + recipe.l1 * sizes;
}

}  // namespace

// The one place where a step's gradients come together, from however many took part.
void TrainingRun::sum_up(std::span<const std::size_t> rows) {
  const std::size_t begin = rows.size() * team_.member / team_.size;
  const std::size_t end = rows.size() * (team_.member + 1) / team_.size;
  step_->run(data_, rows.subspan(begin, end - begin), 1.0 / static_cast<double>(rows.size()), sums_);
  if (team_.add_up) team_.add_up(sums_.all());
}

void TrainingRun::read_parameters() {
  if (!parameters_.empty()) std::as_const(parameters_.front()).data();  // an Error on a thread that cannot reach them
  step_->in_parts(numbers_.size(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) numbers_[i] = *places_[i].data;
  });
}

// The sums are made in pieces of one size, whoever makes them: the same bits on any number of threads.
double TrainingRun::penalise() {
  constexpr std::size_t piece = 4096;
  const std::size_t size = numbers_.size();
  std::vector<double> penalties((size + piece - 1) / piece);
  step_->in_parts(size, [&](std::size_t first, std::size_t last) {
    for (std::size_t i = (first + piece - 1) / piece; i * piece < last; ++i) {
      const std::size_t begin = i * piece, count = std::min(piece, size - begin);
      penalties[i] =
          add_penalties(recipe_, std::span(numbers_).subspan(begin, count), sums_.gradient().subspan(begin, count));
    }
  });
  return std::accumulate(penalties.begin(), penalties.end(), 0.0);
}

void TrainingRun::move_parameters(double rate) {
  const std::span<const double> gradient = sums_.gradient();
  ++state_.optimizer.steps;
  step_->in_parts(numbers_.size(), [&](std::size_t begin, std::size_t end) {
    update_part(recipe_.optimizer, rate, numbers_, gradient, state_.optimizer, begin, end);
    for (std::size_t i = begin; i < end; ++i) {
      *places_[i].data = numbers_[i];
      *places_[i].grad = gradient[i];
    }
  });
}

TrainingRun::Report TrainingRun::step() {
  const bool whole = recipe_.batch == 0;
  const Batches::State before = batches_.state();
  const std::span<const std::size_t> rows = whole ? std::span<const std::size_t>(all_rows_) : batches_.next();
  sum_up(rows);
  Report report{.step = state_.steps + 1,
                .loss = sums_.loss(),
                .accuracy = sums_.right() / static_cast<double>(rows.size()),
                .rate = schedule_(state_.steps),
                .gradient_norm = 0,
                .penalty = 0};
  // From here on plain numbers, which the Values get in the end.
  const std::span<double> gradient = sums_.gradient();
  read_parameters();
  if (recipe_.l1 > 0 || recipe_.l2 > 0) report.loss += report.penalty = penalise();
  const auto bad = std::find_if_not(gradient.begin(), gradient.end(), [](double one) { return std::isfinite(one); });
  if (!std::isfinite(report.loss) || bad != gradient.end()) {
    if (!whole) batches_.set_state(before);
    if (!std::isfinite(report.loss)) refuse_step("a loss that is finite", report.loss, report.step);
    refuse_step("a gradient that is finite", *bad, report.step);
  }
  if (recipe_.clip > 0) report.gradient_norm = clip_norm(gradient, recipe_.clip);
  move_parameters(report.rate);
  ++state_.steps;
  state_.history.add(state_.steps, report.loss, report.accuracy);
  return report;
}

void TrainingRun::set_data(const Dataset& data) {
  if (data.rows() == 0) throw Error("set_data", "data", "no rows", "give it some");
  if (data.columns != data_.columns)
    throw Error("set_data", "rows of " + std::to_string(data_.columns) + " features", std::to_string(data.columns),
                "give it the features it was made for");
  detail::check_shape("set_data", data);
  if (data.has_targets() != is_regressor(model_))
    throw Error("set_data", is_regressor(model_) ? "numbers to learn" : "classes",
                is_regressor(model_) ? "classes" : "numbers", "give it data of the kind it was made for");
  const std::size_t classes = is_regressor(model_) ? 0 : model().label_names.size();
  for (const std::size_t label : data.labels)
    if (label >= classes)
      throw Error("set_data", "labels below " + std::to_string(classes), std::to_string(label),
                  "give it the classes it was made for");
  if (data.has_targets()) check_targets(data);
  data_ = standardised(data, model_, recipe_);
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

void TrainingRun::begin_plan(RatePlan plan, double lr) {
  Recipe recipe = recipe_;
  plan.begin = state_.steps;
  recipe.rate = plan;
  std::visit([&](auto& rule) { rule.lr = lr; }, recipe.optimizer);
  check_recipe(recipe);
  schedule_ = schedule_of(plan, lr);
  recipe_ = std::move(recipe);
}

TrainingState TrainingRun::state() const {
  TrainingState result = state_;
  result.batches = batches_.state();
  return result;
}

void TrainingRun::set_state(TrainingState state) {
  if (state.optimizer.steps != state.steps || !state.history.is_of(state.steps, !is_regressor(model_)))
    throw Error("set_state", "the optimizer's steps and the history of " + std::to_string(state.steps) + " steps",
                "those of others", "give what state() gave");
  check_state(recipe_.optimizer, parameters_.size(), state.optimizer);
  Batches batches = batches_;
  batches.set_state(state.batches);
  batches_ = std::move(batches);
  state_ = std::move(state);
}

}  // namespace gradwalk
