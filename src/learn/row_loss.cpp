// SPDX-License-Identifier: MIT
// The loss of a row: the encoding of its target and the formula, which eager and compiled steps have in common.
#include "gradwalk/loss.hpp"
#include "gradwalk/model.hpp"
#include "text/numbers.hpp"

namespace gradwalk {
namespace {

// The targets of all classes in one array. A class of mse with several outputs is a one-hot row: all rows are windows
// of the array 0 ... 0 1 0 ... 0 with the 1 in its middle, so that many classes take little memory.
std::vector<double> encoded_classes(LossKind kind, std::size_t outputs) {
  if (kind == LossKind::bce) return {0, 1};
  if (kind == LossKind::hinge || (kind == LossKind::mse && outputs == 1)) return {-1, 1};
  if (kind == LossKind::mse) {
    std::vector<double> one_hot(2 * outputs - 1);
    one_hot[outputs - 1] = 1;
    return one_hot;
  }
  std::vector<double> numbers;
  for (std::size_t label = 0; kind == LossKind::softmax && label < outputs; ++label)
    numbers.push_back(static_cast<double>(label));
  return numbers;
}

std::size_t class_of(double target) { return static_cast<std::size_t>(target); }
const Value& class_of(const Value& target) { return target; }

// The one formula of each loss.
template <class Target> Value formula(LossKind kind, std::span<const Value> outputs, std::span<const Target> targets) {
  switch (kind) {
    case LossKind::hinge: return hinge(outputs[0], targets[0]);
    case LossKind::bce: return binary_cross_entropy(outputs[0], targets[0]);
    case LossKind::softmax: return softmax_cross_entropy(outputs, class_of(targets[0]));
    case LossKind::mae: return mean_absolute_error(outputs[0], targets[0]);
    case LossKind::huber: return huber(outputs[0], targets[0]);
    case LossKind::mse: break;
  }
  return mean_squared_error(outputs, targets);
}

}  // namespace

Loss::Loss(LossKind kind, std::size_t outputs)
    : kind_(kind),
      outputs_(outputs),
      classes_(outputs == 1 ? 2 : outputs),
      per_row_(kind == LossKind::mse ? outputs : 1) {
  const bool fits = is_for_classes(kind) ? outputs > 0 && outputs_for(kind, classes_) == outputs : outputs == 1;
  if (!fits)
    throw Error("Loss", "as many outputs as the loss " + std::string(name(kind)) + " has", std::to_string(outputs),
                "give the network's last layer outputs_for() neurons");
  encoded_ = encoded_classes(kind, outputs);
}

void Loss::refuse_label(std::size_t label) const {
  if (encoded_.empty())
    throw Error("Loss", "a loss for classes", std::string(name(kind_)), "use the loss softmax, bce, hinge or mse");
  throw Error("Loss", "a label below the number of classes, " + std::to_string(classes_), std::to_string(label),
              "count labels from 0");
}

std::span<const double> Loss::number_of(const Dataset& data, std::size_t row) const {
  if (!is_for_numbers(kind_))
    throw Error("Loss", "a loss for numbers", std::string(name(kind_)), "use the loss mse, mae or huber");
  return std::span(data.targets).subspan(row, 1);
}

void Loss::check(std::size_t outputs, std::size_t targets) const {
  if (outputs != outputs_)
    throw Error("Loss", detail::counted(outputs_, "output", "outputs"), std::to_string(outputs),
                "give those of a network made for this loss");
  if (targets != per_row_)
    throw Error("Loss", detail::counted(per_row_, "target", "targets"), std::to_string(targets),
                "give what targets() returns");
}

Value Loss::operator()(std::span<const Value> outputs, std::span<const double> targets) const {
  check(outputs.size(), targets.size());
  return formula(kind_, outputs, targets);
}

Value Loss::operator()(std::span<const Value> outputs, std::span<const Value> targets) const {
  check(outputs.size(), targets.size());
  return formula(kind_, outputs, targets);
}

}  // namespace gradwalk
