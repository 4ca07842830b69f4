// SPDX-License-Identifier: MIT
// A batch computed with Values. Each row has a backward pass of its own, with the row's weight as the seed. The
// parameters' gradients accumulate, so in the end they are those of the whole batch.
#include "gradwalk/step.hpp"

#include "scores.hpp"

namespace gradwalk {
namespace {

class EagerStep : public BatchStep {
 public:
  explicit EagerStep(const Model& model)
      : model_(model), loss_(model.loss, model.network.outputs()), parameters_(model_.network.parameters()) {}

  std::string kind() const override { return "eager"; }

  void run(const Batch& batch, BatchSums& sums) override {
    for (Value& parameter : parameters_) parameter.grad() = 0;
    sums.loss() = sums.right() = 0;
    for (std::size_t i = 0; i < batch.rows.size(); ++i) {
      const std::size_t row = batch.rows[i];
      const std::vector<Value> outputs = outputs_of(batch, i);
      const Value row_loss = loss_(outputs, loss_.targets(batch.data, row));
      scores_.clear();
      for (const Value& output : outputs) scores_.push_back(output.data());
      sums.right() += detail::rightness(batch.data, row, scores_);
      const double weight = batch.weight * batch.data.weight(row);
      sums.loss() += weight * row_loss.data();
      row_loss.backward(weight);
    }
    const std::span<double> gradient = sums.gradient();
    for (std::size_t i = 0; i < parameters_.size(); ++i) gradient[i] = parameters_[i].grad();
  }

  double loss(const Dataset& data) override {
    const NoGrad guard;
    double sum = 0;
    for (std::size_t row = 0; row < data.rows(); ++row)
      sum += data.weight(row) * loss_(model_.network(data.row(row)), loss_.targets(data, row)).data();
    return sum / static_cast<double>(data.rows());
  }

 private:
  std::vector<Value> outputs_of(const Batch& batch, std::size_t i) const {
    const MLP& network = model_.network;
    const std::span<const double> x = batch.data.row(batch.rows[i]);
    if (batch.factors.empty()) return network(x);
    return network.with_factors(x, batch.factors.subspan(i * network.hidden(), network.hidden()));
  }

  Model model_;
  Loss loss_;
  std::vector<Value> parameters_;
  std::vector<double> scores_;  // of the current row; a member so that its memory is reused
};

}  // namespace

BatchStep::~BatchStep() = default;
UpdatingStep::~UpdatingStep() = default;

std::unique_ptr<BatchStep> eager_step(const Model& model) { return std::make_unique<EagerStep>(model); }

}  // namespace gradwalk
