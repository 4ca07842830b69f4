// SPDX-License-Identifier: MIT
// A training step's work on its batch, compiled: what a TrainingRun is given in place of eager_step.
#pragma once

#include "gradwalk/compile.hpp"
#include "gradwalk/step.hpp"

namespace gradwalk {

// The sums are those of eager_step, to rounding. The program is made once, of the model's loss of one row; the
// parameters are read from the model at each run, and their gradients left as they are.
GRADWALK_EXPORT std::unique_ptr<BatchStep> compiled_step(const Classifier& model, std::size_t threads = 1);

}  // namespace gradwalk
