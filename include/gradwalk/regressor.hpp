// SPDX-License-Identifier: MIT
// A regressor: a model that predicts a number.
#pragma once

#include "gradwalk/model.hpp"

namespace gradwalk {

// A trained or untrained network that predicts one number for each row.
struct GRADWALK_EXPORT Regressor : Model {
  std::string target_name;  // the name of the number that it predicts
  // The network's one output is the target in standard deviations from the mean.
  double target_mean = 0, target_deviation = 1;

  // Converts a target from its own units to the network's: standard deviations from the mean.
  double in_deviations(double target) const { return (target - target_mean) / target_deviation; }
  // Converts an output of the network to the units of the target. It is the inverse of in_deviations().
  double in_units(double output) const { return target_mean + target_deviation * output; }
  // Returns the prediction for a row, in the units of the target.
  double predict(std::span<const double> row) const { return in_units(scores(row).front()); }

  // How good the regressor is on some data.
  struct Result {
    double loss = 0;  // the mean over the rows, with targets in standard deviations
    double rmse = 0;  // the root of the mean squared error, in the units of the target
    double mae = 0;   // the mean absolute error, in the units of the target
    double r2 = 0;  // the fraction of the targets' variance that is explained: 1 - squared errors / squared deviations
    std::size_t rows = 0;  // the number of rows of the data; if it is 0, all other members are 0 too
  };
  // Evaluates the regressor on data that is not standardised. Throws an Error if the data has classes.
  Result evaluate(const Dataset& data) const { return evaluate(data, all_scores(data)); }
  // The same, if the outputs for all rows are known already.
  Result evaluate(const Dataset& data, std::span<const double> scores) const;
};

}  // namespace gradwalk
