// SPDX-License-Identifier: MIT
// Where models are saved, so that none is lost.
#pragma once

#include <string>

#include "job.hpp"

namespace gradwalk::cli {

void check_place(const std::string& path);  // an Error where no file of this name could be written
std::string recovery_place();               // here, beside what an earlier run may have left
// Saves where it was asked to; if that fails, somewhere, so that the training is not lost.
void save(const Job& job, const TrainingRun& run, const std::string& path);

}  // namespace gradwalk::cli
