// SPDX-License-Identifier: MIT
// The part that classifiers and regressors share: the kinds of loss, and the network's outputs for rows of data.
#include "gradwalk/model.hpp"

#include <array>

#include "data/shape.hpp"

namespace gradwalk {
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
