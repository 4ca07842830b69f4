// SPDX-License-Identifier: MIT
// What is made of scores, whoever computed them: whether they are those of the data's rows, and how right they are.
#pragma once

#include <span>

#include "data/shape.hpp"
#include "gradwalk/classifier.hpp"

namespace gradwalk::detail {

inline void check_scores(const Dataset& data, std::size_t outputs, std::span<const double> scores) {
  check_shape("evaluate", data);
  if (scores.size() != data.rows() * outputs)
    throw Error("evaluate", std::to_string(data.rows() * outputs) + " scores, " + std::to_string(outputs) + " a row",
                std::to_string(scores.size()), "give those of all rows");
}

// What a row adds to BatchSums::right().
inline double rightness(const Dataset& data, std::size_t row, std::span<const double> scores) {
  if (!data.has_targets()) return Classifier::label_of(scores) == data.labels[row] ? 1 : 0;
  const double off = scores[0] - data.targets[row];
  return 1 - off * off;
}

}  // namespace gradwalk::detail
