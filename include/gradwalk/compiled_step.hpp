// SPDX-License-Identifier: MIT
// Compiles a model into a training step for a TrainingRun, in place of eager_step, or into a function that computes the
// scores of many rows. Part of gradwalk::compile.
#pragma once

#include "gradwalk/compile.hpp"
#include "gradwalk/step.hpp"

namespace gradwalk {

// How compiled_step() and CompiledScores run their programs.
struct CompiledStepOptions {
  std::size_t threads = 1;           // at most; 0: one per processor core. The result does not depend on it
  std::string instruction_set = {};  // one of instruction_sets(); empty: the best that this machine has
};

// Returns a step that computes the sums of eager_step(), up to rounding. The loss of one row is recorded and compiled
// once. Each run reads the parameters from the model's Values and leaves the gradients of these Values unchanged.
GRADWALK_EXPORT std::unique_ptr<BatchStep> compiled_step(const Model& model, const CompiledStepOptions& options = {});

// Computes Model::scores() for many rows at a time, up to rounding. Each call reads the parameters from the model.
class GRADWALK_EXPORT CompiledScores {
 public:
  explicit CompiledScores(const Model& model, const CompiledStepOptions& options = {});

  // Returns the scores of rows that are not standardised. Rows, and the scores of each, are stored one after another.
  // Throws an Error if the last row is incomplete.
  std::vector<double> operator()(std::span<const double> rows);

 private:
  Model model_;
  Program program_;
};

}  // namespace gradwalk
