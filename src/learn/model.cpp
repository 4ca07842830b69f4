// SPDX-License-Identifier: MIT
// What classifiers and regressors share: losses by name, and the network's outputs for rows in their own units.
#include "gradwalk/model.hpp"

#include <array>

#include "data/shape.hpp"
#include "gradwalk/loss.hpp"

namespace gradwalk {
namespace {

[[noreturn]] void refuse_number_loss(LossKind loss) {
  throw Error("train", "a loss for numbers", std::string(name(loss)), "use the loss mse, mae or huber");
}

}  // namespace

std::string_view name(LossKind loss) {
  constexpr std::array<std::string_view, 6> names{"hinge", "mse", "bce", "softmax", "mae", "huber"};
  return names[static_cast<std::size_t>(loss)];
}

bool is_for_classes(LossKind loss) { return loss != LossKind::mae && loss != LossKind::huber; }

bool is_for_numbers(LossKind loss) { return loss == LossKind::mse || loss == LossKind::mae || loss == LossKind::huber; }

std::size_t outputs_for(LossKind loss, std::size_t classes) {
  if (!is_for_classes(loss))
    throw Error("train", "a loss for classes", std::string(name(loss)), "use the loss softmax, bce, hinge or mse");
  if (classes < 2)
    throw Error("train", "data with at least two classes", std::to_string(classes), "add rows of another class");
  if (classes > 2 && (loss == LossKind::hinge || loss == LossKind::bce))
    throw Error("train", "two classes for the loss " + std::string(name(loss)), std::to_string(classes),
                "use the loss softmax");
  return classes == 2 && loss != LossKind::softmax ? 1 : classes;
}

Value row_loss(LossKind loss, std::span<const Value> outputs, std::size_t label) {
  const std::size_t classes = outputs.size() == 1 ? 2 : outputs.size();
  if (outputs.empty() || outputs_for(loss, classes) != outputs.size())
    throw Error("row_loss", "as many outputs as the loss " + std::string(name(loss)) + " has",
                std::to_string(outputs.size()), "make the network's last layer of outputs_for() neurons");
  if (label >= classes)
    throw Error("row_loss", "a label below the number of classes, " + std::to_string(classes), std::to_string(label),
                "count labels from 0");
  switch (loss) {
    case LossKind::hinge: return hinge(outputs[0], label == 1 ? 1 : -1);
    case LossKind::bce: return binary_cross_entropy(outputs[0], label == 1 ? 1 : 0);
    case LossKind::softmax: return softmax_cross_entropy(outputs, label);
    default: break;
  }
  if (outputs.size() == 1) return mean_squared_error(outputs[0], label == 1 ? 1 : -1);
  std::vector<double> targets(outputs.size());
  targets[label] = 1;
  return mean_squared_error(outputs, targets);
}

Value number_loss(LossKind loss, const Value& output, double target) {
  switch (loss) {
    case LossKind::mse: return mean_squared_error(output, target);
    case LossKind::mae: return mean_absolute_error(output, target);
    case LossKind::huber: return huber(output, target);
    default: refuse_number_loss(loss);
  }
}

Value number_loss(LossKind loss, const Value& output, const Value& target) {
  switch (loss) {
    case LossKind::mse: return mean_squared_error(output, target);
    case LossKind::mae: return mean_absolute_error(output, target);
    case LossKind::huber: return huber(output, target);
    default: refuse_number_loss(loss);
  }
}

std::vector<double> Model::scores(std::span<const double> row) const {
  std::vector<double> x(row.begin(), row.end());
  if (!standardisation.mean.empty()) standardisation.apply(x);
  const NoGrad guard;
  std::vector<double> result;
  for (const Value& output : network(x)) result.push_back(output.data());
  return result;
}

std::vector<double> Model::all_scores(const Dataset& data) const {
  detail::check_shape("evaluate", data);
  std::vector<double> all;
  for (std::size_t i = 0; i < data.rows(); ++i) {
    const std::vector<double> outputs = scores(data.row(i));
    all.insert(all.end(), outputs.begin(), outputs.end());
  }
  return all;
}

}  // namespace gradwalk
