// SPDX-License-Identifier: MIT
// Runs with a seed per output, with a subset of the rows, and with a gradient per row, against the engine.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "gradwalk/compile.hpp"
#include "gradwalk/function.hpp"
#include "support.hpp"

namespace gradwalk::compile_rows_test {
namespace {

using tests::error_of;
using Numbers = std::vector<double>;

Numbers random_numbers(std::size_t count, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> any(-1, 1);
  Numbers numbers;
  for (std::size_t i = 0; i < count; ++i) numbers.push_back(any(random));
  return numbers;
}

// Three outputs that vary, one that depends on parameters alone, and a constant.
struct Model {
  MLP network{2, {6, 3}};
  std::vector<Value> parameters = network.parameters(), inputs = std::vector<Value>(2);
  std::vector<Value> outputs(const std::vector<Value>& in) const {
    std::vector<Value> all = network(in);
    all[1] = all[1] * all[0] + in[1];
    all.push_back(parameters[0] * parameters[1]);
    all.emplace_back(2.5);
    return all;
  }
  Program program(CompileOptions options = {}) const {
    options.inputs = inputs;
    options.parameters = parameters;
    return compile(outputs(inputs), options);
  }
};

struct Wanted {
  double sum = 0;
  Numbers gradients, input_gradients, outputs;
};

Wanted eager(Model& model, const Numbers& rows, const Numbers& seeds) {
  Wanted wanted;
  for (Value& p : model.parameters) p.grad() = 0;
  for (std::size_t r = 0; r < rows.size() / 2; ++r) {
    const std::vector<Value> in{rows[2 * r], rows[2 * r + 1]};
    const std::vector<Value> out = model.outputs(in);
    Value sum = 0;
    for (std::size_t o = 0; o < 5; ++o) {
      sum += seeds[5 * r + o] * out[o];
      wanted.outputs.push_back(out[o].data());
    }
    sum.backward();
    wanted.sum += sum.data();
    for (const Value& input : in) wanted.input_gradients.push_back(input.grad());
  }
  for (Value& p : model.parameters) wanted.gradients.push_back(std::exchange(p.grad(), 0));
  return wanted;
}

void expect_near(const Numbers& got, const Numbers& wanted, double tolerance) {
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], wanted[i], tolerance) << "number " << i;
}

TEST(SeedsOfOutputs, WeighEveryOutputOfEveryRow) {
  Model model;
  for (const Precision precision : {Precision::float64, Precision::float32})
    for (const std::size_t count : {1u, 3u, 200u}) {
      const double tolerance = precision == Precision::float64 ? 1e-11 : 2e-3;
      const Numbers rows = random_numbers(2 * count, 1), seeds = random_numbers(5 * count, 2);
      const Wanted wanted = eager(model, rows, seeds);
      Program program = model.program({.precision = precision});
      Numbers gradients(model.parameters.size()), by_input(2 * count), outputs(5 * count), numbers;
      const RunOptions options{.input_gradients = by_input, .outputs = outputs, .seeds = seeds};
      EXPECT_NEAR(program.gradients(rows, gradients, options), wanted.sum, tolerance);
      expect_near(gradients, wanted.gradients, tolerance);
      expect_near(by_input, wanted.input_gradients, tolerance);
      expect_near(outputs, wanted.outputs, tolerance);
      for (const Value& p : model.parameters) numbers.push_back(p.data());
      EXPECT_NEAR(program.gradients_at(numbers, rows, gradients, {.seeds = seeds}), wanted.sum, tolerance);
      expect_near(gradients, wanted.gradients, tolerance);
      EXPECT_NEAR(program.run(rows, {.seeds = seeds}), wanted.sum, tolerance);
      Numbers added;
      for (Value& p : model.parameters) added.push_back(std::exchange(p.grad(), 0));
      expect_near(added, wanted.gradients, tolerance);
      // The first output alone, as without seeds.
      Numbers first(5 * count), alone(model.parameters.size());
      for (std::size_t r = 0; r < count; ++r) first[5 * r] = 1;
      const double sum = program.gradients(rows, alone);
      EXPECT_NEAR(program.clone().gradients(rows, gradients, {.seeds = first}), sum, tolerance);
      expect_near(gradients, alone, tolerance);
    }
}

TEST(SeedsOfOutputs, AreWeightsOfTheOnlyOutput) {
  Value w = 2.0, x = 0.0;
  Program program = compile(w * w * x, {.inputs = {x}, .parameters = {w}});
  Numbers gradient(1);
  EXPECT_EQ(program.gradients(Numbers{1, 2}, gradient, {.seeds = Numbers{3, 5}}), 4 * 13);
  EXPECT_EQ(gradient[0], 4 * 13);
}

TEST(SeedsOfOutputs, AreOnePerOutputWithoutInputs) {
  Value a = 2.0, b = 3.0;
  const std::vector<Value> outputs{a * b, a * a, exp(b)};
  Program program = compile(outputs, {.parameters = {a, b}});
  Numbers gradient(2), out(3);
  const double e = std::exp(3.0);
  EXPECT_NEAR(program.gradients({}, gradient, {.outputs = out, .seeds = Numbers{1, 10, 100}}), 6 + 40 + 100 * e, 1e-9);
  expect_near(gradient, {3 + 40, 2 + 100 * e}, 1e-9);
  expect_near(out, {6, 4, e}, 1e-12);
  EXPECT_EQ(program.gradients(gradient), 6);  // the first output, as before
  expect_near(gradient, {3, 2}, 1e-12);
}

TEST(AProgramWithoutInputs, IsOneRowForEveryOption) {
  Value a = 2.0, b = 3.0;
  const std::vector<Value> outputs{a * b, a * a, log(a - 2)};
  Program program = compile(outputs, {.parameters = {a, b}});
  Numbers gradient(2), out(3);
  EXPECT_EQ(program.gradients({}, gradient, {.outputs = out}), 6);
  EXPECT_EQ(gradient, (Numbers{3, 2}));
  EXPECT_EQ(out, (Numbers{6, 4, -std::numeric_limits<double>::infinity()}));
  EXPECT_EQ(program.gradients({}, gradient, {.weights = Numbers{10}}), 60);
  EXPECT_EQ(gradient, (Numbers{30, 20}));
  EXPECT_EQ(program.gradients({}, gradient, {.result = RunOptions::Result::mean, .weights = Numbers{10}}), 6);
  EXPECT_EQ(gradient, (Numbers{3, 2}));
  EXPECT_EQ(program.gradients_at(Numbers{4, 5}, {}, gradient, {.outputs = out}), 20);
  EXPECT_EQ(gradient, (Numbers{5, 4}));
  EXPECT_EQ(error_of([&] { program.gradients(Numbers{1, 2}, gradient, {.outputs = out}); }),
            "Program::gradients: needs no rows: the program has no inputs, got 2 numbers; call it without rows");
}

TEST(SeedsOfOutputs, KeepTheChecksOfAFunction) {
  Value w = 2.0;
  const std::vector<Value> table{w, w * w, Value(1.0)};
  const RowOutputs f = [&](const std::vector<Value>& in) {
    const Value y = in[0] > 0 ? w * in[0] : -w;
    return std::vector<Value>{y, y * y * pick(table, in[1])};
  };
  Program program = compile(f, {{1, 0}, {2, 1}}, {.parameters = {w}});
  Numbers gradient(1);
  const Numbers seeds{1, 1};
  EXPECT_EQ(program.gradients(Numbers{3, 1}, gradient, {.seeds = seeds}), 6 + 36 * 4);
  EXPECT_EQ(gradient[0], 3 + 4 * 9 * 8);
  EXPECT_NE(error_of([&] { program.gradients(Numbers{-3, 1}, gradient, {.seeds = seeds}); }).find("comparison 1"),
            std::string::npos);
  EXPECT_NE(error_of([&] { program.gradients(Numbers{3, 7}, gradient, {.seeds = seeds}); }).find("got 7 in row 0"),
            std::string::npos);
}

TEST(SeedsOfOutputs, AreRefusedWhereTheyDoNotFit) {
  Model model;
  Program program = model.program(), without = model.program({.output_seeds = false});
  Numbers gradients(model.parameters.size());
  const Numbers rows{1, 2}, seeds(5), four(4), weights(1);
  const auto run = [&](Program& one, const RunOptions& options) {
    return error_of([&] { one.gradients(rows, gradients, options); });
  };
  EXPECT_EQ(run(program, {.seeds = four}),
            "Program::gradients: needs 5 seeds, got 4; give one number per row and output");
  EXPECT_EQ(run(program, {.weights = weights, .seeds = seeds}),
            "Program::gradients: needs seeds alone, got weights or a mean, too; multiply the seeds by them");
  EXPECT_EQ(run(program, {.result = RunOptions::Result::mean, .seeds = seeds}),
            "Program::gradients: needs seeds alone, got weights or a mean, too; multiply the seeds by them");
  EXPECT_EQ(run(without, {.seeds = seeds}),
            "Program::gradients: needs a program that was compiled for seeds, got one without; compile it with "
            ".output_seeds = true");
  Trainer trainer(program, SGD{});
  EXPECT_EQ(error_of([&] { trainer.step(rows, {.seeds = seeds}); }),
            "Trainer::step: needs rows without seeds or a subset, got seeds; give weights, or the rows themselves");
  Function function([](const std::vector<Value>& in) { return in[0] * in[1]; }, {.inputs = 2});
  const std::vector<std::size_t> subset{0};
  EXPECT_EQ(
      error_of([&] { function.run(rows, {.subset = subset}); }),
      "Function::run: needs rows without seeds or a subset, got a subset; use a Program of compile(), or give the "
      "rows themselves");
}

TEST(ASubsetOfRows, IsRunInItsOrder) {
  Model model;
  Program program = model.program();
  const Numbers rows = random_numbers(40, 3);
  const std::vector<std::size_t> subset{7, 0, 19, 7};
  Numbers taken;
  for (const std::size_t row : subset) taken.insert(taken.end(), {rows[2 * row], rows[2 * row + 1]});
  const Numbers weights{1, 2, 3, 4}, seeds = random_numbers(20, 4);
  Numbers a(model.parameters.size()), b(model.parameters.size()), in_a(8), in_b(8), out_a(20), out_b(20);
  EXPECT_EQ(program.gradients(rows, a,
                              {.result = RunOptions::Result::mean,
                               .weights = weights,
                               .input_gradients = in_a,
                               .outputs = out_a,
                               .subset = subset}),
            program.gradients(
                taken, b,
                {.result = RunOptions::Result::mean, .weights = weights, .input_gradients = in_b, .outputs = out_b}));
  EXPECT_EQ(a, b);
  EXPECT_EQ(in_a, in_b);
  EXPECT_EQ(out_a, out_b);
  EXPECT_EQ(program.gradients(rows, a, {.seeds = seeds, .subset = subset}),
            program.gradients(taken, b, {.seeds = seeds}));
  EXPECT_EQ(a, b);
  const std::vector<std::size_t> wrong{1, 20};
  EXPECT_EQ(error_of([&] { program.run(rows, {.subset = wrong}); }),
            "Program::run: needs a subset of the 20 rows, got row 20; count the rows from 0");
  Value w = 1.0;
  EXPECT_EQ(error_of([&] { compile(w, {.parameters = {w}}).run({}, {.seeds = weights, .subset = wrong}); }),
            "Program::run: needs no subset: the program has no rows, got one; leave .subset out");
}

TEST(Weights, OfBothSignsMakeNaNOfAnInfiniteUniformOutput) {
  const double infinity = std::numeric_limits<double>::infinity();
  const Value x{1.0}, w{infinity};
  Program program = compile(w, {.inputs = {x}, .parameters = {w}});
  const Numbers rows{1, 2}, both{1, -2}, positive{1, 2};
  EXPECT_TRUE(std::isnan(program.run(rows, {.weights = both})));
  EXPECT_EQ(program.run(rows, {.weights = positive}), infinity);
  EXPECT_EQ(program.run(rows), infinity);
}

TEST(ASubsetOfRows, IsAnEmptyBatchIfItHasNone) {
  Model model;
  Program program = model.program();
  const Numbers rows{1, 2, 3, 4};
  Numbers gradients(model.parameters.size(), 5);
  const std::vector<std::size_t> none;
  EXPECT_EQ(program.gradients(rows, gradients, {.subset = none}), 0);
  EXPECT_EQ(gradients, Numbers(gradients.size()));
  EXPECT_EQ(program.gradients(rows, gradients, {.result = RunOptions::Result::mean, .subset = none}), 0);
  EXPECT_EQ(program.run(rows, {.subset = none}), 0);
  for (const Value& p : model.parameters) EXPECT_EQ(p.grad(), 0);
  EXPECT_EQ(program.gradients(rows, gradients, {.seeds = {}, .subset = {}}), program.gradients(rows, gradients));
}

TEST(GradientsOfRows, AreThoseOfTheEngine) {
  Model model;
  Program program = model.program();
  for (const std::size_t count : {0u, 1u, 37u}) {
    const Numbers rows = random_numbers(2 * count, 6);
    Numbers gradients(count * model.parameters.size()), outputs(5 * count), wanted, wanted_outputs;
    program.row_gradients(rows, gradients, outputs);
    for (std::size_t r = 0; r < count; ++r) {
      const Wanted row = eager(model, {rows[2 * r], rows[2 * r + 1]}, {1, 0, 0, 0, 0});
      wanted.insert(wanted.end(), row.gradients.begin(), row.gradients.end());
      wanted_outputs.insert(wanted_outputs.end(), row.outputs.begin(), row.outputs.end());
    }
    expect_near(gradients, wanted, 1e-12);
    expect_near(outputs, wanted_outputs, 1e-12);
    Numbers again(gradients.size());
    program.row_gradients(rows, again);
    EXPECT_EQ(again, gradients);
  }
  for (const Value& p : model.parameters) EXPECT_EQ(p.grad(), 0);
  Numbers few(3);
  EXPECT_EQ(error_of([&] { program.row_gradients(Numbers{1, 2}, few); }),
            "Program::row_gradients: needs space for " + std::to_string(model.parameters.size()) +
                " gradients, got space for 3; give one number per row and parameter");
}

TEST(GradientsOfRows, AreThoseOfPicks) {
  std::vector<Value> p;
  for (int i = 0; i < 5; ++i) p.emplace_back(i + 1.0);
  Value index = 0.0;
  Program program = compile(pow(pick(p, index), 2), {.inputs = {index}, .parameters = p});
  Numbers gradients(15);
  program.row_gradients(Numbers{4, 0, 4}, gradients);
  EXPECT_EQ(gradients, (Numbers{0, 0, 0, 0, 10, 2, 0, 0, 0, 0, 0, 0, 0, 0, 10}));
}

}  // namespace
}  // namespace gradwalk::compile_rows_test
