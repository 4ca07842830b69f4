// SPDX-License-Identifier: MIT
// A model compiled: one program computes the loss and the scores of a batch, another the scores alone. The inputs of
// the first are the features of a row, then its targets as the loss encodes them, then its dropout factors, if there
// are any.
#include "gradwalk/compiled_step.hpp"

#include <algorithm>
#include <numeric>
#include <optional>

#include "gradwalk/error.hpp"
#include "learn/scores.hpp"

namespace gradwalk {
namespace {

constexpr std::size_t rows_at_once = 4096;  // limits the memory for the inputs and outputs of a program

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
      : model_(model),
        loss_(model.loss, model.network.outputs()),
        scores_(model.network.outputs()),
        options_(options),
        program_(compiled(false)) {}

  std::string kind() const override { return "compiled, " + program_.describe().instruction_set; }

  void parallel_for(std::size_t size, const std::function<void(std::size_t, std::size_t)>& work) override {
    program_.parallel_for(size, work);
  }

  void run(const Batch& batch, BatchSums& sums) override {
    const auto& [data, rows, weight, factors] = batch;
    Program& program = factors.empty() ? program_ : program_with_factors();
    fill_inputs(batch, program.inputs());
    weights_.assign(rows.size(), weight);
    if (!data.weights.empty())
      for (std::size_t i = 0; i < rows.size(); ++i) weights_[i] *= data.weights[rows[i]];
    outputs_.resize(rows.size() * (1 + scores_));
    sums.loss() = program.gradients(inputs_, sums.gradient(), {.weights = weights_, .outputs = outputs_});
    sums.right() = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto scores = std::span<const double>(outputs_).subspan(i * (1 + scores_) + 1, scores_);
      sums.right() += detail::rightness(data, rows[i], scores);
    }
  }

  double loss(const Dataset& data) override {
    std::vector<std::size_t> rows;
    double sum = 0;
    for (std::size_t first = 0; first < data.rows(); first += rows_at_once) {
      rows.resize(std::min(rows_at_once, data.rows() - first));
      std::iota(rows.begin(), rows.end(), first);
      fill_inputs({data, rows}, program_.inputs());
      outputs_.resize(rows.size() * (1 + scores_));
      program_.evaluate(inputs_, outputs_);
      for (std::size_t i = 0; i < rows.size(); ++i) sum += data.weight(rows[i]) * outputs_[i * (1 + scores_)];
    }
    return sum / static_cast<double>(data.rows());
  }

 private:
  void fill_inputs(const Batch& batch, std::size_t width) {
    const std::size_t hidden = batch.factors.empty() ? 0 : model_.network.hidden();
    inputs_.resize(batch.rows.size() * width);
    program_.parallel_for(inputs_.size(), [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = (begin + width - 1) / width; i * width < end; ++i) {
        double* to = inputs_.data() + i * width;
        to = std::ranges::copy(batch.data.row(batch.rows[i]), to).out;
        for (const double target : loss_.targets(batch.data, batch.rows[i])) *to++ = target;
        std::ranges::copy(batch.factors.subspan(i * hidden, hidden), to);
      }
    });
  }

  // Most runs have no dropout, so the program with factors is compiled when it is first needed.
  Program& program_with_factors() {
    if (!with_factors_) with_factors_.emplace(compiled(true));
    return *with_factors_;
  }

  Program compiled(bool has_factors) const {
    const std::size_t features = model_.network.inputs(), targets = loss_.targets_per_row();
    const std::size_t hidden = has_factors ? model_.network.hidden() : 0;
    const std::vector<Value> inputs(features + targets + hidden);
    const std::span<const Value> all = inputs;
    const std::vector<Value> scores = has_factors ? model_.network.with_factors(all.first(features), all.last(hidden))
                                                  : model_.network(all.first(features));
    std::vector<Value> outputs{loss_(scores, all.subspan(features, targets))};
    outputs.insert(outputs.end(), scores.begin(), scores.end());
    return compile(outputs, compile_options(model_, inputs, options_));
  }

  Model model_;
  Loss loss_;
  std::size_t scores_;  // the number of the network's outputs
  CompiledStepOptions options_;
  Program program_;
  std::optional<Program> with_factors_;
  std::vector<double> inputs_, weights_, outputs_;  // of the current batch; members so that their memory is reused
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
  std::vector<double> standardised;
  for (std::size_t first = 0; first < rows.size() / columns; first += rows_at_once) {
    const std::size_t count = std::min(rows_at_once, rows.size() / columns - first);
    const auto part = rows.subspan(first * columns, count * columns);
    standardised.assign(part.begin(), part.end());
    for (std::size_t i = 0; i < count; ++i)
      model_.standardisation.apply(std::span(standardised).subspan(i * columns, columns));
    program_.evaluate(standardised, std::span(result).subspan(first * program_.outputs(), count * program_.outputs()));
  }
  return result;
}

}  // namespace gradwalk
