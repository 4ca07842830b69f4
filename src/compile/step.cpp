// SPDX-License-Identifier: MIT
// A model as programs: of a batch, where a row's inputs are its features and its target as the loss takes it, and
// of its scores alone.
#include "gradwalk/compiled_step.hpp"

#include <algorithm>
#include <numeric>

#include "gradwalk/error.hpp"
#include "gradwalk/loss.hpp"
#include "learn/scores.hpp"
#include "program.hpp"

namespace gradwalk {
namespace {

CompileOptions compile_options(const Model& model, std::vector<Value> inputs, const CompiledStepOptions& options) {
  return {.inputs = std::move(inputs),
          .parameters = model.network.parameters(),
          .threads = options.threads,
          .instruction_set = options.instruction_set};
}

Program scores_program(const Model& model, const CompiledStepOptions& options) {
  const std::vector<Value> features(model.network.inputs());
  return compile(model.network(features), compile_options(model, features, options));
}

class CompiledStep : public BatchStep {
 public:
  CompiledStep(const Model& model, const CompiledStepOptions& options)
      : model_(model), scores_(model.network.outputs()), program_(compiled(options)) {}

  std::string kind() const override { return "compiled, " + program_.describe().instruction_set; }

  void in_parts(std::size_t size, const std::function<void(std::size_t, std::size_t)>& work) override {
    detail::ProgramAccess::state(program_).with_machine([&](auto& machine) { machine.in_parts(size, work); });
  }

  void run(const Dataset& data, std::span<const std::size_t> rows, double weight, BatchSums& sums) override {
    fill_in(data, rows);
    weights_.assign(rows.size(), weight);
    if (!data.weights.empty())
      for (std::size_t i = 0; i < rows.size(); ++i) weights_[i] *= data.weights[rows[i]];
    outputs_.resize(rows.size() * (1 + scores_));
    sums.loss() = program_.gradients(numbers_, sums.gradient(), {.weights = weights_, .outputs = outputs_});
    sums.right() = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto scores = std::span<const double>(outputs_).subspan(i * (1 + scores_) + 1, scores_);
      sums.right() += detail::rightness(data, rows[i], scores);
    }
  }

  // So many rows at a time, that they stay small.
  double loss(const Dataset& data) override {
    constexpr std::size_t at_once = 4096;
    std::vector<std::size_t> rows;
    double sum = 0;
    for (std::size_t first = 0; first < data.rows(); first += at_once) {
      rows.resize(std::min(at_once, data.rows() - first));
      std::iota(rows.begin(), rows.end(), first);
      fill_in(data, rows);
      outputs_.resize(rows.size() * (1 + scores_));
      program_.evaluate(numbers_, outputs_);
      for (std::size_t i = 0; i < rows.size(); ++i) sum += data.weight(rows[i]) * outputs_[i * (1 + scores_)];
    }
    return sum / static_cast<double>(data.rows());
  }

 private:
  // The rows as the program takes them.
  void fill_in(const Dataset& data, std::span<const std::size_t> rows) {
    const std::size_t width = program_.inputs();
    numbers_.resize(rows.size() * width);
    in_parts(rows.size() * width, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = (begin + width - 1) / width; i * width < end; ++i) {
        const std::span<const double> features = data.row(rows[i]);
        const auto to = std::copy(features.begin(), features.end(), numbers_.begin() + offset(i * width));
        if (data.has_targets())
          *to = data.targets[rows[i]];
        else
          put_targets(data.labels[rows[i]], to);
      }
    });
  }

  std::size_t targets() const { return model_.loss == LossKind::mse ? scores_ : 1; }

  void put_targets(std::size_t label, std::vector<double>::iterator to) const {
    if (model_.loss == LossKind::softmax)
      *to = static_cast<double>(label);
    else if (model_.loss == LossKind::bce)
      *to = label == 1 ? 1 : 0;
    else if (scores_ == 1)
      *to = label == 1 ? 1 : -1;
    else
      for (std::size_t k = 0; k < scores_; ++k) *to++ = k == label ? 1 : 0;
  }
  static std::ptrdiff_t offset(std::size_t numbers) { return static_cast<std::ptrdiff_t>(numbers); }

  Value recorded_loss(std::span<const Value> scores, std::span<const Value> targets) const {
    switch (model_.loss) {
      case LossKind::hinge: return hinge(scores[0], targets[0]);
      case LossKind::bce: return binary_cross_entropy(scores[0], targets[0]);
      case LossKind::softmax: return softmax_cross_entropy(scores, targets[0]);
      case LossKind::mae:
      case LossKind::huber: return number_loss(model_.loss, scores[0], targets[0]);
      case LossKind::mse: break;
    }
    Value sum = mean_squared_error(scores[0], targets[0]);
    for (std::size_t k = 1; k < scores.size(); ++k) sum += mean_squared_error(scores[k], targets[k]);
    return sum * (1.0 / static_cast<double>(scores.size()));
  }

  Program compiled(const CompiledStepOptions& options) const {
    std::vector<Value> inputs(model_.network.inputs() + targets());
    const std::vector<Value> features(inputs.begin(), inputs.begin() + offset(model_.network.inputs()));
    const std::vector<Value> scores = model_.network(features);
    std::vector<Value> outputs{recorded_loss(scores, std::span(inputs).subspan(features.size()))};
    outputs.insert(outputs.end(), scores.begin(), scores.end());
    return compile(outputs, compile_options(model_, inputs, options));
  }

  Model model_;
  std::size_t scores_;  // how many the network gives
  Program program_;
  std::vector<double> numbers_, weights_, outputs_;
};

}  // namespace

std::unique_ptr<BatchStep> compiled_step(const Model& model, const CompiledStepOptions& options) {
  return std::make_unique<CompiledStep>(model, options);
}

CompiledScores::CompiledScores(const Model& model, const CompiledStepOptions& options)
    : model_(model), program_(scores_program(model, options)) {}

std::vector<double> CompiledScores::operator()(std::span<const double> rows) {
  const std::size_t columns = program_.inputs();
  if (rows.size() % columns != 0)
    throw Error("scores", "rows of " + std::to_string(columns) + " features", std::to_string(rows.size()) + " numbers",
                "give whole rows");
  std::vector<double> result(rows.size() / columns * program_.outputs());
  if (model_.standardisation.mean.empty()) {
    program_.evaluate(rows, result);
    return result;
  }
  // So many rows at a time, that what is standardised stays small.
  constexpr std::size_t at_once = 4096;
  std::vector<double> some;
  for (std::size_t first = 0; first < rows.size() / columns; first += at_once) {
    const std::size_t count = std::min(at_once, rows.size() / columns - first);
    const auto part = rows.subspan(first * columns, count * columns);
    some.assign(part.begin(), part.end());
    for (std::size_t i = 0; i < count; ++i) model_.standardisation.apply(std::span(some).subspan(i * columns, columns));
    program_.evaluate(some, std::span(result).subspan(first * program_.outputs(), count * program_.outputs()));
  }
  return result;
}

}  // namespace gradwalk
