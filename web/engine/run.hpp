// SPDX-License-Identifier: MIT
// The one run of training an instance has, and what its parts share: train.cpp makes and moves it, network.cpp looks
// inside.
#pragma once

#include <limits>
#include <vector>

#include "gradwalk/training.hpp"

namespace gradwalk::web {

struct Run {
  Dataset data;
  TrainingRun training;
  TrainingRun::Report last{.step = 0,
                           .loss = std::numeric_limits<double>::quiet_NaN(),
                           .accuracy = std::numeric_limits<double>::quiet_NaN(),
                           .learning_rate = 0,
                           .gradient_norm = 0};
  // The mean gradient of each parameter over about the last ten steps; empty before the first step.
  std::vector<double> mean_gradient = {};  // NOLINT(readability-redundant-member-init): g++ asks for it
};

Run& present();  // an Error where there is none

}  // namespace gradwalk::web
