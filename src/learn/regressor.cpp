// SPDX-License-Identifier: MIT
// Measuring how good a regressor is on data.
#include "gradwalk/regressor.hpp"

#include <cmath>
#include <numeric>

#include "scores.hpp"

namespace gradwalk {

Regressor::Result Regressor::evaluate(const Dataset& data, std::span<const double> scores) const {
  detail::check_scores(data, 1, scores);
  Result result;
  result.rows = data.rows();
  if (result.rows == 0) return result;
  if (!data.has_targets())
    throw Error("evaluate", "targets that are numbers", "classes", "give data of the kind that the model was made for");
  const auto rows = static_cast<double>(result.rows);
  const double mean = std::accumulate(data.targets.begin(), data.targets.end(), 0.0) / rows;
  double errors = 0, sizes = 0, spread = 0;
  const NoGrad guard;
  const Loss row_loss(loss, 1);
  Value output;
  for (std::size_t i = 0; i < data.rows(); ++i) {
    const double target = data.targets[i], error = in_units(scores[i]) - target, deviations = in_deviations(target);
    errors += error * error, sizes += std::abs(error), spread += (target - mean) * (target - mean);
    output.data() = scores[i];
    result.loss += row_loss({&output, 1}, std::span(&deviations, 1)).data() / rows;
  }
  result.rmse = std::sqrt(errors / rows);
  result.mae = sizes / rows;
  result.r2 = spread > 0 ? 1 - errors / spread : errors == 0 ? 1 : 0;
  return result;
}

}  // namespace gradwalk
