// SPDX-License-Identifier: MIT
// A batch by Values. Rows are walked back one by one, each with its share of the mean as the seed: leaves accumulate,
// so the gradient is that of the whole batch.
#include "gradwalk/step.hpp"

namespace gradwalk {
namespace {

class EagerStep : public BatchStep {
 public:
  explicit EagerStep(const Classifier& model) : model_(model), parameters_(model_.network.parameters()) {}

  std::string kind() const override { return "eager"; }

  void run(const Dataset& data, std::span<const std::size_t> rows, double weight, BatchSums& sums) override {
    for (Value& parameter : parameters_) parameter.grad() = 0;
    sums.loss() = sums.right() = 0;
    for (const std::size_t row : rows) {
      const std::vector<Value> outputs = model_.network(data.row(row));
      scores_.clear();
      for (const Value& output : outputs) scores_.push_back(output.data());
      sums.right() += Classifier::label_of(scores_) == data.labels[row] ? 1 : 0;
      const Value loss = row_loss(model_.loss, outputs, data.labels[row]);
      sums.loss() += weight * loss.data();
      loss.backward(weight);
    }
    const std::span<double> gradient = sums.gradient();
    for (std::size_t i = 0; i < parameters_.size(); ++i) gradient[i] = parameters_[i].grad();
  }

 private:
  Classifier model_;
  std::vector<Value> parameters_;
  std::vector<double> scores_;  // of the row at hand; kept for its room
};

}  // namespace

BatchStep::~BatchStep() = default;

std::unique_ptr<BatchStep> eager_step(const Classifier& model) { return std::make_unique<EagerStep>(model); }

}  // namespace gradwalk
