// SPDX-License-Identifier: MIT
// A network with what is needed to use it: which loss it learned by, the names of its features and classes, and the
// standardisation of its inputs.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gradwalk/data.hpp"
#include "gradwalk/nn.hpp"

namespace gradwalk {

// What is made small. hinge and bce have one output and two classes, softmax has an output a class; mse has one output
// for two classes, whose targets are -1 and 1, and one a class, whose targets are 0 and 1, for more.
enum class LossKind { hinge, mse, bce, softmax };
GRADWALK_EXPORT std::string_view name(LossKind loss);
GRADWALK_EXPORT std::size_t outputs_for(LossKind loss, std::size_t classes);  // an Error where the two do not fit
GRADWALK_EXPORT Value row_loss(LossKind loss, std::span<const Value> outputs, std::size_t label);

struct GRADWALK_EXPORT Classifier {
  MLP network;
  LossKind loss;
  std::vector<std::string> feature_names, label_names;
  Standardisation standardisation;  // empty: features are taken as they are

  // Rows are in the data's own units.
  std::vector<double> scores(std::span<const double> row) const;  // the network's outputs
  std::size_t predict(std::span<const double> row) const { return label_of(scores(row)); }

  // Whether scores can be read as probabilities: with bce and softmax they can.
  bool has_probabilities() const { return loss == LossKind::bce || loss == LossKind::softmax; }
  double probability(std::span<const double> scores, std::size_t label) const;

  struct Result {
    double loss = 0;  // the mean over the rows
    std::size_t right = 0, rows = 0;
    double accuracy() const { return rows == 0 ? 0 : static_cast<double>(right) / static_cast<double>(rows); }
  };
  Result evaluate(const Dataset& data) const;
  // The same where the scores of all rows, one after another, are known already.
  Result evaluate(const Dataset& data, std::span<const double> scores) const;

  static std::size_t label_of(std::span<const double> scores);  // the largest; of one score, its sign: 0 if negative
};

}  // namespace gradwalk
