// SPDX-License-Identifier: MIT
// A model as programs: of a batch, where a row's inputs are its features and its target as the loss takes it, and
// of its scores alone.
#include "gradwalk/compiled_step.hpp"

#include <algorithm>
#include <numeric>
#include <optional>

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
      : model_(model), scores_(model.network.outputs()), options_(options), program_(compiled(false)) {}

  std::string kind() const override { return "compiled, " + program_.describe().instruction_set; }

  void in_parts(std::size_t size, const std::function<void(std::size_t, std::size_t)>& work) override {
    detail::ProgramAccess::state(program_).with_machine([&](auto& machine) { machine.in_parts(size, work); });
  }

  void run(const Batch& batch, BatchSums& sums) override {
    const auto& [data, rows, weight, factors] = batch;
    Program& program = factors.empty() ? program_ : program_with_factors();
    fill_in(batch, program.inputs());
    weights_.assign(rows.size(), weight);
    if (!data.weights.empty())
      for (std::size_t i = 0; i < rows.size(); ++i) weights_[i] *= data.weights[rows[i]];
    outputs_.resize(rows.size() * (1 + scores_));
    sums.loss() = program.gradients(numbers_, sums.gradient(), {.weights = weights_, .outputs = outputs_});
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
      fill_in({data, rows}, program_.inputs());
      outputs_.resize(rows.size() * (1 + scores_));
      program_.evaluate(numbers_, outputs_);
      for (std::size_t i = 0; i < rows.size(); ++i) sum += data.weight(rows[i]) * outputs_[i * (1 + scores_)];
    }
    return sum / static_cast<double>(data.rows());
  }

 private:
  // The rows as a program takes them: features, targets and, if there are any, factors.
  void fill_in(const Batch& batch, std::size_t width) {
    const std::size_t hidden = batch.factors.empty() ? 0 : model_.network.hidden();
    numbers_.resize(batch.rows.size() * width);
    in_parts(numbers_.size(), [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = (begin + width - 1) / width; i * width < end; ++i) {
        const std::size_t row = batch.rows[i];
        const auto to = std::ranges::copy(batch.data.row(row), numbers_.begin() + offset(i * width)).out;
        if (batch.data.has_targets())
          *to = batch.data.targets[row];
        else
          put_targets(batch.data.labels[row], to);
        std::ranges::copy(batch.factors.subspan(i * hidden, hidden), to + offset(targets()));
      }
    });
  }

  Program& program_with_factors() {  // made when it is first needed
    if (!with_factors_) with_factors_.emplace(compiled(true));
    return *with_factors_;
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

  Program compiled(bool has_factors) const {
    const std::size_t features = model_.network.inputs(), hidden = has_factors ? model_.network.hidden() : 0;
    const std::vector<Value> inputs(features + targets() + hidden);
    const std::span<const Value> all = inputs;
    const std::vector<Value> scores = has_factors ? model_.network.with_factors(all.first(features), all.last(hidden))
                                                  : model_.network(all.first(features));
    std::vector<Value> outputs{recorded_loss(scores, all.subspan(features, targets()))};
    outputs.insert(outputs.end(), scores.begin(), scores.end());
    return compile(outputs, compile_options(model_, inputs, options_));
  }

  Model model_;
  std::size_t scores_;  // how many the network gives
  CompiledStepOptions options_;
  Program program_;
  std::optional<Program> with_factors_;
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
