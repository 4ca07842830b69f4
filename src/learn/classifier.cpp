// SPDX-License-Identifier: MIT
// A classifier's use: scores, the class they mean, and how good it is on data.
#include "gradwalk/classifier.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "data/shape.hpp"
#include "gradwalk/loss.hpp"

namespace gradwalk {

std::string_view name(LossKind loss) {
  constexpr std::array<std::string_view, 4> names{"hinge", "mse", "bce", "softmax"};
  return names[static_cast<std::size_t>(loss)];
}

std::size_t outputs_for(LossKind loss, std::size_t classes) {
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
    case LossKind::mse: break;
  }
  if (outputs.size() == 1) return mean_squared_error(outputs[0], label == 1 ? 1 : -1);
  std::vector<double> targets(outputs.size());
  targets[label] = 1;
  return mean_squared_error(outputs, targets);
}

std::vector<double> Classifier::scores(std::span<const double> row) const {
  std::vector<double> x(row.begin(), row.end());
  if (!standardisation.mean.empty()) standardisation.apply(x);
  const NoGrad guard;
  std::vector<double> result;
  for (const Value& output : network(x)) result.push_back(output.data());
  return result;
}

std::size_t Classifier::label_of(std::span<const double> scores) {
  if (scores.size() == 1) return scores[0] > 0 ? 1 : 0;
  return static_cast<std::size_t>(std::max_element(scores.begin(), scores.end()) - scores.begin());
}

double Classifier::probability(std::span<const double> scores, std::size_t label) const {
  if (scores.size() == 1) {
    const double of_one = rules::Rule<Op::sigmoid>::value(scores[0]);
    return label == 1 ? of_one : 1 - of_one;
  }
  const double largest = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (const double score : scores) sum += std::exp(score - largest);
  return std::exp(scores[label] - largest) / sum;
}

Classifier::Result Classifier::evaluate(const Dataset& data) const {
  detail::check_shape("evaluate", data);
  std::vector<double> all;
  for (std::size_t i = 0; i < data.rows(); ++i) {
    const std::vector<double> outputs = scores(data.row(i));
    all.insert(all.end(), outputs.begin(), outputs.end());
  }
  return evaluate(data, all);
}

Classifier::Result Classifier::evaluate(const Dataset& data, std::span<const double> scores) const {
  detail::check_shape("evaluate", data);
  const std::size_t outputs = network.outputs();
  if (scores.size() != data.rows() * outputs)
    throw Error("evaluate", std::to_string(data.rows() * outputs) + " scores, " + std::to_string(outputs) + " a row",
                std::to_string(scores.size()), "give those of all rows");
  Result result;
  result.rows = data.rows();
  const NoGrad guard;
  std::vector<Value> values(outputs);
  for (std::size_t i = 0; i < data.rows(); ++i) {
    const std::span<const double> row = scores.subspan(i * outputs, outputs);
    result.right += label_of(row) == data.labels[i] ? 1 : 0;
    for (std::size_t k = 0; k < outputs; ++k) values[k].data() = row[k];
    result.loss += row_loss(loss, values, data.labels[i]).data();
  }
  if (result.rows > 0) result.loss /= static_cast<double>(result.rows);
  return result;
}

}  // namespace gradwalk
