// SPDX-License-Identifier: MIT
#include "gradwalk/function.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "gradwalk/error.hpp"
#include "state.hpp"
#include "text/numbers.hpp"

namespace gradwalk {

Function::Function(RowOutputs function, FunctionOptions options)
    : state_(std::make_shared<State>(std::move(function), std::move(options))) {}
Function::Function(RowFunction function, FunctionOptions options)
    : Function(function ? RowOutputs([function = std::move(function)](const std::vector<Value>& inputs) {
                 std::vector<Value> outputs;
                 outputs.push_back(function(inputs));
                 return outputs;
               })
                        : RowOutputs(),
               std::move(options)) {}
Function::Function(Function&&) noexcept = default;
Function& Function::operator=(Function&&) noexcept = default;
Function::~Function() = default;

Function::State& Function::state() const {
  if (state_ == nullptr)
    throw Error("Function", "a function", "one that was moved from", "use the Function that it was moved to");
  return *state_;
}

std::size_t Function::inputs() const { return state().options().inputs; }
std::size_t Function::parameters() const { return state().options().parameters.size(); }

double Function::State::gradients(const char* name, std::span<const double> rows, std::span<double> gradients,
                                  const RunOptions& options) {
  const Use use(*this, name);
  if (gradients.size() != options_.parameters.size())
    throw Error(name, detail::counted(options_.parameters.size(), "gradient", "gradients"),
                std::to_string(gradients.size()), "give one number per parameter");
  const std::size_t count = check(name, rows, options);
  Call call{.is_backward = true,
            .rows = rows,
            .weights = options.weights,
            .input_gradients = options.input_gradients,
            .outputs = options.outputs};
  run(call);
  if (options.result == RunOptions::Result::mean && count > 0) {
    const double total = options.weights.empty() ? static_cast<double>(count)
                                                 : std::accumulate(options.weights.begin(), options.weights.end(), 0.0);
    call.sum /= total;
    for (double& number : call.gradient) number /= total;
    for (double& number : options.input_gradients) number /= total;
  }
  std::copy(call.gradient.begin(), call.gradient.end(), gradients.begin());
  return call.sum;
}

double Function::gradients(std::span<const double> rows, std::span<double> gradients, const RunOptions& options) {
  return state().gradients("Function::gradients", rows, gradients, options);
}

double Function::run(std::span<const double> rows, const RunOptions& options) {
  std::vector<Value>& parameters = state().parameters();
  std::vector<double> sums(parameters.size());
  const double result = state().gradients("Function::run", rows, sums, options);
  for (std::size_t i = 0; i < sums.size(); ++i) parameters[i].grad() += sums[i];
  return result;
}

void Function::evaluate(std::span<const double> rows, std::span<double> outputs) {
  constexpr const char* name = "Function::evaluate";
  State& function = state();
  const State::Use use(function, name);
  const std::size_t count = function.check(name, rows, {});
  if (outputs.size() != count * function.outputs())
    throw Error(name, "outputs of one number per row and output", detail::counted(outputs.size(), "number", "numbers"),
                "give " + std::to_string(count * function.outputs()));
  State::Call call{.rows = rows, .outputs = outputs};
  function.run(call);
}

Function::Description Function::describe(std::size_t max_paths) const {
  State& function = state();
  const State::Use use(function, "Function::describe");
  return function.describe(max_paths);
}

Trainer::Trainer(const Function& function, const OptimizerConfig& config, Schedule schedule)
    : Trainer(
          function.state().options().parameters,
          [shared = (function.state(), function.state_)](std::span<const double> rows, std::span<double> gradients,
                                                         const RunOptions& options) {
            return shared->gradients("Trainer::step", rows, gradients, options);
          },
          config, std::move(schedule)) {}

}  // namespace gradwalk
