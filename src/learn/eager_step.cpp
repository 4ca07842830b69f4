// SPDX-License-Identifier: MIT
// A batch by Values. Rows are walked back one by one, each with its share of the mean as the seed: leaves accumulate,
// so the gradient is that of the whole batch.
#include "gradwalk/step.hpp"

#include "scores.hpp"

namespace gradwalk {
namespace {

class EagerStep : public BatchStep {
 public:
  explicit EagerStep(const Model& model) : model_(model), parameters_(model_.network.parameters()) {}

  std::string kind() const override { return "eager"; }

  void run(const Batch& batch, BatchSums& sums) override {
    for (Value& parameter : parameters_) parameter.grad() = 0;
    sums.loss() = sums.right() = 0;
    for (std::size_t i = 0; i < batch.rows.size(); ++i) {
      const std::size_t row = batch.rows[i];
      const std::vector<Value> outputs = outputs_of(batch, i);
      const Value of_outputs = loss_of(batch.data, row, outputs);
      scores_.clear();
      for (const Value& output : outputs) scores_.push_back(output.data());
      sums.right() += detail::rightness(batch.data, row, scores_);
      const double of_row = batch.weight * batch.data.weight(row);
      sums.loss() += of_row * of_outputs.data();
      of_outputs.backward(of_row);
    }
    const std::span<double> gradient = sums.gradient();
    for (std::size_t i = 0; i < parameters_.size(); ++i) gradient[i] = parameters_[i].grad();
  }

  double loss(const Dataset& data) override {
    const NoGrad guard;
    double sum = 0;
    for (std::size_t row = 0; row < data.rows(); ++row)
      sum += data.weight(row) * loss_of(data, row, model_.network(data.row(row))).data();
    return sum / static_cast<double>(data.rows());
  }

 private:
  std::vector<Value> outputs_of(const Batch& batch, std::size_t i) const {
    const MLP& network = model_.network;
    const std::span<const double> x = batch.data.row(batch.rows[i]);
    if (batch.factors.empty()) return network(x);
    return network.with_factors(x, batch.factors.subspan(i * network.hidden(), network.hidden()));
  }

  Value loss_of(const Dataset& data, std::size_t row, std::span<const Value> outputs) const {
    return data.has_targets() ? number_loss(model_.loss, outputs[0], data.targets[row])
                              : row_loss(model_.loss, outputs, data.labels[row]);
  }

  Model model_;
  std::vector<Value> parameters_;
  std::vector<double> scores_;  // of the row at hand; kept for its room
};

}  // namespace

BatchStep::~BatchStep() = default;

std::unique_ptr<BatchStep> eager_step(const Model& model) { return std::make_unique<EagerStep>(model); }

}  // namespace gradwalk
