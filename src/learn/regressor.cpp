// SPDX-License-Identifier: MIT
// How good a regressor is on data.
#include "gradwalk/regressor.hpp"

#include <cmath>
#include <numeric>

#include "gradwalk/loss.hpp"
#include "scores.hpp"

namespace gradwalk {

Regressor::Result Regressor::evaluate(const Dataset& data, std::span<const double> scores) const {
  detail::check_scores(data, 1, scores);
  Result result;
  result.rows = data.rows();
  if (result.rows == 0) return result;
  if (!data.has_targets())
    throw Error("evaluate", "data with numbers to learn", "classes", "give it data of the kind it was made for");
  const auto rows = static_cast<double>(result.rows);
  const double mean = std::accumulate(data.targets.begin(), data.targets.end(), 0.0) / rows;
  double errors = 0, sizes = 0, spread = 0;
  const NoGrad guard;
  Value output;
  for (std::size_t i = 0; i < data.rows(); ++i) {
    const double target = data.targets[i], off = in_units(scores[i]) - target;
    errors += off * off, sizes += std::abs(off), spread += (target - mean) * (target - mean);
    output.data() = scores[i];
    result.loss += number_loss(loss, output, in_deviations(target)).data() / rows;
  }
  result.rmse = std::sqrt(errors / rows);
  result.mae = sizes / rows;
  result.r2 = spread > 0 ? 1 - errors / spread : errors == 0 ? 1 : 0;
  return result;
}

}  // namespace gradwalk
