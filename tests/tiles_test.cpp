// SPDX-License-Identifier: MIT
// Rows in tiles of machine code give the same numbers as rows in blocks, and the same sums for any number of threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "../bench/objectives/kinds.hpp"
#include "gradwalk/compile.hpp"
#include "machine_code_support.hpp"
#include "random_function.hpp"
#include "support.hpp"

namespace gradwalk::tiles_test {

using namespace tests::machine_code;

void expect_same_bits(const std::vector<double>& x, const std::vector<double>& y, const char* of) {
  ASSERT_EQ(x.size(), y.size());
  for (std::size_t i = 0; i < x.size(); ++i)
    ASSERT_TRUE(same_bits(x[i], y[i])) << of << " " << i << ": " << x[i] << " and " << y[i];
}

struct Result {
  double sum = 0;
  std::vector<double> gradients, inputs, outputs, evaluated;
};
struct Graph {
  std::vector<Value> inputs, parameters, outputs;
};
Result run(Program& program, const Graph& graph, const std::vector<double>& rows,
           const std::vector<double>& weights = {}) {
  const std::size_t outputs = rows.size() / graph.inputs.size() * graph.outputs.size();
  Result made{0, std::vector<double>(graph.parameters.size()), std::vector<double>(rows.size()),
              std::vector<double>(outputs), std::vector<double>(outputs)};
  program.evaluate(rows, made.evaluated);
  made.sum = program.gradients(rows, made.gradients,
                               {.weights = weights, .input_gradients = made.inputs, .outputs = made.outputs});
  return made;
}

std::vector<Value> values_of(const std::vector<double>& numbers) { return {numbers.begin(), numbers.end()}; }

Graph simulation(std::size_t steps) {
  Graph made{std::vector<Value>(2 * steps), values_of({100, 0.04, 1.5, 0.04, 0.3, -0.7}), {}};
  made.outputs = {bench::heston(made.parameters, made.inputs)};
  return made;
}

// Every operation, several times, alone and side by side. There is much arithmetic between functions, which are calls.
Graph every_operation() {
  Graph made{std::vector<Value>(4), values_of({0.7, 1.3, -0.4}), {}};
  std::vector<Value> state(made.inputs);
  for (std::size_t op = 0; op < op_table.size(); ++op)
    for (const std::size_t side_by_side : {1U, 3U}) {
      std::vector<Value> results;
      for (std::size_t i = 0; i < side_by_side; ++i)
        results.push_back(tests::applied(static_cast<Op>(op), state[i], state[i + 1], made.parameters[op % 3]));
      for (std::size_t i = 0; i < side_by_side; ++i)
        state[i] += 0.1 * select(abs(results[i]) < 4, results[i], made.parameters[0]);
      for (std::size_t i = 0; i < 120; ++i)
        state[i % 4] =
            0.75 + 0.25 * state[(i + 1) % 4] * made.parameters[i % 3] - state[i % 4] / (3 + state[0] * state[0]);
    }
  made.outputs = {state[0] + state[1] * state[2], state[3]};
  return made;
}

class Tiles : public testing::TestWithParam<std::tuple<Precision, std::string>> {
 protected:
  Program compiled(const Graph& graph, bool machine_code, std::size_t threads) const {
    const auto& [precision, set] = GetParam();
    return compile(graph.outputs, {.inputs = graph.inputs,
                                   .parameters = graph.parameters,
                                   .precision = precision,
                                   .threads = threads,
                                   .instruction_set = set,
                                   .ignore_comparisons = true,
                                   .machine_code = machine_code});
  }
  double unit() const { return std::get<0>(GetParam()) == Precision::float64 ? 1e-15 : 1e-6; }

  bool uses_tiles(const Graph& graph, std::size_t rows = 64) const {
    Program program = compiled(graph, true, 1);
    std::vector<double> outputs(rows * graph.outputs.size());
    program.evaluate(std::vector<double>(rows * graph.inputs.size(), 0.1), outputs);
    return program.describe().machine_code > 0;
  }

  void expect_same_rows(const Graph& graph, double spread) const {
    Program blocks = compiled(graph, false, 1);
    std::vector<Program> tiles;
    EXPECT_EQ(uses_tiles(graph), may_have_code(std::get<1>(GetParam())));
    for (const std::size_t threads : {1U, 3U}) tiles.push_back(compiled(graph, true, threads));
    const std::size_t width = graph.inputs.size();
    std::mt19937_64 random(3);
    std::normal_distribution<double> normal(0, spread);
    for (const std::size_t count : {64U, 71U, 200U}) {
      SCOPED_TRACE(count);
      std::vector<double> rows(count * width), weights(count);
      for (double& number : rows) number = normal(random);
      for (double& weight : weights) weight = normal(random);
      for (const auto& some : {std::vector<double>(), weights}) {
        const Result expected = run(blocks, graph, rows, some);
        const Result first = run(tiles[0], graph, rows, some);
        for (Program& program : tiles) {
          const Result got = run(program, graph, rows, some);
          expect_same_bits(got.gradients, first.gradients, "gradient");
          expect_same_bits(got.inputs, first.inputs, "input gradient");
          ASSERT_TRUE(same_bits(got.sum, first.sum));
        }
        expect_same_bits(first.inputs, expected.inputs, "input gradient");
        expect_same_bits(first.outputs, expected.outputs, "output");
        expect_same_bits(first.evaluated, expected.evaluated, "evaluated output");
        expect_near(first, expected);
      }
    }
  }
  void expect_near(const Result& got, const Result& expected) const {
    const auto near = [&](double x, double y, double scale) {
      EXPECT_TRUE(same_bits(x, y) || std::abs(x - y) <= 1e4 * unit() * scale) << x << " and " << y;
    };
    double scale = std::abs(expected.sum);
    for (const double gradient : expected.gradients) scale = std::max(scale, std::abs(gradient));
    near(got.sum, expected.sum, scale);
    for (std::size_t i = 0; i < got.gradients.size(); ++i) near(got.gradients[i], expected.gradients[i], scale);
  }
};

TEST_P(Tiles, GiveTheNumbersOfBlocks) { expect_same_rows(simulation(60), 1); }
TEST_P(Tiles, ComputeEveryOperation) { expect_same_rows(every_operation(), 0.8); }

TEST_P(Tiles, ComputeRandomFunctions) {
  for (std::uint64_t seed = 0; seed < tests::sized(20, 4); ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const auto function = tests::random_function(random, 1 + seed % 4, 1 + seed % 7, 900);
    Graph graph{values_of(function.inputs), values_of(function.parameters), {}};
    const std::vector<Value> all = function.all(graph.inputs, graph.parameters);
    graph.outputs = {all.back(), all[all.size() / 2]};
    Program blocks = compiled(graph, false, 1), tiles = compiled(graph, true, 2);
    std::vector<double> rows;
    for (std::size_t r = 0; r < 100; ++r)
      for (const double number : function.inputs) rows.push_back(number + 1e-9 * static_cast<double>(r));
    const Result expected = run(blocks, graph, rows);
    const Result got = run(tiles, graph, rows);
    expect_same_bits(got.outputs, expected.outputs, "output");
    expect_same_bits(got.inputs, expected.inputs, "input gradient");
    expect_near(got, expected);
  }
}

TEST_P(Tiles, AreUsedForManyRows) {
  EXPECT_FALSE(uses_tiles(simulation(60), 63));
  EXPECT_EQ(uses_tiles(simulation(60), 64), may_have_code(std::get<1>(GetParam())));
}

// The code of 32,000 steps would not fit the cache, and every tile would read it again.
TEST_P(Tiles, AreNotUsedForVeryLongPrograms) {
  const auto chain = [](int steps) {
    Graph made{std::vector<Value>(2), values_of({0.9}), {}};
    Value state = made.inputs[0];
    for (int i = 0; i < steps; ++i) state = max(state * made.parameters[0], made.inputs[1] * static_cast<double>(i));
    made.outputs = {state};
    return made;
  };
  EXPECT_EQ(uses_tiles(chain(4'000)), may_have_code(std::get<1>(GetParam())));
  EXPECT_FALSE(uses_tiles(chain(32'000)));
}

// The second row has an infinite local derivative whose gradient is 0.
TEST_P(Tiles, PassNothingOnWhereTheGradientIsZero) {
  Graph graph = simulation(60);
  graph.inputs.emplace_back();
  const Value& x = graph.inputs.back();
  graph.outputs[0] += select(x > 0, sqrt(x), x * graph.parameters[0]);
  Program blocks = compiled(graph, false, 1), tiles = compiled(graph, true, 1);
  std::vector<double> rows(100 * graph.inputs.size(), 0.5);
  rows[2 * graph.inputs.size() - 1] = 0;
  const Result expected = run(blocks, graph, rows);
  const Result got = run(tiles, graph, rows);
  for (const double gradient : expected.gradients) EXPECT_TRUE(std::isfinite(gradient));
  expect_same_bits(got.inputs, expected.inputs, "input gradient");
  expect_near(got, expected);
}

TEST_P(Tiles, NameTheRowThatTakesAnotherBranch) {
  const auto& [precision, set] = GetParam();
  Graph graph = simulation(60);
  Program program = compile(
      [&](const std::vector<Value>& x) {
        const Value price = bench::heston(graph.parameters, x);
        return x[0] < 10 ? price : -price;
      },
      std::vector<std::vector<double>>(2, std::vector<double>(120, 0.1)),
      {.parameters = graph.parameters, .precision = precision, .threads = 2, .instruction_set = set});
  std::vector<double> rows(1000 * 120, 0.1), gradients(graph.parameters.size());
  program.gradients(rows, gradients);
  const std::vector<double> before = gradients;
  rows[777 * 120] = 11;
  try {
    program.gradients(rows, gradients);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("row 777"), std::string::npos) << error.what();
  }
  EXPECT_EQ(gradients, before);
  rows[777 * 120] = 0.1;
  program.gradients(rows, gradients);
  EXPECT_EQ(gradients, before);
}

INSTANTIATE_TEST_SUITE_P(Compile, Tiles, testing::ValuesIn(precisions_and_sets()), name_of);

}  // namespace gradwalk::tiles_test
