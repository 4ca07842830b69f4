// SPDX-License-Identifier: MIT
// Cross-validation of a recipe: each row is tested once, by a model that was trained without it.
#pragma once

#include "computing.hpp"
#include "job.hpp"

namespace gradwalk::cli {

void print_folds(const JobOptions& options, const Computing& computing, bool quiet, bool json);

}  // namespace gradwalk::cli
