// SPDX-License-Identifier: MIT
// A training run: which rows are next, the sums over them, and the step the parameters make by these.
#include "gradwalk/training.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "data/shape.hpp"
#include "preparing.hpp"
#include "text/numbers.hpp"

namespace gradwalk {
namespace {

[[noreturn]] void refuse_step(const char* needs, double got, std::uint64_t step) {
  throw Error("train", needs, detail::short_number(got) + " at step " + std::to_string(step),
              "lower the learning rate, or clip the gradient");
}

Batches batches_of(const Recipe& recipe, const Dataset& data) {
  return {data.rows(), recipe.batch == 0 ? data.rows() : std::min(recipe.batch, data.rows()), recipe.seed};
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
    : TrainingRun(learning_split(data, recipe), recipe, std::move(make_step), std::move(team)) {}

TrainingRun::TrainingRun(LearningSplit data, const Recipe& recipe, MakeStep make_step, Team team)
    : recipe_(recipe),
      model_(detail::make_model(data.learned, recipe)),
      parameters_(network().parameters()),
      make_step_(std::move(make_step)),
      step_(make_step_(model_of(model_))),
      team_(std::move(team)),
      sums_(parameters_.size()),
      places_(places_of(parameters_)),
      numbers_(parameters_.size()),
      schedule_(schedule_of(recipe.rate, learning_rate(recipe.optimizer))),
      batches_(batches_of(recipe, data.learned)) {
  check_team(team_);
  state_.optimizer = initial_state(recipe.optimizer, parameters_.size());
  take(std::move(data));
}

void TrainingRun::take(LearningSplit data) {
  data_ = detail::standardised(std::move(data.learned), model_, recipe_);
  validation_ = detail::standardised(std::move(data.validation), model_, recipe_);
  all_rows_.resize(data_.rows());
  std::iota(all_rows_.begin(), all_rows_.end(), std::size_t{0});
}

TrainingRun::TrainingRun(const TrainingRun& other)
    : recipe_(other.recipe_),
      data_(other.data_),
      validation_(other.validation_),
      model_(detail::with_own_weights(other.model_)),
      parameters_(network().parameters()),
      make_step_(other.make_step_),
      step_(make_step_(model_of(model_))),
      team_(other.team_),
      sums_(other.sums_),
      places_(places_of(parameters_)),
      numbers_(other.numbers_),
      factors_(other.factors_),
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

// They follow from the seed, the number of the step and the row's place in its batch, whoever computes it: there is
// nothing to save, and nothing to tell a team.
void TrainingRun::draw_factors(std::size_t first, std::size_t count) {
  const std::size_t hidden = network().hidden();
  const double kept = 1 / (1 - recipe_.dropout);
  Random of_step(Random(recipe_.seed).next() + state_.steps);
  for (std::size_t i = 0; i < first; ++i) of_step.next();
  std::vector<std::uint64_t> seeds(count);
  for (std::uint64_t& seed : seeds) seed = of_step.next();
  factors_.resize(count * hidden);
  step_->in_parts(factors_.size(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = (begin + hidden - 1) / hidden; i * hidden < end; ++i) {
      Random of_row(seeds[i]);
      for (std::size_t k = 0; k < hidden; ++k) factors_[i * hidden + k] = of_row.uniform() < recipe_.dropout ? 0 : kept;
    }
  });
}

// The one place where a step's gradients come together, from however many took part.
void TrainingRun::sum_up(std::span<const std::size_t> rows) {
  const std::size_t begin = rows.size() * team_.member / team_.size;
  const std::size_t end = rows.size() * (team_.member + 1) / team_.size;
  if (recipe_.dropout > 0) draw_factors(begin, end - begin);
  step_->run({data_, rows.subspan(begin, end - begin), 1.0 / static_cast<double>(rows.size()), factors_}, sums_);
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
                .penalty = 0,
                .validation = {}};
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
  report.validation = validate();
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
  if (data.has_targets()) detail::check_targets(data);
  take(learning_split(data, recipe_));
  batches_ = batches_of(recipe_, data_);
  state_.best = {};
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
  check_best(state);
  Batches batches = batches_;
  batches.set_state(state.batches);
  batches_ = std::move(batches);
  state_ = std::move(state);
}

}  // namespace gradwalk
