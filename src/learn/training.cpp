// SPDX-License-Identifier: MIT
// A training run: choosing the rows of a step, adding up their gradients, and updating the parameters.
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
    throw Error("train", "a member below the team's size, " + std::to_string(team.size), std::to_string(team.member),
                "count members from 0");
  if (team.size > 1 && !team.add_up) throw Error("train", "a team with a function add_up", "none", "set Team::add_up");
}

}  // namespace

const Model& model_of(const AnyModel& model) {
  return std::visit([](const auto& either) -> const Model& { return either; }, model);
}

const Classifier& classifier_of(const AnyModel& model) {
  if (const Classifier* classifier = std::get_if<Classifier>(&model)) return *classifier;
  throw Error("model", "a classifier", "a regressor", "ask for the regressor");
}

const Regressor& regressor_of(const AnyModel& model) {
  if (const Regressor* regressor = std::get_if<Regressor>(&model)) return *regressor;
  throw Error("model", "a regressor", "a classifier", "ask for the classifier");
}

std::vector<TrainingRun::ParameterAddress> TrainingRun::addresses_of(std::vector<Value>& parameters) {
  std::vector<ParameterAddress> addresses;
  for (Value& p : parameters) addresses.push_back({&p.data(), &p.grad()});
  return addresses;
}

TrainingRun::TrainingRun(const Dataset& data, const Recipe& recipe, MakeStep make_step, Team team)
    : TrainingRun(training_split(data, recipe), recipe, std::move(make_step), std::move(team)) {}

TrainingRun::TrainingRun(TrainingSplit data, const Recipe& recipe, MakeStep make_step, Team team)
    : recipe_(recipe),
      model_(detail::make_model(data.training, recipe)),
      parameters_(model_of(model_).network.parameters()),
      make_step_(std::move(make_step)),
      step_(make_step_(model_of(model_))),
      team_(std::move(team)),
      sums_(parameters_.size()),
      addresses_(addresses_of(parameters_)),
      numbers_(parameters_.size()),
      schedule_(schedule_of(recipe.rate, learning_rate(recipe.optimizer))),
      batches_(batches_of(recipe, data.training)) {
  check_team(team_);
  state_.optimizer = initial_state(recipe.optimizer, parameters_.size());
  take_data(std::move(data));
  begin_updates();
}

// The step, if it also updates the parameters.
UpdatingStep* TrainingRun::updating_step() const {
  const bool is_alone = team_.size == 1 && !team_.add_up && recipe_.dropout == 0;
  return is_alone ? dynamic_cast<UpdatingStep*>(step_.get()) : nullptr;
}

void TrainingRun::begin_updates() {
  if (UpdatingStep* const own = updating_step())
    own->begin({recipe_.optimizer, recipe_.l1, recipe_.l2, recipe_.clip}, state_.optimizer, data_);
}

// Copies the parameters to the model if they are elsewhere.
void TrainingRun::write_back() const {
  if (UpdatingStep* const own = updating_step()) own->write_back();
}

const AnyModel& TrainingRun::any_model() const {
  write_back();
  return model_;
}

void TrainingRun::take_data(TrainingSplit data) {
  data_ = detail::standardised(std::move(data.training), model_, recipe_);
  validation_ = detail::standardised(std::move(data.validation), model_, recipe_);
  all_rows_.resize(data_.rows());
  std::iota(all_rows_.begin(), all_rows_.end(), std::size_t{0});
}

TrainingRun::TrainingRun(const TrainingRun& other)
    : recipe_(other.recipe_),
      data_(other.data_),
      validation_(other.validation_),
      model_(detail::with_own_weights(other.any_model())),
      parameters_(model_of(model_).network.parameters()),
      make_step_(other.make_step_),
      step_(make_step_(model_of(model_))),
      team_(other.team_),
      sums_(other.sums_),
      addresses_(addresses_of(parameters_)),
      numbers_(other.numbers_),
      factors_(other.factors_),
      schedule_(other.schedule_),
      batches_(other.batches_),
      all_rows_(other.all_rows_),
      state_(other.state()) {
  begin_updates();
}

TrainingRun& TrainingRun::operator=(const TrainingRun& other) { return *this = TrainingRun(other); }

namespace {

// Adds the gradient of the penalties for some of the parameters, and returns their part of the loss.
double penalise(const Recipe& recipe, std::span<const double> parameters, std::span<double> gradient) {
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

// The factors of a row depend only on the seed, the number of the step and the row's position in its batch. So they
// need not be saved, and are the same for every division of the batch among a team.
void TrainingRun::draw_dropout_factors(std::size_t first, std::size_t count) {
  const std::size_t hidden = network().hidden();
  const double kept = 1 / (1 - recipe_.dropout);
  Random of_step(Random(recipe_.seed).next() + state_.steps);
  for (std::size_t i = 0; i < first; ++i) of_step.next();
  std::vector<std::uint64_t> seeds(count);
  for (std::uint64_t& seed : seeds) seed = of_step.next();
  factors_.resize(count * hidden);
  step_->parallel_for(factors_.size(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = (begin + hidden - 1) / hidden; i * hidden < end; ++i) {
      Random of_row(seeds[i]);
      for (std::size_t k = 0; k < hidden; ++k) factors_[i * hidden + k] = of_row.uniform() < recipe_.dropout ? 0 : kept;
    }
  });
}

// Computes this member's share of the batch and adds up the shares of all members.
void TrainingRun::sum_batch(std::span<const std::size_t> rows) {
  const std::size_t begin = rows.size() * team_.member / team_.size;
  const std::size_t end = rows.size() * (team_.member + 1) / team_.size;
  if (recipe_.dropout > 0) draw_dropout_factors(begin, end - begin);
  step_->run({data_, rows.subspan(begin, end - begin), 1.0 / static_cast<double>(rows.size()), factors_}, sums_);
  if (team_.add_up) team_.add_up(sums_.all());
}

void TrainingRun::read_parameters() {
  if (!parameters_.empty()) std::as_const(parameters_.front()).data();  // throws on a thread that cannot use them
  step_->parallel_for(numbers_.size(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) numbers_[i] = *addresses_[i].data;
  });
}

// The sums are computed in pieces of a fixed size, so the result does not depend on the number of threads.
double TrainingRun::add_penalties() {
  constexpr std::size_t piece = 4096;
  const std::size_t size = numbers_.size();
  std::vector<double> penalties((size + piece - 1) / piece);
  step_->parallel_for(size, [&](std::size_t first, std::size_t last) {
    for (std::size_t i = (first + piece - 1) / piece; i * piece < last; ++i) {
      const std::size_t begin = i * piece, count = std::min(piece, size - begin);
      penalties[i] =
          penalise(recipe_, std::span(numbers_).subspan(begin, count), sums_.gradient().subspan(begin, count));
    }
  });
  return std::accumulate(penalties.begin(), penalties.end(), 0.0);
}

void TrainingRun::update_parameters(double rate) {
  const std::span<const double> gradient = sums_.gradient();
  ++state_.optimizer.steps;
  step_->parallel_for(numbers_.size(), [&](std::size_t begin, std::size_t end) {
    update_part(recipe_.optimizer, rate, numbers_, gradient, state_.optimizer, begin, end);
    for (std::size_t i = begin; i < end; ++i) {
      *addresses_[i].data = numbers_[i];
      *addresses_[i].grad = gradient[i];
    }
  });
}

// Computes the loss and the gradient of a batch; an UpdatingStep also updates the parameters. Returns a derivative that
// is not finite, or 0.
double TrainingRun::compute(UpdatingStep* updating, std::span<const std::size_t> rows, Report& report) {
  double right = 0, bad = 0;
  if (updating != nullptr) {
    const UpdatingStep::Figures figures =
        updating->update(recipe_.batch == 0 ? std::span<const std::size_t>() : rows, report.learning_rate);
    report.loss = figures.loss + figures.penalty;
    report.penalty = figures.penalty;
    if (recipe_.clip > 0) report.gradient_norm = figures.gradient_norm;
    right = figures.right;
    bad = figures.bad_derivative;
  } else {
    sum_batch(rows);
    report.loss = sums_.loss();
    right = sums_.right();
    // The rest of the step works on plain numbers; update_parameters() writes them to the Values.
    read_parameters();
    if (recipe_.l1 > 0 || recipe_.l2 > 0) report.loss += report.penalty = add_penalties();
    const auto found = std::ranges::find_if_not(sums_.gradient(), [](double one) { return std::isfinite(one); });
    if (found != sums_.gradient().end()) bad = *found;
  }
  report.accuracy = right / static_cast<double>(rows.size());
  return bad;
}

TrainingRun::Report TrainingRun::step() {
  const bool takes_all_rows = recipe_.batch == 0;
  const Batches::State before = batches_.state();
  const std::span<const std::size_t> rows = takes_all_rows ? std::span<const std::size_t>(all_rows_) : batches_.next();
  Report report{.step = state_.steps + 1,
                .loss = 0,
                .accuracy = 0,
                .learning_rate = schedule_(state_.steps),
                .gradient_norm = 0,
                .penalty = 0,
                .validation = {}};
  UpdatingStep* const updating = updating_step();
  const double bad = compute(updating, rows, report);
  if (!std::isfinite(report.loss) || bad != 0) {
    if (!takes_all_rows) batches_.set_state(before);
    if (!std::isfinite(report.loss)) refuse_step("a loss that is finite", report.loss, report.step);
    refuse_step("a gradient that is finite", bad, report.step);
  }
  if (updating == nullptr) {
    if (recipe_.clip > 0) report.gradient_norm = clip_norm(sums_.gradient(), recipe_.clip);
    update_parameters(report.learning_rate);
  }
  ++state_.steps;
  state_.history.add(state_.steps, report.loss, report.accuracy);
  report.validation = validate();
  return report;
}

void TrainingRun::set_data(const Dataset& data) {
  if (data.rows() == 0) throw Error("set_data", "at least one row", "none", "add rows");
  if (data.columns != data_.columns)
    throw Error("set_data", "rows of " + std::to_string(data_.columns) + " features", std::to_string(data.columns),
                "give the features that the model was made for");
  detail::check_shape("set_data", data);
  if (data.has_targets() != is_regressor(model_))
    throw Error("set_data", is_regressor(model_) ? "targets that are numbers" : "classes",
                is_regressor(model_) ? "classes" : "numbers", "give data of the kind that the model was made for");
  const std::size_t classes = is_regressor(model_) ? 0 : classifier().label_names.size();
  for (const std::size_t label : data.labels)
    if (label >= classes)
      throw Error("set_data", "labels below " + std::to_string(classes), std::to_string(label),
                  "give the classes that the model was made for");
  if (data.has_targets()) detail::check_targets(data);
  state_ = this->state();
  write_back();
  take_data(training_split(data, recipe_));
  begin_updates();
  batches_ = batches_of(recipe_, data_);
  state_.best = {};
}

void TrainingRun::set_learning_rate(double lr) {
  OptimizerConfig config = recipe_.optimizer;
  std::visit([&](auto& rule) { rule.lr = lr; }, config);
  check_config(config);
  recipe_.optimizer = config;
  recipe_.rate = {.kind = LearningRateSchedule::Kind::constant};
  schedule_ = constant_rate(lr);
}

void TrainingRun::begin_schedule(LearningRateSchedule schedule, double lr) {
  Recipe recipe = recipe_;
  schedule.begin = state_.steps;
  recipe.rate = schedule;
  std::visit([&](auto& rule) { rule.lr = lr; }, recipe.optimizer);
  check_recipe(recipe);
  schedule_ = schedule_of(schedule, lr);
  recipe_ = std::move(recipe);
}

TrainingState TrainingRun::state() const {
  TrainingState result = state_;
  result.batches = batches_.state();
  if (UpdatingStep* const own = updating_step()) result.optimizer = own->optimizer_state();
  return result;
}

void TrainingRun::set_state(TrainingState state) {
  if (state.optimizer.steps != state.steps || !state.history.is_valid_for(state.steps, !is_regressor(model_)))
    throw Error("set_state", "an optimizer and a history of " + std::to_string(state.steps) + " steps", "others",
                "give what state() returned");
  check_state(recipe_.optimizer, parameters_.size(), state.optimizer);
  check_best(state);
  Batches batches = batches_;
  batches.set_state(state.batches);
  batches_ = std::move(batches);
  write_back();
  state_ = std::move(state);
  begin_updates();
}

}  // namespace gradwalk
