// SPDX-License-Identifier: MIT
// A model that tells classes apart: their names, and which one scores mean.
#pragma once

#include "gradwalk/model.hpp"

namespace gradwalk {

struct GRADWALK_EXPORT Classifier : Model {
  std::vector<std::string> label_names;

  std::size_t predict(std::span<const double> row) const { return label_of(scores(row)); }

  // Whether scores can be read as probabilities: with bce and softmax they can.
  bool has_probabilities() const { return loss == LossKind::bce || loss == LossKind::softmax; }
  double probability(std::span<const double> scores, std::size_t label) const;

  struct Result {
    double loss = 0;  // the mean over the rows
    std::size_t right = 0, rows = 0;
    double accuracy() const { return rows == 0 ? 0 : static_cast<double>(right) / static_cast<double>(rows); }
  };
  Result evaluate(const Dataset& data) const { return evaluate(data, all_scores(data)); }
  // The same where the scores of all rows, one after another, are known already.
  Result evaluate(const Dataset& data, std::span<const double> scores) const;

  static std::size_t label_of(std::span<const double> scores);  // the largest; of one score, its sign: 0 if negative
};

}  // namespace gradwalk
