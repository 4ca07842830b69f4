// SPDX-License-Identifier: MIT
// The work of one training step on a batch: its gradient, its loss, and the number of correct predictions.
//
// A TrainingRun chooses the rows of a step and updates the parameters. In between, a BatchStep computes the sums of the
// batch. If several processes train together, each computes the sums of its share of the rows, and the team adds them
// up once per step.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gradwalk/model.hpp"
#include "gradwalk/optim.hpp"

namespace gradwalk {

// Sums over the rows of a batch, in one array that a team can add up.
class BatchSums {
 public:
  explicit BatchSums(std::size_t parameters) : numbers_(parameters + 2) {}

  std::span<double> gradient() { return all().first(numbers_.size() - 2); }  // one number per parameter, in their order
  // The sum of the rows' losses, each multiplied by its weight.
  double& loss() { return numbers_[numbers_.size() - 2]; }
  // For classes, the number of rows that are classified correctly. For regression, the sum of 1 - squared error, in
  // standard deviations, which gives R².
  double& right() { return numbers_.back(); }

  // All sums as one array, for Team::add_up: the gradient, then loss(), then right().
  std::span<double> all() { return numbers_; }

 private:
  std::vector<double> numbers_;
};

// The rows of a step.
struct Batch {
  const Dataset& data;                // as the network takes it: features and targets standardised
  std::span<const std::size_t> rows;  // indices of rows of the data
  double weight = 1;                  // a factor on the weight of every row
  // One dropout factor per row and hidden neuron, row after row (MLP::with_factors); empty: all are 1.
  std::span<const double> factors = {};
};

// Computes the sums of batches. Derive from it to compute them in another way.
class GRADWALK_EXPORT BatchStep {
 public:
  BatchStep() = default;
  BatchStep(const BatchStep&) = delete;
  BatchStep& operator=(const BatchStep&) = delete;
  virtual ~BatchStep();

  // Sets the sums to those of the batch, which may be empty: each row's loss and gradient, multiplied by its weight.
  // The parameters are read at each call.
  virtual void run(const Batch& batch, BatchSums& sums) = 0;

  // Returns the mean loss of all rows, each multiplied by its weight. It computes no gradient.
  virtual double loss(const Dataset& data) = 0;

  // Calls work(begin, end) for ranges that together cover 0 ... size, on the threads that the step has, and waits for
  // all of them. The default is one call on this thread.
  virtual void parallel_for(std::size_t size, const std::function<void(std::size_t begin, std::size_t end)>& work) {
    work(0, size);
  }

  // Returns how the sums are computed, such as "eager" or "compiled, AVX2". Steps of one kind give the same bits; steps
  // of different kinds may round differently.
  virtual std::string kind() const = 0;
};

// A BatchStep that also updates the parameters, where it computes their gradient: they and the moments of the optimizer
// stay there from step to step. A TrainingRun calls update() in place of run(), unless a team trains together. The
// Values have the parameters after write_back(). From then on they may be changed: the next update reads them again.
class GRADWALK_EXPORT UpdatingStep : public BatchStep {
 public:
  ~UpdatingStep() override;

  // The settings of a recipe that an update needs.
  struct Settings {
    // The optimizer that updates the parameters.
    OptimizerConfig optimizer;
    // The factors of the penalties: l1 of the sum of |parameter|, and l2 of the sum of squares.
    double l1 = 0, l2 = 0;
    // The largest norm of the gradient of a batch; a larger one is scaled down to it. 0: any norm.
    double clip = 0;
  };
  // The figures of an update.
  struct Figures {
    double loss = 0;            // the mean loss of the rows, each multiplied by its weight, without the penalties
    double penalty = 0;         // the penalties
    double right = 0;           // BatchSums::right()
    double gradient_norm = 0;   // before clipping
    double bad_derivative = 0;  // one that is not finite; 0 if there is none
  };

  // Begins with the parameters of the Values, this state of the optimizer, and the rows that updates take batches from.
  virtual void begin(const Settings& settings, const OptimizerState& state, const Dataset& data) = 0;
  // Updates the parameters by the mean gradient of some rows of the data; none stand for all, in their order. If the
  // loss or a derivative is not finite, it changes nothing, and the figures say which.
  virtual Figures update(std::span<const std::size_t> rows, double rate) = 0;
  // Copies the parameters to their Values.
  virtual void write_back() = 0;
  // Returns the state of the optimizer after the last update.
  virtual OptimizerState optimizer_state() = 0;
};

// A function that makes the step of a model. The step may keep a copy of the model: copies share their parameters.
using MakeStep = std::function<std::unique_ptr<BatchStep>(const Model& model)>;

// Returns a step that computes row by row on this thread's tape, so a batch of any size takes the memory of one row. It
// overwrites the gradients of the model's parameters.
GRADWALK_EXPORT std::unique_ptr<BatchStep> eager_step(const Model& model);

// The processes or threads that make each step together, all with the same data and recipe. Each computes the sums of
// its share of the rows, and then updates its own parameters by the sums of all, so they stay equal bit for bit.
struct Team {
  std::size_t size = 1, member = 0;  // members are numbered from 0
  // Replaces each number by its sum over all members. Every member gets the same bits. Empty for a team of one.
  // NOLINTNEXTLINE(readability-redundant-member-init): without it g++ warns when designated initialisers leave it out
  std::function<void(std::span<double> sums)> add_up = {};
};

}  // namespace gradwalk
