// SPDX-License-Identifier: MIT
// A classifier's batch as a program: a row's inputs are its features and its target, as the loss takes it.
#include "gradwalk/compiled_step.hpp"

#include <algorithm>

#include "gradwalk/loss.hpp"

namespace gradwalk {
namespace {

class CompiledStep : public BatchStep {
 public:
  CompiledStep(const Classifier& model, std::size_t threads)
      : model_(model), scores_(model.network.layers().back().outputs()), program_(compiled(threads)) {}

  void run(const Dataset& data, std::span<const std::size_t> rows, double weight, BatchSums& sums) override {
    numbers_.clear();
    for (const std::size_t row : rows) {
      const std::span<const double> features = data.row(row);
      numbers_.insert(numbers_.end(), features.begin(), features.end());
      add_targets(data.labels[row]);
    }
    weights_.assign(rows.size(), weight);
    outputs_.resize(rows.size() * (1 + scores_));
    sums.loss() = program_.gradients(numbers_, sums.gradient(), {.weights = weights_, .outputs = outputs_});
    sums.right() = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto scores = std::span<const double>(outputs_).subspan(i * (1 + scores_) + 1, scores_);
      sums.right() += Classifier::label_of(scores) == data.labels[rows[i]] ? 1 : 0;
    }
  }

 private:
  std::size_t targets() const { return model_.loss == LossKind::mse ? scores_ : 1; }

  void add_targets(std::size_t label) {
    if (model_.loss == LossKind::softmax)
      numbers_.push_back(static_cast<double>(label));
    else if (model_.loss == LossKind::bce)
      numbers_.push_back(label == 1 ? 1 : 0);
    else if (scores_ == 1)
      numbers_.push_back(label == 1 ? 1 : -1);
    else
      for (std::size_t k = 0; k < scores_; ++k) numbers_.push_back(k == label ? 1 : 0);
  }

  Value loss(std::span<const Value> scores, std::span<const Value> targets) const {
    switch (model_.loss) {
      case LossKind::hinge: return hinge(scores[0], targets[0]);
      case LossKind::bce: return binary_cross_entropy(scores[0], targets[0]);
      case LossKind::softmax: return softmax_cross_entropy(scores, targets[0]);
      case LossKind::mse: break;
    }
    Value sum = mean_squared_error(scores[0], targets[0]);
    for (std::size_t k = 1; k < scores.size(); ++k) sum += mean_squared_error(scores[k], targets[k]);
    return sum * (1.0 / static_cast<double>(scores.size()));
  }

  Program compiled(std::size_t threads) const {
    std::vector<Value> inputs(model_.network.inputs() + targets());
    const std::vector<Value> features(inputs.begin(),
                                      inputs.begin() + static_cast<std::ptrdiff_t>(model_.network.inputs()));
    const std::vector<Value> scores = model_.network(features);
    std::vector<Value> outputs{loss(scores, std::span(inputs).subspan(features.size()))};
    outputs.insert(outputs.end(), scores.begin(), scores.end());
    return compile(outputs, {.inputs = inputs, .parameters = model_.network.parameters(), .threads = threads});
  }

  Classifier model_;
  std::size_t scores_;  // how many the network gives
  Program program_;
  std::vector<double> numbers_, weights_, outputs_;
};

}  // namespace

std::unique_ptr<BatchStep> compiled_step(const Classifier& model, std::size_t threads) {
  return std::make_unique<CompiledStep>(model, threads);
}

}  // namespace gradwalk
