// SPDX-License-Identifier: MIT
// A model compiled: a training step's work on its batch, which a TrainingRun is given in place of eager_step, and
// the scores of many rows.
#pragma once

#include "gradwalk/compile.hpp"
#include "gradwalk/step.hpp"

namespace gradwalk {

struct CompiledStepOptions {
  std::size_t threads = 1;           // at most; 0: as many as the machine has. The numbers are the same for all
  std::string instruction_set = {};  // the best this machine has, or one that instruction_sets() names
};

// The sums are those of eager_step, to rounding. The program is made once, of the model's loss of one row; the
// parameters are read from the model at each run, and their gradients left as they are.
GRADWALK_EXPORT std::unique_ptr<BatchStep> compiled_step(const Model& model, const CompiledStepOptions& options = {});

// The scores of Model::scores(), to rounding, for many rows at a time. The parameters are read from the model at
// each call.
class GRADWALK_EXPORT CompiledScores {
 public:
  explicit CompiledScores(const Model& model, const CompiledStepOptions& options = {});

  // Of rows in the data's own units, one after another.
  std::vector<double> operator()(std::span<const double> rows);

 private:
  Model model_;
  Program program_;
};

}  // namespace gradwalk
