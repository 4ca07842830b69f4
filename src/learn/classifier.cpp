// SPDX-License-Identifier: MIT
// A classifier's use: the class that scores mean, and how good it is on data.
#include "gradwalk/classifier.hpp"

#include <algorithm>
#include <cmath>

#include "gradwalk/loss.hpp"
#include "scores.hpp"

namespace gradwalk {

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

Classifier::Result Classifier::evaluate(const Dataset& data, std::span<const double> scores) const {
  const std::size_t outputs = network.outputs();
  detail::check_scores(data, outputs, scores);
  if (data.has_targets())
    throw Error("evaluate", "data with classes", "numbers to learn", "give it data of the kind it was made for");
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
