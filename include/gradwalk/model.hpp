// SPDX-License-Identifier: MIT
// What every model in use has: a network, the loss it learned by, the names of its features, and the standardisation of
// its inputs. classifier.hpp and regressor.hpp say what its outputs mean.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gradwalk/data.hpp"
#include "gradwalk/nn.hpp"

namespace gradwalk {

// What is made small. Of classes: hinge and bce have one output and two classes, softmax has an output a class; mse has
// one output for two classes, whose targets are -1 and 1, and one a class, whose targets are 0 and 1, for more. Of
// numbers: mse, mae and huber have one output.
enum class LossKind { hinge, mse, bce, softmax, mae, huber };
GRADWALK_EXPORT std::string_view name(LossKind loss);
GRADWALK_EXPORT bool is_for_classes(LossKind loss);
GRADWALK_EXPORT bool is_for_numbers(LossKind loss);
GRADWALK_EXPORT std::size_t outputs_for(LossKind loss, std::size_t classes);  // an Error where the two do not fit
GRADWALK_EXPORT Value row_loss(LossKind loss, std::span<const Value> outputs, std::size_t label);
// Of a number that is to be learned; both are in deviations.
GRADWALK_EXPORT Value number_loss(LossKind loss, const Value& output, double target);
GRADWALK_EXPORT Value number_loss(LossKind loss, const Value& output, const Value& target);

struct GRADWALK_EXPORT Model {
  MLP network;
  LossKind loss;
  std::vector<std::string> feature_names;
  Standardisation standardisation;  // empty: features are taken as they are
  std::vector<Column> table = {};   // what they are made of, as Dataset::table

  std::vector<double> scores(std::span<const double> row) const;  // the network's outputs; the row in its own units
  std::vector<double> all_scores(const Dataset& data) const;      // of all rows, one after another
};

}  // namespace gradwalk
