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
    std::size_t classes = 0;
    std::vector<std::size_t> confusion = {};  // rows of class i that are taken for k, at i * classes + k

    std::size_t taken(std::size_t label, std::size_t as) const { return confusion[label * classes + as]; }
    std::size_t of_class(std::size_t label) const;  // rows
    double precision(std::size_t label) const;      // the share of what is taken for it that is; 0 if nothing is
    double recall(std::size_t label) const;         // the share of it that is taken for it
    double f1(std::size_t label) const;             // their harmonic mean
    double accuracy() const { return rows == 0 ? 0 : static_cast<double>(right) / static_cast<double>(rows); }
  };
  Result evaluate(const Dataset& data) const { return evaluate(data, all_scores(data)); }
  // The same where the scores of all rows, one after another, are known already.
  Result evaluate(const Dataset& data, std::span<const double> scores) const;

  static std::size_t label_of(std::span<const double> scores);  // the largest; of one score, its sign: 0 if negative
};

}  // namespace gradwalk
