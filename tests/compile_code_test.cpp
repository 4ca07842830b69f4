// SPDX-License-Identifier: MIT
// Programs that have written machine code give the same bits as programs that interpret their steps.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include "../bench/objectives/kinds.hpp"
#include "gradwalk/compile.hpp"
#include "machine_code_support.hpp"
#include "random_function.hpp"
#include "support.hpp"

namespace gradwalk::compile_code_test {

using namespace tests::machine_code;

// More than the runs after which a program writes code.
constexpr int many_runs = 80;

void expect_same_bits(const std::vector<double>& code, const std::vector<double>& steps) {
  ASSERT_EQ(code.size(), steps.size());
  for (std::size_t i = 0; i < code.size(); ++i)
    EXPECT_TRUE(same_bits(code[i], steps[i])) << i << ": " << code[i] << " and " << steps[i];
}

// Runs a program many times, with and without machine code. Expects the same outputs and gradients of the last run.
// Without inputs, the program is a whole objective; otherwise it runs this row.
void expect_same_bits(std::span<const Value> outputs, CompileOptions options, const std::vector<double>& row = {}) {
  std::vector<double> got[2];
  std::size_t bytes[2];
  for (const bool machine_code : {false, true}) {
    options.machine_code = machine_code;
    Program program = compile(outputs, options);
    std::vector<double> gradients(options.parameters.size()), inputs(row.size()), values(outputs.size());
    for (int i = 0; i < many_runs; ++i) {
      if (row.empty()) {
        program.gradients(gradients);
        program.evaluate(values);
      } else {
        program.gradients(row, gradients, {.input_gradients = inputs, .outputs = values});
      }
    }
    std::vector<double>& all = got[machine_code ? 1 : 0];
    for (const auto* some : {&gradients, &inputs, &values}) all.insert(all.end(), some->begin(), some->end());
    bytes[machine_code ? 1 : 0] = program.describe().bytes;
  }
  expect_same_bits(got[1], got[0]);
  if (!may_have_code(options.instruction_set)) {
    EXPECT_EQ(bytes[1], bytes[0]);
  }
}

std::vector<Value> values_of(const std::vector<double>& numbers) { return {numbers.begin(), numbers.end()}; }

class MachineCode : public testing::TestWithParam<std::tuple<Precision, std::string>> {
 protected:
  CompileOptions options(const std::vector<Value>& parameters, const std::vector<Value>& inputs = {}) const {
    const auto& [precision, set] = GetParam();
    return {.inputs = inputs, .parameters = parameters, .precision = precision, .instruction_set = set};
  }
};

// Numbers at which rules choose: zeros of both signs, equal pairs, and others.
double edge(std::size_t i) {
  constexpr double all[]{0.5, -0.0, 1.25, 1.25, 0.0, -2.5, 3, 1e-300, -1, 0.75, 2, -0.5, 1, 1e200};
  return all[i % std::size(all)];
}

TEST_P(MachineCode, ComputesEveryOperationAlone) {
  for (std::size_t op = 0; op < op_table.size(); ++op) {
    SCOPED_TRACE(op_table[op].name);
    for (const std::size_t first : {0U, 2U, 5U, 8U}) {
      std::vector<Value> p;
      for (std::size_t i = 0; i < 3; ++i) p.emplace_back(edge(first + i));
      const Value result = tests::applied(static_cast<Op>(op), p[0], p[1], p[2]);
      expect_same_bits(std::vector{result * p[0] + p[1] * p[2]}, options(p));
    }
  }
}

TEST_P(MachineCode, ComputesEveryOperationInGroups) {
  for (std::size_t op = 0; op < op_table.size(); ++op) {
    SCOPED_TRACE(op_table[op].name);
    std::vector<Value> p;
    for (std::size_t i = 0; i < 31; ++i) p.emplace_back(edge(i));
    Value sum = 0;
    for (std::size_t i = 0; i < p.size(); ++i)
      sum += tests::applied(static_cast<Op>(op), p[i], p[i * 7 % 31], p[3]) * p[i / 4];
    expect_same_bits(std::vector{sum}, options(p));
  }
}

// Operands that lie side by side, are one number for all, or lie in any order; factors that are 1, -1, equal, or not.
TEST_P(MachineCode, FindsTheOperandsOfGroupsOfAnySize) {
  for (std::size_t n = 1; n < 70; n += n < 20 ? 1 : 7) {
    SCOPED_TRACE(n);
    std::vector<Value> p, last;
    for (std::size_t i = 0; i < n + 2; ++i) p.emplace_back(std::cos(static_cast<double>(i)));
    last = p;
    for (std::size_t layer = 0; layer < 8; ++layer) {
      std::vector<Value> next;
      for (std::size_t i = 0; i < last.size(); ++i) {
        const Value &x = last[i], &y = last[i * 5 % last.size()], &z = last[(i + 1) % last.size()];
        switch (layer) {
          case 0: next.push_back(x * y); break;
          case 1: next.push_back(x - y * p[1]); break;
          case 2: next.push_back((i % 2 == 0 ? 1.0 : -1.0) * x * y + 0.5 * z * p[0] + 1.5); break;
          case 3: next.push_back(y / (2 + x * x)); break;
          case 4: next.push_back(select(x < y, y, z) - static_cast<double>(i) * x * z); break;
          case 5: next.push_back(p[0] - x - y + z * z); break;
          case 6: next.push_back(sqrt(abs(last[i / 4 * 4]) + 1) * x + tanh(y)); break;
          default: next.push_back(max(x, z) + relu(y)); break;
        }
      }
      last = next;
    }
    Value sum = last[0];
    for (std::size_t i = 1; i < last.size(); ++i) sum = i % 2 == 0 ? sum * 0.5 + last[i] : sum - last[i];
    expect_same_bits(std::vector{sum, last[n / 2]}, options(p));
  }
}

// 1 / 0 and 1 / -0 are infinities of both signs.
TEST_P(MachineCode, DistinguishesZerosOfBothSigns) {
  std::vector<Value> p, outputs;
  for (std::size_t i = 0; i < 16; ++i) p.emplace_back(-1.0 - static_cast<double>(i));
  for (std::size_t i = 0; i < p.size(); ++i) outputs.push_back(1 / max(p[i], i % 2 == 0 ? 0.0 : -0.0));
  expect_same_bits(outputs, options(p));
}

TEST_P(MachineCode, KeepsTheSignOfNan) {
  const std::vector<Value> p = values_of({2.0, std::numeric_limits<double>::quiet_NaN(), 0.5});
  expect_same_bits(std::vector{copysign(p[0], -p[1] * p[2])}, options(p));
}

TEST_P(MachineCode, ComputesRecursions) {
  std::vector<Value> step;
  for (std::size_t i = 0; i < 16; ++i) step.emplace_back(i % 5 == 0 ? 0.9 : 0.01 * static_cast<double>(i));
  expect_same_bits(std::vector{bench::kalman4(step, std::vector<double>{0.1, -0.2, 0.3, 0.5, 0.1, 0.7})},
                   options(step));
  const std::vector<Value> start = values_of({1.5, 0.5, 2.0});
  expect_same_bits(std::vector{bench::implicit_euler(start, 40)}, options(start));
  std::vector<Value> scores;
  for (std::size_t i = 0; i < bench::inputs_of_chain(5); ++i) scores.emplace_back(std::sin(static_cast<double>(i)));
  CompileOptions chain = options(scores);
  chain.ignore_comparisons = true;
  expect_same_bits(std::vector{bench::hidden_chain(scores, 5, 12)}, chain);
}

TEST_P(MachineCode, ComputesTheStepsOfARow) {
  for (std::uint64_t seed = 0; seed < tests::sized(60, 12); ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const auto function = tests::random_function(random, 1 + seed % 4, 1 + seed % 7, 3 + seed % 60);
    const std::vector<Value> inputs = values_of(function.inputs), parameters = values_of(function.parameters);
    const std::vector<Value> all = function.all(inputs, parameters);
    for (const double offset : {0.0, 0.25}) {
      std::vector<double> row = function.inputs;
      for (double& number : row) number += offset;
      expect_same_bits(std::vector{all.back(), all[all.size() / 2]}, options(parameters, inputs), row);
    }
  }
}

// Few rows are computed by steps, others as a block, which rounds exponentials otherwise.
TEST_P(MachineCode, DoesNotDecideHowManyRowsAreComputedBySteps) {
  const std::vector<Value> p = values_of({0.7, -1.3}), x = values_of({0.2, 0.9});
  const Value output = exp(p[0] * x[0]) + tanh(p[1] * x[1]) * x[0];
  for (std::size_t count = 1; count < 40; ++count) {
    SCOPED_TRACE(count);
    std::vector<double> rows;
    for (std::size_t i = 0; i < 2 * count; ++i) rows.push_back(std::sin(static_cast<double>(i)));
    std::vector<double> with(count), without(count);
    CompileOptions some = options(p, x);
    compile(output, some).evaluate(rows, with);
    some.machine_code = false;
    compile(output, some).evaluate(rows, without);
    expect_same_bits(with, without);
  }
}

// A product of matrices has few instructions, but long ones: a block of two rows takes longer than two rows by steps.
TEST_P(MachineCode, ComputesFewRowsOfProductsOfMatrices) {
  constexpr std::size_t size = 3, matrices = 6;
  const std::vector<Value> x(matrices);
  const std::vector<Value> p = values_of(std::vector<double>(2 * matrices * size * size, 0.3));
  std::vector<Value> state = values_of({1, 0.5, -0.5});
  for (std::size_t matrix = 0, next = 0; matrix < matrices; ++matrix) {
    std::vector<Value> sums(size);
    for (Value& sum : sums)
      for (const Value& number : state) {
        sum = sum + (p[next] + p[next + 1] * x[matrix]) * number;
        next += 2;
      }
    state = sums;
  }
  const auto bytes_of = [&](std::size_t rows) {  // the steps of a row are written if rows go by steps
    Program program = compile(state[0], options(p, x));
    std::vector<double> gradients(p.size());
    for (int i = 0; i < many_runs; ++i) program.gradients(std::vector<double>(rows * matrices, 0.4), gradients);
    return program.describe().machine_code;
  };
  EXPECT_EQ(bytes_of(2) > bytes_of(40), may_have_code(std::get<1>(GetParam())));
}

TEST_P(MachineCode, ComputesRandomGraphs) {
  for (std::uint64_t seed = 0; seed < tests::sized(60, 12); ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const auto function = tests::random_function(random, 0, 1 + seed % 40, 3 + 3 * seed);
    const std::vector<Value> parameters = values_of(function.parameters);
    const std::vector<Value> all = function.all({}, parameters);
    expect_same_bits(std::vector{all.back(), all[all.size() / 2]}, options(parameters));
  }
}

TEST_P(MachineCode, IsWrittenAfterSomeRunsWhereItIsPossible) {
  const std::vector<Value> p = values_of({1.0, 2.0});
  const auto bytes_of = [&](int runs, bool machine_code) {
    CompileOptions with = options(p);
    with.machine_code = machine_code;
    Program program = compile(p[0] * p[1] / (p[0] + 3), with);
    for (int i = 0; i < runs; ++i) program.run();
    return program.describe().machine_code;
  };
  EXPECT_EQ(bytes_of(many_runs, true) > 0, may_have_code(std::get<1>(GetParam())));
  EXPECT_EQ(bytes_of(1, true), 0U);
  EXPECT_EQ(bytes_of(many_runs, false), 0U);
}

// Recursions of a state, whose steps have constants of their own. Their code is a loop.
struct Recursion {
  const char* name;
  std::size_t parameters;
  std::function<Value(const std::vector<Value>& p, std::size_t steps)> loss;
};
std::vector<Recursion> recursions() {
  return {
      {"a number", 3,
       [](const std::vector<Value>& p, std::size_t steps) {
         Value x = p[0], sum = 0;
         for (std::size_t k = 0; k < steps; ++k) {
           x = p[1] * x + p[2] * std::sin(static_cast<double>(k)) - x * x * 0.125;
           sum += x * x;
         }
         return sum;
       }},
      {"a layer of a network", 72,
       [](const std::vector<Value>& p, std::size_t steps) {
         std::vector<Value> state(p.begin(), p.begin() + 8);
         Value sum = 0;
         for (std::size_t k = 0; k < steps; ++k) {
           std::vector<Value> next;
           for (std::size_t i = 0; i < 8; ++i) {
             Value x = 0.25 * std::cos(static_cast<double>(k * i));
             for (std::size_t j = 0; j < 8; ++j) x += p[8 + 8 * i + j] * state[j];
             next.push_back(k % 3 == 0 ? tanh(x) : x / (1 + abs(x)));
           }
           state = next;
           sum += state[k % 8] * static_cast<double>(k % 2);
         }
         return sum;
       }},
      {"the best path", 48,
       [](const std::vector<Value>& p, std::size_t steps) { return bench::best_path(p, 6, static_cast<int>(steps)); }},
      {"a hidden chain", 35,
       [](const std::vector<Value>& p, std::size_t steps) {
         return bench::hidden_chain(p, 5, static_cast<int>(steps));
       }},
      {"a product of rotations", 2,
       [](const std::vector<Value>& p, std::size_t steps) {
         Value x = 1, y = 0, longest = 0;
         for (std::size_t k = 0; k < steps; ++k) {
           const Value turned = p[0] * x - p[1] * y;
           y = p[1] * x + p[0] * y;
           x = turned;
           longest = max(longest, x * x + 2 * y * y);
         }
         return longest + x * y;
       }},
  };
}

TEST_P(MachineCode, ComputesTheStepsOfRecursionsInLoops) {
  for (const Recursion& one : recursions()) {
    for (const std::size_t steps : {3U, 10U, 41U, 90U}) {
      SCOPED_TRACE(std::string(one.name) + ", " + std::to_string(steps) + " steps");
      std::vector<Value> p;
      for (std::size_t i = 0; i < one.parameters; ++i) p.emplace_back(0.4 * std::cos(static_cast<double>(7 * i + 1)));
      expect_same_bits(std::vector{one.loss(p, steps)}, options(p));
    }
  }
}

TEST_P(MachineCode, ComputesRandomRecursions) {
  for (std::uint64_t seed = 0; seed < tests::sized(80, 16); ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const auto body = tests::random_function(random, 3, 4, 4 + 2 * seed % 40);
    const std::vector<Value> parameters = values_of(body.parameters);
    std::vector<Value> state = values_of(body.inputs);
    Value sum = 0;
    for (std::size_t k = 0; k < 30; ++k) {
      const Value result = body.all(state, parameters).back();
      state = {state[1], state[2], tanh(result) + std::cos(static_cast<double>(k / 3)) * parameters[k % 2]};
      sum += state[2] * state[0];
    }
    expect_same_bits(std::vector{sum, state[2]}, options(parameters));
  }
}

TEST_P(MachineCode, IsNoLongerForMoreStepsOfARecursion) {
  if (!may_have_code(std::get<1>(GetParam()))) GTEST_SKIP() << "this instruction set has no machine code";
  for (const Recursion& one : recursions()) {
    SCOPED_TRACE(one.name);
    if (one.name == std::string("a layer of a network")) continue;  // The index of the loss has no simple period.
    const auto bytes_of = [&](std::size_t steps) {
      std::vector<Value> p;
      for (std::size_t i = 0; i < one.parameters; ++i) p.emplace_back(0.4 * std::cos(static_cast<double>(7 * i + 1)));
      Program program = compile(one.loss(p, steps), options(p));
      std::vector<double> gradients(p.size());
      for (int i = 0; i < many_runs; ++i) program.gradients(gradients);
      return program.describe().machine_code;
    };
    EXPECT_LE(bytes_of(1200), 2 * bytes_of(300));
  }
}

TEST_P(MachineCode, PassesNothingOnWhereTheGradientIsZero) {
  const std::vector<Value> p = values_of({0.0, 4.0});
  const Value untaken = select(p[0] > 0, sqrt(p[0]), p[0] * p[1]);  // sqrt has an infinite slope at 0
  Program program = compile(untaken + sqrt(p[1]), options(p));
  std::vector<double> gradients(2);
  for (int i = 0; i < many_runs; ++i) program.gradients(gradients);
  EXPECT_EQ(gradients, (std::vector{4.0, 0.25}));
}

INSTANTIATE_TEST_SUITE_P(Compile, MachineCode, testing::ValuesIn(precisions_and_sets()), name_of);

}  // namespace gradwalk::compile_code_test
