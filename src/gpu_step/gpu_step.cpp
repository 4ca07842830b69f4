// SPDX-License-Identifier: MIT
// The program of a step computes the loss and the scores of a row. Its inputs are the features, the targets as the loss
// encodes them, and the weight of the row.
#include "gradwalk/gpu_step.hpp"

#include <algorithm>
#include <numeric>
#include <optional>

#include "gradwalk/error.hpp"
#include "learn/scores.hpp"

namespace gradwalk {
namespace {

bool has_same_rows(const Dataset& one, const Dataset& other) {
  return one.x == other.x && one.labels == other.labels && one.targets == other.targets && one.weights == other.weights;
}

class GpuStep : public BatchStep {
 public:
  GpuStep(const Model& model, const GpuStepOptions& options)
      : model_(model),
        loss_(model.loss, model.network.outputs()),
        scores_(model.network.outputs()),
        options_(options),
        program_(compiled()) {}

  std::string kind() const override {
    return std::string("GPU, ") + (options_.precision == Precision::float32 ? "float32" : "float64");
  }

  void run(const Batch& batch, BatchSums& sums) override {
    if (!batch.factors.empty())
      throw Error("gpu_step", "a recipe without dropout", "one with dropout", "use compiled_step()");
    outputs_.resize(batch.rows.size() * (1 + scores_));
    sums.loss() = program_.gradients(rows_of(batch), sums.gradient(), {.outputs = outputs_});
    for (double& number : sums.all()) number *= batch.weight;
    sums.right() = 0;
    for (std::size_t i = 0; i < batch.rows.size(); ++i) {
      const auto scores = std::span<const double>(outputs_).subspan(i * (1 + scores_) + 1, scores_);
      sums.right() += detail::rightness(batch.data, batch.rows[i], scores);
    }
  }

  double loss(const Dataset& data) override {
    std::vector<std::size_t> rows(data.rows());
    std::iota(rows.begin(), rows.end(), std::size_t{0});
    outputs_.resize(rows.size() * (1 + scores_));
    program_.evaluate(copied(data, rows), outputs_);
    double sum = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) sum += outputs_[i * (1 + scores_)];
    return sum / static_cast<double>(data.rows());
  }

 private:
  gpu::Program compiled() const {
    const std::size_t features = model_.network.inputs(), targets = loss_.targets_per_row();
    const std::vector<Value> inputs(features + targets + 1);
    const std::span<const Value> all = inputs;
    const std::vector<Value> scores = model_.network(all.first(features));
    std::vector<Value> outputs{inputs.back() * loss_(scores, all.subspan(features, targets))};
    outputs.insert(outputs.end(), scores.begin(), scores.end());
    return gpu::compile(outputs, {.inputs = inputs,
                                  .parameters = model_.network.parameters(),
                                  .precision = options_.precision,
                                  .device = options_.device});
  }

  gpu::DeviceRows copied(const Dataset& data, std::span<const std::size_t> rows) const {
    std::vector<double> numbers;
    numbers.reserve(rows.size() * program_.source().inputs);
    for (const std::size_t row : rows) {
      const auto features = data.row(row), targets = loss_.targets(data, row);
      numbers.insert(numbers.end(), features.begin(), features.end());
      numbers.insert(numbers.end(), targets.begin(), targets.end());
      numbers.push_back(data.weight(row));
    }
    return {numbers, program_.source().inputs, options_.precision, options_.device};
  }

  // The rows of a batch on the device. All rows in their order stay there until the data is another.
  const gpu::DeviceRows& rows_of(const Batch& batch) {
    const bool has_all = batch.rows.size() == batch.data.rows() &&
                         std::ranges::adjacent_find(batch.rows, std::greater_equal<>()) == batch.rows.end();
    if (has_all && rows_ && has_same_rows(data_, batch.data)) return *rows_;
    rows_.reset();
    data_ = has_all ? batch.data : Dataset{};
    return rows_.emplace(copied(batch.data, batch.rows));
  }

  Model model_;
  Loss loss_;
  std::size_t scores_;  // the number of the network's outputs
  GpuStepOptions options_;
  gpu::Program program_;
  Dataset data_;                         // whose rows are on the device, if they are all
  std::optional<gpu::DeviceRows> rows_;  // of the last step
  std::vector<double> outputs_;          // of the current batch; a member so that its memory is reused
};

}  // namespace

std::unique_ptr<BatchStep> gpu_step(const Model& model, const GpuStepOptions& options) {
  return std::make_unique<GpuStep>(model, options);
}

}  // namespace gradwalk
