// SPDX-License-Identifier: MIT
// Training a model, step by step: the recipe, the run, and all a run needs to go on later.
//
// A run is determined by its data and its recipe, bit for bit: so many steps at once, or some, a saved state and the
// rest, are the same. It prints nothing and touches no file; model_file.hpp saves it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "gradwalk/classifier.hpp"
#include "gradwalk/optim.hpp"
#include "gradwalk/regressor.hpp"
#include "gradwalk/step.hpp"

namespace gradwalk {

// How the rate of the optimizer changes. It does not depend on how many steps are made, so that a run can be continued;
// one that goes beyond its plan begins another (TrainingRun::begin_plan).
struct RatePlan {
  enum class Kind { constant, linear, cosine } kind = Kind::cosine;
  double final = 0;            // the last rate, as a share of the first
  std::uint64_t steps = 2000;  // until then
  std::uint64_t warm_up = 0;   // steps of rising before it
  std::uint64_t begin = 0;     // how many steps were made before all of these
};
GRADWALK_EXPORT std::string_view name(RatePlan::Kind kind);
// The rate of each step of a run, counted from 0.
GRADWALK_EXPORT Schedule schedule_of(const RatePlan& plan, double lr);
// How many steps a run has made when its rate has become the last one; none: a constant rate.
GRADWALK_EXPORT std::optional<std::uint64_t> end_of(const RatePlan& plan);

struct Recipe {
  std::vector<std::size_t> hidden = {16, 16};
  Activation activation = Activation::relu;
  Init init = Init::he;
  LossKind loss = LossKind::softmax;
  OptimizerConfig optimizer = Adam{.lr = 0.01};
  RatePlan rate = {};
  std::size_t batch = 32;    // rows a step; 0: all of them, in their order
  double l1 = 0, l2 = 1e-4;  // added to the loss: so many times the sum of sizes, of squares
  double clip = 0;           // the largest norm of the gradient; 0: any
  bool standardise = true;
  std::uint64_t seed = 1337;
  bool balance = false;  // rows of rare classes weigh more, so that every class weighs the same
  // The share of the rows that is kept from learning; the parameters of the epoch whose loss of these is the least are
  // the ones that are used. 0: none, and the last are.
  double validation = 0;
  std::uint64_t patience = 0;  // a run is done when so many steps have brought nothing better; 0: never
  double dropout = 0;          // the chance of each hidden neuron to be left out, of each row of each step
};

GRADWALK_EXPORT void check_recipe(const Recipe& recipe);  // an Error where a number is out of its range

GRADWALK_EXPORT Recipe micrograd_recipe();                   // that of micrograd's demo on moons: 100 steps
GRADWALK_EXPORT Recipe default_recipe(std::size_t classes);  // for any data with classes: 2,000 steps
GRADWALK_EXPORT Recipe regression_recipe();                  // for any data with numbers to learn: 2,000 steps

// A model of either kind.
using AnyModel = std::variant<Classifier, Regressor>;
GRADWALK_EXPORT const Model& model_of(const AnyModel& model);
GRADWALK_EXPORT const Classifier& classifier_of(const AnyModel& model);  // an Error if it is a regressor
GRADWALK_EXPORT const Regressor& regressor_of(const AnyModel& model);    // an Error if it is a classifier
inline bool is_regressor(const AnyModel& model) { return std::holds_alternative<Regressor>(model); }

// The rows a run by this recipe learns from, and those it keeps for validation.
struct LearningSplit {
  Dataset learned, validation;
};
GRADWALK_EXPORT LearningSplit learning_split(const Dataset& data, const Recipe& recipe);

// The loss and accuracy of steps, thinned evenly as they become many: at most `most` are kept, whatever was saved
// between. Where numbers are learned, accuracy is R² (TrainingRun::Report).
struct GRADWALK_EXPORT History {
  static constexpr std::size_t most = 1024;
  std::uint64_t stride = 1;  // every so many steps are kept
  std::vector<double> steps, loss, accuracy;
  void add(std::uint64_t step, double loss, double accuracy);
  bool is_of(std::uint64_t made, bool has_shares = true) const;  // of so many steps; shares are from 0 to 1
};

// The parameters by which the validation loss was the least so far.
struct BestParameters {
  std::uint64_t step = 0;  // after which they were these; 0: none are known
  double loss = 0;
  std::vector<double> parameters = {};
};

struct TrainingState {
  std::uint64_t steps = 0;
  OptimizerState optimizer;
  Batches::State batches;
  History history;
  BestParameters best = {};
};

// Copies are runs of their own: a copy has the weights, state and data of the first as they are then, and no step of
// one is seen by the other. (A copy of model() alone, as of any network, is another handle to the same weights.)
class GRADWALK_EXPORT TrainingRun {
 public:
  TrainingRun(const Dataset& data, const Recipe& recipe, MakeStep make_step = eager_step, Team team = {});
  TrainingRun(const TrainingRun& other);
  TrainingRun(TrainingRun&&) = default;
  TrainingRun& operator=(const TrainingRun& other);
  TrainingRun& operator=(TrainingRun&&) = default;
  ~TrainingRun() = default;

  struct Report {
    std::uint64_t step;  // from 1
    double loss;         // of the batch, before the step, with the penalties
    double accuracy;  // of the batch, before the step; where numbers are learned, R²: 1 - mean squared error / variance
    double rate;
    double gradient_norm;                   // before clipping; 0 where nothing clips
    double penalty = 0;                     // the part of the loss that is the penalties'
    std::optional<double> validation = {};  // the loss of the rows kept for it, after a step that ended an epoch
  };
  // One step. A loss or gradient that is not finite is an Error, and changes nothing.
  Report step();

  // From the next step on, for those who try things as they watch: the same network on other rows, which have the
  // features and classes of the first; another rate, which then stays as it is.
  void set_data(const Dataset& data);
  void set_rate(double lr);

  // From the next step on, a plan of its own, whose first rate is lr and whose `begin` is where the run is. What the
  // optimizer remembers stays.
  void begin_plan(RatePlan plan, double lr);

  // Whether its patience is at an end. Further steps may be made all the same.
  bool is_done() const;
  void set_patience(std::uint64_t steps);
  // The model to use: with the best parameters so far, or the last where nothing was kept to judge them by.
  AnyModel kept_model() const;

  // The network learns classes or numbers as its data does. It has the parameters of the last step.
  const AnyModel& any_model() const { return model_; }
  const Classifier& model() const { return classifier_of(model_); }
  const Regressor& regressor() const { return regressor_of(model_); }
  const MLP& network() const { return model_of(model_).network; }
  const Recipe& recipe() const { return recipe_; }
  std::uint64_t steps() const { return state_.steps; }
  std::string step_kind() const { return step_->kind(); }  // of the steps it makes
  const History& history() const { return state_.history; }
  std::size_t validation_rows() const { return validation_.rows(); }  // kept from learning

  TrainingState state() const;
  // Of a run on the same data by the same recipe, or an Error that changes nothing. Parameters are set by themselves.
  void set_state(TrainingState state);

 private:
  TrainingRun(LearningSplit data, const Recipe& recipe, MakeStep make_step, Team team);
  struct Place {  // where a parameter's numbers are, for threads that are not its own
    double *data, *grad;
  };
  static std::vector<Place> places_of(std::vector<Value>& parameters);
  void sum_up(std::span<const std::size_t> rows);
  void draw_factors(std::size_t first, std::size_t count);
  void read_parameters();
  double penalise();
  void move_parameters(double rate);
  void take(LearningSplit data);
  std::optional<double> validate();
  void check_best(const TrainingState& state) const;

  Recipe recipe_;
  Dataset data_, validation_;  // standardised, targets in deviations
  AnyModel model_;
  std::vector<Value> parameters_;
  MakeStep make_step_;
  std::unique_ptr<BatchStep> step_;
  Team team_;
  BatchSums sums_;  // of the step at hand
  std::vector<Place> places_;
  std::vector<double> numbers_;  // the parameters', of the step at hand
  std::vector<double> factors_;  // of the hidden neurons, where some are dropped, of the step at hand
  Schedule schedule_;
  Batches batches_;
  std::vector<std::size_t> all_rows_;
  TrainingState state_;
};

}  // namespace gradwalk
