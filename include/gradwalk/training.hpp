// SPDX-License-Identifier: MIT
// Training a model, step by step.
//
//   const Dataset data = make_moons(100, 0.1, 1337);
//   TrainingRun run(data, micrograd_recipe());
//   while (run.steps() < 100) run.step();
//   double accuracy = run.classifier().evaluate(data).accuracy();
//
// The data, the recipe (the hyperparameters, recipe.hpp), the kind of step (step_kind()) and the number of processes or
// threads that train together (the size of the Team, step.hpp) determine a run, bit for bit: a run that is stopped,
// saved and continued later ends with the same parameters as one that never stops. A run prints nothing and opens no
// file; model_file.hpp saves it.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "gradwalk/classifier.hpp"
#include "gradwalk/recipe.hpp"
#include "gradwalk/regressor.hpp"
#include "gradwalk/step.hpp"

namespace gradwalk {

// A model of either kind.
using AnyModel = std::variant<Classifier, Regressor>;
GRADWALK_EXPORT const Model& model_of(const AnyModel& model);
GRADWALK_EXPORT const Classifier& classifier_of(const AnyModel& model);  // throws an Error for a regressor
GRADWALK_EXPORT const Regressor& regressor_of(const AnyModel& model);    // throws an Error for a classifier
// Returns whether regressor_of() works for the model; otherwise classifier_of() does.
inline bool is_regressor(const AnyModel& model) { return std::holds_alternative<Regressor>(model); }

// The rows that a run trains on, and the rows that it holds out for validation.
struct TrainingSplit {
  Dataset training;    // the rows that training steps take their batches from
  Dataset validation;  // the rows that the model is only evaluated on; empty if the recipe asks for none
};
// Returns the split that a run on this data with this recipe makes. Throws an Error if the data or the recipe is
// invalid; this is checked only if the recipe asks for validation rows.
GRADWALK_EXPORT TrainingSplit training_split(const Dataset& data, const Recipe& recipe);

// The split under its old names: `learned` has the rows that a run trains on, `validation` those it holds out.
struct LearningSplit {
  Dataset learned;     // the rows that training steps take their batches from
  Dataset validation;  // the rows that only judge the model; empty if the recipe asks for none
};
[[deprecated("use training_split")]] GRADWALK_EXPORT LearningSplit learning_split(const Dataset& data,
                                                                                  const Recipe& recipe);

// The loss and the accuracy of past steps. At most `max_steps` steps are kept, evenly spaced: when there would be more,
// every second one is dropped. For regression, `accuracy` is R² (see TrainingRun::Report).
struct GRADWALK_EXPORT History {
  static constexpr std::size_t max_steps = 1024;
  [[deprecated("use max_steps")]] static constexpr std::size_t most = max_steps;
  std::uint64_t stride = 1;  // the distance between the steps that are kept
  std::vector<double> steps, loss, accuracy;

  // Adds a step. Steps are counted from 1 and added in order.
  void add(std::uint64_t step, double loss, double accuracy);
  // Returns whether this can be the history of a run of this many steps. `accuracies_are_fractions` says that they are
  // between 0 and 1, as those of classifiers are.
  bool is_valid_for(std::uint64_t step_count, bool accuracies_are_fractions = true) const;
  [[deprecated("use is_valid_for")]] bool is_of(std::uint64_t step_count, bool accuracies_are_fractions = true) const {
    return is_valid_for(step_count, accuracies_are_fractions);
  }
};

// The parameters with the lowest validation loss so far.
struct BestParameters {
  std::uint64_t step = 0;  // the step that produced these parameters; 0 if there are none yet
  double loss = 0;
  std::vector<double> parameters = {};
};

// The state that a run needs to continue later, besides its data, its recipe and its parameters.
struct TrainingState {
  std::uint64_t steps = 0;   // the number of steps taken so far
  OptimizerState optimizer;  // the numbers that the optimizer keeps from step to step
  Batches::State batches;    // the position in the random order of the rows
  History history;           // the loss and the accuracy of past steps
  BestParameters best = {};  // the parameters that best_model() returns; empty before the first validation loss
};

// A training run: data, a model that learns from it, and the state of training. A copy of a run has weights and state
// of its own, so training one does not change the other. (A copy of any_model() shares the weights of the run.)
class GRADWALK_EXPORT TrainingRun {
 public:
  // Makes a model for the data, with random initial weights. Throws an Error if the data or the recipe is invalid.
  // `make_step` chooses how gradients are computed: eager_step, or compiled_step from compiled_step.hpp. `team`
  // describes the threads or processes that train one model together (step.hpp); each of them makes a run with the same
  // data and recipe.
  TrainingRun(const Dataset& data, const Recipe& recipe, MakeStep make_step = eager_step, Team team = {});
  TrainingRun(const TrainingRun& other);
  TrainingRun(TrainingRun&&) = default;
  TrainingRun& operator=(const TrainingRun& other);
  TrainingRun& operator=(TrainingRun&&) = default;
  ~TrainingRun() = default;

  // The figures of one training step.
  struct Report {
    std::uint64_t step;  // the number of this step, from 1
    double loss;         // the mean loss of the batch before the step, with the penalties
    double accuracy;     // of the batch before the step; for regression R², which is 1 - mean squared error / variance
    union {
      double learning_rate;                             // the learning rate of this step
      [[deprecated("use learning_rate")]] double rate;  // the same, under its old name
    };
    double gradient_norm;                   // the norm of the gradient before clipping; 0 if the recipe does not clip
    double penalty = 0;                     // the part of the loss that comes from the penalties
    std::optional<double> validation = {};  // the validation loss, after a step that ends an epoch
  };
  // Takes one step: fetches the next batch, computes its gradient and updates the parameters. Throws an Error if the
  // loss or a gradient is not finite; the run is then unchanged.
  Report step();

  // Replaces the data, from the next step on. The new rows must have the same features and classes as the old ones;
  // otherwise throws an Error. The standardisation does not change.
  void set_data(const Dataset& data);
  // Sets a constant learning rate, from the next step on.
  void set_learning_rate(double lr);
  [[deprecated("use set_learning_rate")]] void set_rate(double lr) { set_learning_rate(lr); }
  // Begins a new learning-rate schedule at the current step, with `lr` as its rate before the decay. The state of the
  // optimizer stays. Throws an Error if the schedule is invalid.
  void begin_schedule(LearningRateSchedule schedule, double lr);
  [[deprecated("use begin_schedule")]] void begin_plan(LearningRateSchedule schedule, double lr) {
    begin_schedule(schedule, lr);
  }

  // Returns whether `patience` steps have passed without a lower validation loss. step() still works then.
  bool is_done() const;
  void set_patience(std::uint64_t steps);  // replaces the patience of the recipe
  // Returns the model with the lowest validation loss so far, or the current one if no validation loss has been
  // computed yet.
  AnyModel best_model() const;
  [[deprecated("use best_model")]] AnyModel kept_model() const;

  // The model as of the last step: a classifier or a regressor, depending on the data. classifier() and regressor()
  // throw an Error for the other kind. With an UpdatingStep (step.hpp), these functions copy the parameters to the
  // model, so a number that you set in it counts if you call one of them after the last step.
  const AnyModel& any_model() const;
  const Classifier& classifier() const { return classifier_of(any_model()); }
  [[deprecated("use classifier, or any_model")]] const Classifier& model() const { return classifier(); }
  const Regressor& regressor() const { return regressor_of(any_model()); }
  const MLP& network() const { return model_of(any_model()).network; }

  const Recipe& recipe() const { return recipe_; }      // how the model is built and trained
  std::uint64_t steps() const { return state_.steps; }  // the number of steps taken so far
  // Returns how the steps are computed, such as "eager" or "compiled, AVX2" (BatchStep::kind()).
  std::string step_kind() const { return step_->kind(); }
  const History& history() const { return state_.history; }           // the loss and the accuracy of past steps
  std::size_t validation_rows() const { return validation_.rows(); }  // the number of rows held out

  // Returns the state to continue from. The parameters are not part of it: read them from the network.
  TrainingState state() const;
  // Continues from a state of a run on the same data with the same recipe. Throws an Error if the state does not fit;
  // the run is then unchanged. Set the parameters separately.
  void set_state(TrainingState state);

 private:
  TrainingRun(TrainingSplit data, const Recipe& recipe, MakeStep make_step, Team team);
  // The addresses of a parameter's numbers, for threads that cannot use its Value.
  struct ParameterAddress {
    double *data, *grad;
  };
  static std::vector<ParameterAddress> addresses_of(std::vector<Value>& parameters);
  UpdatingStep* updating_step() const;
  void begin_updates();
  void write_back() const;
  void sum_batch(std::span<const std::size_t> rows);
  double compute(UpdatingStep* updating, std::span<const std::size_t> rows, Report& report);
  void draw_dropout_factors(std::size_t first, std::size_t count);
  void read_parameters();
  double add_penalties();
  void update_parameters(double rate);
  void take_data(TrainingSplit data);
  std::optional<double> validate();
  void check_best(const TrainingState& state) const;

  Recipe recipe_;
  Dataset data_, validation_;  // as the network takes them: features and targets standardised
  AnyModel model_;
  std::vector<Value> parameters_;
  MakeStep make_step_;
  std::unique_ptr<BatchStep> step_;
  Team team_;
  BatchSums sums_;  // the sums of the current step
  std::vector<ParameterAddress> addresses_;
  std::vector<double> numbers_;  // the parameters as plain numbers, during a step
  std::vector<double> factors_;  // the dropout factors of the current step
  Schedule schedule_;
  Batches batches_;
  std::vector<std::size_t> all_rows_;
  TrainingState state_;
};

}  // namespace gradwalk
