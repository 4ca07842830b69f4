// SPDX-License-Identifier: MIT
// A training step's work on its batch, apart from the run: who computes the gradient, and who adds up what several
// computed.
//
// A TrainingRun chooses the rows and moves the parameters. Between the two it has a BatchStep compute the sums of the
// batch and, where it is one of a team, has the team add them up: once a step, all numbers in one piece.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gradwalk/model.hpp"

namespace gradwalk {

// Sums over the rows of a batch, as plain numbers.
class BatchSums {
 public:
  explicit BatchSums(std::size_t parameters) : numbers_(parameters + 2) {}

  std::span<double> gradient() { return all().first(numbers_.size() - 2); }  // in the order of parameters()
  double& loss() { return numbers_[numbers_.size() - 2]; }
  // How many rows the model puts into their class; of numbers to learn, each row counts as 1 less its squared error, in
  // deviations.
  double& right() { return numbers_.back(); }

  std::span<double> all() { return numbers_; }

 private:
  std::vector<double> numbers_;
};

// Rows for a step to work on.
struct Batch {
  const Dataset& data;  // features as the network takes them, standardised or not, and targets in deviations
  std::span<const std::size_t> rows;
  double weight = 1;                     // of each row in the sums, times its own
  std::span<const double> factors = {};  // of the hidden neurons' outputs, row after row (MLP::with_factors); empty: 1
};

class GRADWALK_EXPORT BatchStep {
 public:
  BatchStep() = default;
  BatchStep(const BatchStep&) = delete;
  BatchStep& operator=(const BatchStep&) = delete;
  virtual ~BatchStep();

  // Sets the sums to those of these rows, which may be none: each row's loss and its gradient times its weight. The
  // parameters are read as they are now.
  virtual void run(const Batch& batch, BatchSums& sums) = 0;

  // The mean loss of all rows, by their weights; no gradients.
  virtual double loss(const Dataset& data) = 0;

  // Calls work(begin, end) for ranges that together cover 0 ... size, on the threads that the step has, and waits for
  // all of them. The default is one call on this thread.
  virtual void parallel_for(std::size_t size, const std::function<void(std::size_t begin, std::size_t end)>& work) {
    work(0, size);
  }

  // Steps of one kind give the same bits, those of another may round otherwise: "eager", "compiled, AVX2".
  virtual std::string kind() const = 0;
};

// Makes the step of a model. A copy of the model has the same parameters: a step may keep one.
using MakeStep = std::function<std::unique_ptr<BatchStep>(const Model& model)>;

// Row by row on this thread's tape, each walked back with its weight as the seed: a batch of any size takes the memory
// of one row. The parameters' own gradients are written over.
GRADWALK_EXPORT std::unique_ptr<BatchStep> eager_step(const Model& model);

// Those who make each step together, every one with the same data and recipe. Each computes the sums of its share of
// the rows and then moves its own parameters by the sums of all: they stay equal, bit for bit.
struct Team {
  std::size_t size = 1, member = 0;
  // Puts the sum over all members into the place of each number, the same bits for every one; none for one alone.
  // NOLINTNEXTLINE(readability-redundant-member-init): without it g++ warns when designated initialisers leave it out
  std::function<void(std::span<double> sums)> add_up = {};
};

}  // namespace gradwalk
