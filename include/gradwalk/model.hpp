// SPDX-License-Identifier: MIT
// The part that classifiers and regressors share: a network, the loss it is trained with, the names of its features and
// the standardisation of its inputs. classifier.hpp and regressor.hpp say what the outputs mean.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gradwalk/data.hpp"
#include "gradwalk/nn.hpp"

namespace gradwalk {

// The loss that training minimises. Losses for classes:
//   hinge, bce  two classes, one output
//   softmax     any number of classes, one output per class
//   mse         two classes: one output with the targets -1 and 1; more: one output per class with the targets 0 and 1
// Losses for numbers have one output: mse, mae, huber.
enum class LossKind { hinge, mse, bce, softmax, mae, huber };
inline constexpr std::array all_losses{LossKind::hinge,   LossKind::mse, LossKind::bce,
                                       LossKind::softmax, LossKind::mae, LossKind::huber};
GRADWALK_EXPORT std::string_view name(LossKind loss);  // "hinge"
GRADWALK_EXPORT bool is_for_classes(LossKind loss);    // hinge, mse, bce, softmax
GRADWALK_EXPORT bool is_for_numbers(LossKind loss);    // mse, mae, huber
// Returns the number of outputs that a network needs for these classes. Throws an Error if the loss does not support
// this number of classes.
GRADWALK_EXPORT std::size_t outputs_for(LossKind loss, std::size_t classes);

// The loss of one row: how its target is encoded as numbers, and the formula. Eager and compiled steps both use it.
//
//   const Loss loss(LossKind::softmax, 3);  // for a network with three outputs
//   Value of_row = loss(network(data.row(i)), loss.targets(data, i));
class GRADWALK_EXPORT Loss {
 public:
  // Throws an Error if a network for this loss cannot have this number of outputs.
  Loss(LossKind kind, std::size_t outputs);

  // Returns how many numbers encode the target of a row: one per output for mse, otherwise one.
  std::size_t targets_per_row() const { return per_row_; }

  // Returns the numbers that encode a class, in constant time. They live as long as this Loss. Throws an Error for a
  // class that does not exist, and where the loss is for numbers only.
  std::span<const double> targets(std::size_t label) const {
    if (label >= classes_ || encoded_.empty()) refuse_label(label);
    const bool is_one_hot = per_row_ > 1;
    return {encoded_.data() + (is_one_hot ? classes_ - 1 - label : label), per_row_};
  }
  // Returns the encoded target of a row: its class, or its number, which is expected in standard deviations.
  std::span<const double> targets(const Dataset& data, std::size_t row) const {
    return data.has_targets() ? number_of(data, row) : targets(data.labels[row]);
  }

  // Returns the loss of a row with these outputs. Targets that are Values make a loss that can be compiled for any row.
  // Throws an Error where the number of outputs or targets is wrong.
  Value operator()(std::span<const Value> outputs, std::span<const double> targets) const;
  Value operator()(std::span<const Value> outputs, std::span<const Value> targets) const;

 private:
  void check(std::size_t outputs, std::size_t targets) const;
  [[noreturn]] void refuse_label(std::size_t label) const;
  std::span<const double> number_of(const Dataset& data, std::size_t row) const;

  LossKind kind_;
  std::size_t outputs_, classes_, per_row_;
  std::vector<double> encoded_;  // the targets of all classes
};

// Returns the loss of one row with this class, for a network with these outputs. Throws as Loss does.
inline Value row_loss(LossKind kind, std::span<const Value> outputs, std::size_t label) {
  const Loss loss(kind, outputs.size());
  return loss(outputs, loss.targets(label));
}
[[deprecated("use Loss")]] inline Value number_loss(LossKind kind, const Value& output, const Value& target) {
  return Loss(kind, 1)({&output, 1}, std::span(&target, 1));
}

// The members that every model has. A copy shares the parameters of its network.
struct GRADWALK_EXPORT Model {
  MLP network;
  LossKind loss;                           // the loss that it was trained with
  std::vector<std::string> feature_names;  // one name per input of the network, in their order
  Standardisation standardisation;         // empty: features are used as they are
  std::vector<Column> table = {};          // the columns that the features come from, as in Dataset::table

  // Returns the network's outputs for a row of features that are not standardised: the model does that first.
  std::vector<double> scores(std::span<const double> row) const;
  // Returns the outputs for all rows, one row after another.
  std::vector<double> all_scores(const Dataset& data) const;
};

}  // namespace gradwalk
