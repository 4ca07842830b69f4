// SPDX-License-Identifier: MIT
// Scores of rows, eager or compiled: checking their number, and measuring how right they are.
#pragma once

#include <span>

#include "data/shape.hpp"
#include "gradwalk/classifier.hpp"

namespace gradwalk::detail {

inline void check_scores(const Dataset& data, std::size_t outputs, std::span<const double> scores) {
  check_shape("evaluate", data);
  if (scores.size() != data.rows() * outputs)
    throw Error("evaluate", std::to_string(data.rows() * outputs) + " scores, " + std::to_string(outputs) + " per row",
                std::to_string(scores.size()), "give the scores of all rows");
}

// Returns what a row contributes to BatchSums::right().
inline double rightness(const Dataset& data, std::size_t row, std::span<const double> scores) {
  if (!data.has_targets()) return Classifier::label_of(scores) == data.labels[row] ? 1 : 0;
  const double error = scores[0] - data.targets[row];
  return 1 - error * error;
}

}  // namespace gradwalk::detail
