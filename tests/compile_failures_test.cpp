// SPDX-License-Identifier: MIT
// Failing allocations in programs: each allocation of a call fails once, and the program still computes the same.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "failing_allocations.hpp"
#include "gradwalk/compile.hpp"
#include "support.hpp"

namespace gradwalk::compile_failures_test {
namespace {

// Two outputs of two numbers and an index: a layer, a look-up, functions and a maximum.
struct Model {
  std::vector<Value> parameters, inputs{0.3, -0.2, 1.0}, outputs;
  Model() {
    for (int i = 0; i < 40; ++i) parameters.emplace_back(std::sin(i));
    table.emplace(std::span<const Value>(parameters).first(12), 4);
    const std::vector<Value> row = pick_row(*table, inputs[2]);
    Value sum = 0.0;
    for (std::size_t k = 0; k < 4; ++k) {
      const std::size_t first = 12 + 2 * k;
      const Value neuron = relu(parameters[36 + k] + parameters[first] * inputs[0] + parameters[first + 1] * inputs[1]);
      sum += neuron * row[k] + log(1 + exp(parameters[24 + k] * inputs[0]));
    }
    outputs = {max(sum, parameters[30]) + sum * sum, tanh(sum)};
    compiled.emplace(compile(outputs, options()));
  }
  CompileOptions options() const { return {.inputs = inputs, .parameters = parameters}; }
  std::optional<LookupTable> table;
  std::optional<Program> compiled;
};

Numbers rows() {
  Numbers numbers;
  for (int i = 0; i < 30; ++i) numbers.insert(numbers.end(), {std::sin(i), std::cos(i), static_cast<double>(i % 3)});
  return numbers;
}

// Lets the first allocation of a call fail, then the second, and so on, until none fails.
void fail_everywhere(const std::function<void()>& call, const std::function<void()>& check) {
  for (long fails_at = 0;; ++fails_at) {
    SCOPED_TRACE(fails_at);
    tests::has_failed = false;
    tests::allocations_left = fails_at;
    try {
      call();
    } catch (const std::bad_alloc&) {
    } catch (...) {
      tests::allocations_left = -1;
      throw;
    }
    tests::allocations_left = -1;
    check();
    if (!tests::has_failed || testing::Test::HasFailure()) return;
  }
}

TEST(AnAllocationThatFails, InACallOfAProgramLeavesItUsable) {
  Model model;
  const Numbers numbers = rows(), seeds(60, 0.5);
  Numbers expected(40), gradients(40), by_row(30 * 40);
  const double sum = model.compiled->gradients(numbers, expected);
  std::optional<Program> program;
  const auto check = [&] {
    if (!program) return;
    EXPECT_EQ(program->gradients(numbers, gradients), sum);
    EXPECT_EQ(gradients, expected);
  };
  const std::vector<std::function<void()>> calls{
      [&] { program.emplace(compile(model.outputs, model.options())); },
      [&] { program.emplace(model.compiled->clone()), program->gradients(numbers, gradients); },
      [&] { program->gradients(numbers, gradients, {.seeds = seeds}); },
      [&] { program->row_gradients(numbers, by_row); },
  };
  for (const std::function<void()>& call : calls) fail_everywhere(call, check);
  for (const Value& p : model.parameters) EXPECT_EQ(p.grad(), 0);
}

// The run after which a program writes machine code, here with seeds that must not stay behind.
TEST(AnAllocationThatFails, WhileMachineCodeIsWrittenChangesNoResult) {
  const std::vector<Value> p{1.5, 0.5};
  const std::vector<Value> outputs{p[0] * p[1] / (p[0] + 3), sqrt(p[0]) * p[1]};
  const Numbers seeds{2.0, 7.0};
  Numbers expected(2), gradients(2);
  compile(outputs, {.parameters = p}).gradients(expected);
  for (long fails_at = 0; !HasFailure(); ++fails_at) {
    SCOPED_TRACE(fails_at);
    Program program = compile(outputs, {.parameters = p});
    for (int i = 0; i < 31; ++i) program.gradients(gradients);
    tests::has_failed = false;
    tests::allocations_left = fails_at;
    try {
      program.gradients({}, gradients, {.seeds = seeds});
    } catch (const std::bad_alloc&) {
    }
    tests::allocations_left = -1;
    program.gradients(gradients);
    EXPECT_EQ(gradients, expected);
    if (!tests::has_failed) return;
  }
}

TEST(AnAllocationThatFails, InAStepLeavesTheTrainerAsItWas) {
  Model model;
  const Numbers numbers = rows();
  for (const OptimizerConfig& config : std::vector<OptimizerConfig>{SGD{.lr = 0.1}, Adam{.lr = 0.1}}) {
    const auto after_a_step = [&](Trainer& trainer) {
      trainer.write_back();
      Numbers result;
      for (const Value& p : model.parameters) result.push_back(p.data());
      return result;
    };
    Numbers start;
    for (const Value& p : model.parameters) start.push_back(p.data());
    Trainer trainer(*model.compiled, config), other(*model.compiled, config);
    fail_everywhere([&] { trainer.step(numbers); },
                    [&] { EXPECT_EQ(after_a_step(trainer) == start, tests::has_failed); });
    EXPECT_EQ(trainer.steps(), 1u);
    const Numbers got = after_a_step(trainer);
    other.step(numbers);
    EXPECT_EQ(after_a_step(other), got);
    for (std::size_t i = 0; i < start.size(); ++i) model.parameters[i].data() = start[i];
  }
}

}  // namespace
}  // namespace gradwalk::compile_failures_test
