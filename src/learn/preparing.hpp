// SPDX-License-Identifier: MIT
// From data and a recipe to what a run starts with: data that is checked and in the network's units, and a model for
// it.
#pragma once

#include "gradwalk/training.hpp"

namespace gradwalk::detail {

void check_targets(const Dataset& data);
void check_data(const Dataset& data);  // what the run and its file rely on

AnyModel make_model(const Dataset& data, const Recipe& recipe);  // checks both
AnyModel with_own_weights(const AnyModel& model);                // a network's copies are handles to the same weights

// As the network takes and gives it.
Dataset standardised(Dataset data, const AnyModel& model, const Recipe& recipe);

}  // namespace gradwalk::detail
