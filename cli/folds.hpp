// SPDX-License-Identifier: MIT
// Judging a recipe by folds of the data: each row is tested once, by a model that has not learned from it.
#pragma once

#include "computing.hpp"
#include "job.hpp"

namespace gradwalk::cli {

void print_folds(const JobOptions& options, const Computing& computing, bool quiet, bool json);

}  // namespace gradwalk::cli
