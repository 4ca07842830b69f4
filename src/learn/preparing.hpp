// SPDX-License-Identifier: MIT
// The start of a run: checked data in the network's units, and a model for it.
#pragma once

#include "gradwalk/training.hpp"

namespace gradwalk::detail {

void check_targets(const Dataset& data);
void check_data(const Dataset& data);  // throws unless a run and its file can rely on the data

// Returns a new model with random weights; throws an Error if the data or the recipe is invalid.
AnyModel make_model(const Dataset& data, const Recipe& recipe);
// Returns a deep copy: plain copies of a network share its weights.
AnyModel with_own_weights(const AnyModel& model);

// Returns the data in the network's units, with row weights if the recipe balances classes.
Dataset standardised(Dataset data, const AnyModel& model, const Recipe& recipe);

}  // namespace gradwalk::detail
