// SPDX-License-Identifier: MIT
// Using a classifier: the class that scores stand for, and how good the classifier is on data.
#include "gradwalk/classifier.hpp"

#include <algorithm>
#include <cmath>

#include "scores.hpp"

namespace gradwalk {

std::size_t Classifier::label_of(std::span<const double> scores) {
  if (scores.size() == 1) return scores[0] > 0 ? 1 : 0;
  return static_cast<std::size_t>(std::max_element(scores.begin(), scores.end()) - scores.begin());
}

double Classifier::probability(std::span<const double> scores, std::size_t label) const {
  if (scores.size() == 1) {
    const double of_class_1 = rules::Rule<Op::sigmoid>::value(scores[0]);
    return label == 1 ? of_class_1 : 1 - of_class_1;
  }
  const double largest = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (const double score : scores) sum += std::exp(score - largest);
  return std::exp(scores[label] - largest) / sum;
}

namespace {

double share(std::size_t part, std::size_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

std::size_t Classifier::Result::of_class(std::size_t label) const {
  std::size_t count = 0;
  for (std::size_t k = 0; k < classes; ++k) count += taken(label, k);
  return count;
}

double Classifier::Result::precision(std::size_t label) const {
  std::size_t predicted = 0;
  for (std::size_t i = 0; i < classes; ++i) predicted += taken(i, label);
  return share(taken(label, label), predicted);
}

double Classifier::Result::recall(std::size_t label) const { return share(taken(label, label), of_class(label)); }

double Classifier::Result::f1(std::size_t label) const {
  const double p = precision(label), r = recall(label);
  return p + r > 0 ? 2 * p * r / (p + r) : 0;
}

Classifier::Result Classifier::evaluate(const Dataset& data, std::span<const double> scores) const {
  const std::size_t outputs = network.outputs();
  detail::check_scores(data, outputs, scores);
  if (data.has_targets())
    throw Error("evaluate", "data with classes", "targets that are numbers",
                "give data of the kind that the model was made for");
  Result result;
  result.rows = data.rows();
  result.classes = label_names.size();
  result.confusion.resize(result.classes * result.classes);
  const NoGrad guard;
  const Loss row_loss(loss, outputs);
  std::vector<Value> values(outputs);
  for (std::size_t i = 0; i < data.rows(); ++i) {
    const std::span<const double> row = scores.subspan(i * outputs, outputs);
    const std::size_t label = label_of(row);
    result.right += label == data.labels[i] ? 1 : 0;
    if (data.labels[i] < result.classes) ++result.confusion[data.labels[i] * result.classes + label];
    for (std::size_t k = 0; k < outputs; ++k) values[k].data() = row[k];
    result.loss += row_loss(values, row_loss.targets(data.labels[i])).data();
  }
  if (result.rows > 0) result.loss /= static_cast<double>(result.rows);
  return result;
}

}  // namespace gradwalk
