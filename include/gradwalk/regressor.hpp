// SPDX-License-Identifier: MIT
// A model that gives a number: its name, and the units of the network's one output.
#pragma once

#include "gradwalk/model.hpp"

namespace gradwalk {

struct GRADWALK_EXPORT Regressor : Model {
  std::string target_name;
  double target_mean = 0, target_deviation = 1;  // the output is so many deviations from the mean

  double in_deviations(double target) const { return (target - target_mean) / target_deviation; }
  double in_units(double output) const { return target_mean + target_deviation * output; }
  double predict(std::span<const double> row) const { return in_units(scores(row).front()); }

  struct Result {
    double loss = 0;  // the mean over the rows, of targets in deviations
    double rmse = 0,
           mae = 0;  // the root of the mean squared error and the mean size of the errors, in the target's units
    double r2 = 0;   // the share of the targets' variance it explains: 1 - squared errors / squares about the mean
    std::size_t rows = 0;
  };
  Result evaluate(const Dataset& data) const { return evaluate(data, all_scores(data)); }
  // The same where the outputs for all rows are known already.
  Result evaluate(const Dataset& data, std::span<const double> scores) const;
};

}  // namespace gradwalk
