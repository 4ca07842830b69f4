// SPDX-License-Identifier: MIT
// Random functions with control flow of their own: every row of a Function has the value and the gradients that the
// engine computes for it, whichever path it takes. GRADWALK_SEED=n runs only that seed; GRADWALK_LONG runs many more.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <random>

#include "branching_function.hpp"
#include "gradwalk/function.hpp"
#include "support.hpp"

namespace gradwalk {
namespace {

constexpr std::size_t row_inputs = 3, leaf_count = 3;

struct EngineRows {
  std::vector<double> outputs, input_gradients;
  std::vector<std::vector<double>> gradients;  // of each row
  std::vector<bool> is_close;                  // a comparison was so close that rounding may decide it
};

EngineRows engine_rows(const RowOutputs& function, std::vector<Value>& leaves, const std::vector<double>& rows) {
  EngineRows made;
  for (std::size_t row = 0; row < rows.size() / row_inputs; ++row) {
    std::vector<Value> x(rows.begin() + static_cast<std::ptrdiff_t>(row * row_inputs),
                         rows.begin() + static_cast<std::ptrdiff_t>((row + 1) * row_inputs));
    bool is_close = false;
    std::vector<Value> outputs;
    {
      const WatchRecording watch(
          [&](const Condition& condition) {
            const std::vector<Value> operands = Value(condition).inputs();
            const double a = operands[0].data(), b = operands[1].data();
            is_close = is_close ||
                       (std::abs(a - b) <= 1e-9 * (std::abs(a) + std::abs(b)) && !same_node(operands[0], operands[1]));
          },
          {});
      outputs = function(x);
    }
    for (Value& leaf : leaves) leaf.grad() = 0;
    (outputs[0] * 1.0).backward();
    for (const Value& output : outputs) made.outputs.push_back(output.data());
    for (const Value& leaf : x) made.input_gradients.push_back(leaf.grad());
    std::vector<double>& gradient = made.gradients.emplace_back();
    for (Value& leaf : leaves) gradient.push_back(std::exchange(leaf.grad(), 0.0));
    made.is_close.push_back(is_close);
  }
  return made;
}

bool are_near(double got, double want) {
  if (std::isnan(want) || std::isinf(want))
    return std::isnan(got) == std::isnan(want) && (std::isnan(want) || got == want);
  return std::abs(got - want) <= 1e-7 * (1 + std::abs(want));
}

struct BranchTotals {
  std::size_t rows = 0, compiled = 0, close = 0, paths = 0, programs = 0;
};

void compare_rows(std::uint64_t seed, BranchTotals& totals) {
  SCOPED_TRACE("GRADWALK_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> between(-2, 2);
  const std::size_t outputs = 1 + random() % 2, rows = 8 + random() % 60;
  const tests::BranchingFunction made(random, outputs);
  std::vector<Value> leaves;
  for (std::size_t i = 0; i < leaf_count; ++i) leaves.emplace_back(between(random));
  const RowOutputs function = [&](const std::vector<Value>& x) { return made(x, leaves); };
  Function compiled(function, {.inputs = row_inputs,
                               .parameters = leaves,
                               .compile_after = 1 + random() % 4,
                               .max_programs = random() % 4 == 0 ? 3u : 256u});
  std::vector<double> numbers(rows * row_inputs), weights(rows), gradient(leaf_count), got(rows * outputs),
      input_gradients(rows * row_inputs);
  for (double& number : numbers) number = between(random);
  for (double& weight : weights) weight = 1 + between(random);
  for (int call = 0; call < 3; ++call) {
    if (call == 2)  // other numbers on remembered paths
      for (double& number : numbers) number += 0.1 * between(random);
    if (call == 1) leaves[0].data() += 0.05;
    const EngineRows want = engine_rows(function, leaves, numbers);
    const bool is_plain = call == 1;
    const double sum = compiled.gradients(
        numbers, gradient,
        {.weights = is_plain ? std::span<double>{} : weights, .input_gradients = input_gradients, .outputs = got});
    double want_sum = 0;
    std::vector<double> want_gradient(leaf_count);
    bool any_close = false;
    for (std::size_t row = 0; row < rows; ++row) {
      const double weight = is_plain ? 1 : weights[row];
      any_close = any_close || want.is_close[row];
      totals.close += want.is_close[row] ? 1 : 0;
      want_sum += weight * want.outputs[row * outputs];
      for (std::size_t i = 0; i < leaf_count; ++i) want_gradient[i] += weight * want.gradients[row][i];
      if (want.is_close[row]) continue;
      for (std::size_t i = 0; i < outputs; ++i)
        ASSERT_PRED2(are_near, got[row * outputs + i], want.outputs[row * outputs + i])
            << "row " << row << ", call " << call;
      for (std::size_t i = 0; i < row_inputs; ++i)
        ASSERT_PRED2(are_near, input_gradients[row * row_inputs + i],
                     weight * want.input_gradients[row * row_inputs + i])
            << "row " << row << ", call " << call;
    }
    totals.rows += rows;
    if (any_close) continue;
    ASSERT_PRED2(are_near, sum, want_sum);
    for (std::size_t i = 0; i < leaf_count; ++i) ASSERT_PRED2(are_near, gradient[i], want_gradient[i]) << i;
    std::vector<double> evaluated(rows * outputs);
    compiled.evaluate(numbers, evaluated);
    for (std::size_t i = 0; i < evaluated.size(); ++i) ASSERT_PRED2(are_near, evaluated[i], want.outputs[i]);
  }
  const Function::Description description = compiled.describe();
  totals.compiled += description.compiled_rows;
  totals.paths += description.paths;
  totals.programs += description.programs;
}

TEST(RandomBranchingFunctions, HaveTheNumbersOfTheEngineForEveryRow) {
  BranchTotals totals;
  if (const char* seed = std::getenv("GRADWALK_SEED")) return compare_rows(std::strtoull(seed, nullptr, 10), totals);
  const std::uint64_t count = tests::long_run() ? 100'000 : tests::sized(2'000, 100);
  for (std::uint64_t seed = 1; seed <= count && !HasFailure(); ++seed) compare_rows(seed, totals);
  if (HasFailure()) return;
  EXPECT_GT(totals.compiled, totals.rows / 2);
  EXPECT_GT(totals.programs, count);
  EXPECT_LT(totals.close, totals.rows / 100);
}

}  // namespace
}  // namespace gradwalk
