// SPDX-License-Identifier: MIT
// Compiled picks against the engine's: values, gradients, wrong indices, and training steps that use only the
// parameters that their rows look up.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <random>

#include "gradwalk/compile.hpp"
#include "gradwalk/emit.hpp"
#include "gradwalk/function.hpp"
#include "support.hpp"

namespace gradwalk::compile_pick_test {
namespace {

using tests::error_of;
using Rows = std::vector<double>;

std::vector<Value> leaves(std::size_t count, std::uint32_t seed = 1) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> any(-1, 1);
  std::vector<Value> values;
  for (std::size_t i = 0; i < count; ++i) values.emplace_back(any(random));
  return values;
}

// Keeps a table until the end of the test that made it.
std::deque<LookupTable> kept_tables;
const LookupTable& kept(const LookupTable& table) { return kept_tables.emplace_back(table); }

// Builds the graph of one row.
using Build = std::function<Value(const std::vector<Value>& inputs, const std::vector<Value>& parameters)>;

struct Result {
  double sum = 0;
  std::vector<double> gradients, outputs, input_gradients;
};

Result eager(const Build& build, const Rows& rows, std::size_t inputs, std::vector<Value> parameters) {
  Result result;
  for (Value& p : parameters) p.grad() = 0;
  for (std::size_t r = 0; r < rows.size(); r += inputs) {
    std::vector<Value> row(rows.begin() + static_cast<std::ptrdiff_t>(r),
                           rows.begin() + static_cast<std::ptrdiff_t>(r + inputs));
    const Value loss = build(row, parameters);
    loss.backward();
    result.outputs.push_back(loss.data());
    result.sum += loss.data();
    for (const Value& input : row) result.input_gradients.push_back(input.grad());
  }
  for (const Value& p : parameters) result.gradients.push_back(p.grad());
  for (Value& p : parameters) p.grad() = 0;
  return result;
}

void expect_near(const std::vector<double>& got, const std::vector<double>& wanted, double tolerance) {
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_NEAR(got[i], wanted[i], tolerance * std::max(1.0, std::abs(wanted[i]))) << "number " << i;
}

void expect_same(const Build& build, const Rows& rows, std::size_t inputs, const std::vector<Value>& parameters) {
  const Result wanted = eager(build, rows, inputs, parameters);
  for (const Precision precision : {Precision::float64, Precision::float32})
    for (const std::size_t threads : {1u, 3u})
      for (const std::string& instruction_set : instruction_sets()) {
        SCOPED_TRACE(instruction_set);
        const double tolerance = precision == Precision::float64 ? 1e-11 : 2e-4;
        const std::vector<Value> row(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(inputs));
        Program program = compile(build(row, parameters), {.inputs = row,
                                                           .parameters = parameters,
                                                           .precision = precision,
                                                           .threads = threads,
                                                           .instruction_set = instruction_set});
        ASSERT_EQ(program.outputs(), 1u);
        std::vector<double> gradients(parameters.size()), outputs(rows.size() / inputs), by_input(rows.size());
        for (int run = 0; run < 2; ++run) {
          const double sum = program.gradients(rows, gradients, {.input_gradients = by_input, .outputs = outputs});
          EXPECT_NEAR(sum, wanted.sum, tolerance * std::max(1.0, std::abs(wanted.sum)));
          expect_near(gradients, wanted.gradients, tolerance);
          expect_near(outputs, wanted.outputs, tolerance);
          expect_near(by_input, wanted.input_gradients, tolerance);
        }
        // Other rows between: what they touched must be 0 again.
        program.gradients(std::span(rows).first(inputs), gradients);
        program.gradients(rows, gradients);
        expect_near(gradients, wanted.gradients, tolerance);
        program.evaluate(rows, outputs);
        expect_near(outputs, wanted.outputs, tolerance);
        program.run(rows);
        std::vector<double> added;
        for (Value p : parameters) added.push_back(std::exchange(p.grad(), 0));
        expect_near(added, wanted.gradients, tolerance);
      }
  kept_tables.clear();
}

Rows random_rows(std::size_t count, std::vector<double> sizes, std::uint32_t seed = 5) {
  std::mt19937 random(seed);
  Rows rows;
  for (std::size_t r = 0; r < count; ++r)
    for (const double size : sizes)  // 0: any number; otherwise an index below it
      rows.push_back(
          size == 0 ? std::uniform_real_distribution<double>(-1, 1)(random)
                    : static_cast<double>(std::uniform_int_distribution<int>(0, static_cast<int>(size) - 1)(random)));
  return rows;
}

TEST(ACompiledPick, LooksUpAnEmbedding) {
  const Build build = [](const std::vector<Value>& in, const std::vector<Value>& p) {
    const LookupTable& table = kept(LookupTable(std::span(p).first(40 * 3), 3));
    const std::vector<Value> a = pick_row(table, in[0]), b = pick_row(table, in[1]);
    Value score = p[120];
    for (std::size_t k = 0; k < 3; ++k) score += a[k] * b[k] * in[2] + p[121 + k] * a[k];
    return pow(score - in[2], 2);
  };
  const std::vector<Value> parameters = leaves(124);
  for (const std::size_t rows : {1u, 2u, 7u, 300u}) expect_same(build, random_rows(rows, {40, 40, 0}), 3, parameters);
}

TEST(ACompiledPick, TakesAListOfParameters) {
  const Build build = [](const std::vector<Value>& in, const std::vector<Value>& p) {
    return exp(pick(std::span(p).first(6), in[0])) * pick(std::span(p).last(5), in[1]);
  };
  expect_same(build, random_rows(50, {6, 5}), 2, leaves(11));
}

TEST(ACompiledPick, TakesValuesInAnyOrderAndTwice) {
  const Build build = [](const std::vector<Value>& in, const std::vector<Value>& p) {
    return pick(std::vector{p[3], p[0], p[3], p[2]}, in[0]) * pick(std::vector{p[1], p[0]}, in[1]);
  };
  expect_same(build, random_rows(50, {4, 2}), 2, leaves(5));
}

TEST(ACompiledPick, TakesUniformValuesAndConstants) {
  const Build build = [](const std::vector<Value>& in, const std::vector<Value>& p) {
    const Value two = 2.0, half = 0.3;
    return pick(std::vector{p[0] * p[1], exp(p[0]), two, p[2], half}, in[0]) +
           pick(std::vector{two, half, Value(0.7)}, in[1]) * p[0];
  };
  expect_same(build, random_rows(50, {5, 3}), 2, leaves(4));
}

TEST(ACompiledPick, TakesValuesThatVary) {
  const Build build = [](const std::vector<Value>& in, const std::vector<Value>& p) {
    std::vector<Value> logits;
    for (std::size_t k = 0; k < 12; ++k) logits.push_back(p[2 * k] * in[1] + p[2 * k + 1] * in[2]);
    Value total = 0;
    for (const Value& logit : logits) total += exp(logit);
    logits.push_back(p[24]);       // uniform
    logits.push_back(Value(0.5));  // constant
    return log(total) - pick(logits, in[0]);
  };
  expect_same(build, random_rows(60, {14, 0, 0}), 3, leaves(25));
}

TEST(ACompiledPick, DropsValuesThatAreNotChosenEvenIfTheyAreInfinite) {
  const Build build = [](const std::vector<Value>& in, const std::vector<Value>& p) {
    return pick(std::vector{p[0] / in[1], p[0] * in[1]}, in[0]);
  };
  expect_same(build, {1, 0, 1, 0, 0, 2}, 2, leaves(1));
}

TEST(ACompiledPick, TakesAnIndexThatIsComputed) {
  const Build build = [](const std::vector<Value>& in, const std::vector<Value>& p) {
    return pick(p, 2 * in[0] + floor(abs(in[1]))) * in[1];
  };
  expect_same(build, random_rows(50, {3, 0}), 2, leaves(6));
}

TEST(ACompiledPick, SharesParametersWithALayer) {
  const Build build = [](const std::vector<Value>& in, const std::vector<Value>& p) {
    const LookupTable& table = kept(LookupTable(p, 4));
    const std::vector<Value> row = pick_row(table, in[0]);
    Value loss = 0;
    for (std::size_t i = 0; i < 8; ++i) {  // tied weights
      Value out = 0;
      for (std::size_t k = 0; k < 4; ++k) out += p[4 * i + k] * (row[k] + in[k + 1]);
      loss += tanh(out);
    }
    return loss;
  };
  expect_same(build, random_rows(70, {8, 0, 0, 0, 0}), 5, leaves(32));
}

TEST(ACompiledPick, MayBeUsedPartly) {  // Two picks of one table that share some columns.
  const Build build = [](const std::vector<Value>& in, const std::vector<Value>& p) {
    const LookupTable& table = kept(LookupTable(p, 3));
    const std::vector<Value> a = pick_row(table, in[0]), b = pick_row(table, in[1]);
    return a[0] * a[1] * a[2] + b[1] * b[1];
  };
  expect_same(build, random_rows(40, {5, 5}), 2, leaves(15));
}

TEST(ACompiledPick, MayChooseFromOneParameterOrFromTablesThatBeginAlike) {
  const Build same = [](const std::vector<Value>& in, const std::vector<Value>& p) {
    return pick(std::vector{p[2], p[2], p[2], p[2]}, in[0]) * in[1];
  };
  expect_same(same, random_rows(40, {4, 0}), 2, leaves(3));
  const Build alike = [](const std::vector<Value>& in, const std::vector<Value>& p) {
    return pick(std::span(p).first(2), in[0]) * pick(p, in[1]);
  };
  expect_same(alike, random_rows(40, {2, 6}), 2, leaves(6));
}

// Random graphs with picks from parameters, constants, uniform and varying nodes, by inputs and computed indices, also
// from what other picks have chosen.
TEST(ACompiledPick, IsRightInRandomGraphs) {
  constexpr std::size_t size = 4, indices = 3;
  for (std::uint32_t seed = 0; seed < tests::sized(150, 10); ++seed) {
    SCOPED_TRACE(seed);
    const Build build = [seed](const std::vector<Value>& in, const std::vector<Value>& p) {
      std::mt19937 random(seed);
      const auto below = [&](std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random); };
      const LookupTable& table = kept(LookupTable(p, p.size() / size));
      std::vector<Value> nodes(p);
      nodes.insert(nodes.end(), in.begin() + indices, in.end());
      nodes.insert(nodes.end(), {Value(0.3), Value(-0.7)});
      const auto any = [&]() -> const Value& {
        return nodes[nodes.size() - 1 - below(std::min(nodes.size(), 12 + below(12)))];
      };
      const auto index = [&]() -> Value {
        const Value& own = in[below(indices)];
        return below(3) == 0 ? size - 1 - own : own;
      };
      for (int step = 0; step < 25; ++step) {
        switch (below(6)) {
          case 0: nodes.push_back(any() * any()); break;
          case 1: nodes.push_back(any() + any() - any()); break;
          case 2: nodes.push_back(tanh(any())); break;
          case 3: {
            const std::vector<Value> row = pick_row(table, index());
            nodes.insert(nodes.end(), row.begin(), row.end() - static_cast<std::ptrdiff_t>(below(2)));
            break;
          }
          case 4: nodes.push_back(pick(std::vector{any(), any(), any(), any()}, index())); break;
          default: {
            const std::size_t first = below(p.size() - size);
            nodes.push_back(pick(std::span(p).subspan(first, size), index()));
          }
        }
      }
      Value sum = 0;
      for (std::size_t i = p.size(); i < nodes.size(); ++i) sum += sin(nodes[i]);
      return sum;
    };
    expect_same(build, random_rows(1 + seed % 40, {size, size, size, 0, 0}, seed), indices + 2, leaves(12, seed));
  }
}

TEST(ACompiledPick, IsAnyUniformChoiceWithoutInputs) {
  std::vector<Value> p = leaves(4);
  p[3].data() = 1;
  const Value loss = pow(pick(std::span(p).first(3), p[3]), 2);
  Program program = compile(loss, {.parameters = p});
  std::vector<double> gradient(4);
  EXPECT_EQ(program.gradients(gradient), loss.data());
  EXPECT_EQ(gradient, (std::vector<double>{0, 2 * p[1].data(), 0, 0}));
  EXPECT_EQ(error_of([&] { program.value_at(std::vector<double>{1, 2, 3, 3}); }),
            "Program: needs a whole number from 0 to 2 as the index of each pick, got 3 in row 0; check the index, and "
            "count from 0");
}

TEST(ACompiledPick, RefusesAWrongIndexAndNamesItsRow) {
  const std::vector<Value> p = leaves(5);
  const LookupTable table(p);
  Value index = 0.0, x = 0.0;
  const std::vector<Value> varying{p[0] * x, x, p[1]};
  Program program = compile(pick(table, index) + pick(varying, x), {.inputs = {index, x}, .parameters = p});
  std::vector<double> gradients(5), before(5);
  const auto message = [](const char* got, int row, int last) {
    return "Program: needs a whole number from 0 to " + std::to_string(last) + " as the index of each pick, got " +
           got + " in row " + std::to_string(row) + "; check the index, and count from 0";
  };
  const auto run = [&](std::size_t row, double first, double second) {
    Rows rows = random_rows(200, {5, 3});
    rows[2 * row] = first;
    rows[2 * row + 1] = second;
    return error_of([&] { program.run(rows); });
  };
  EXPECT_EQ(run(150, 5, 0), message("5", 150, 4));
  EXPECT_EQ(run(3, -1, 0), message("-1", 3, 4));
  EXPECT_EQ(run(0, 1.5, 0), message("1.5", 0, 4));
  EXPECT_EQ(run(199, NAN, 0), message("nan", 199, 4));
  EXPECT_EQ(run(7, 1e300, 0), message("1e+300", 7, 4));
  EXPECT_EQ(run(7, 0, 3), message("3", 7, 2));
  for (const Value& parameter : p) EXPECT_EQ(parameter.grad(), 0);
  const Rows rows = random_rows(200, {5, 3});
  EXPECT_NO_THROW(program.gradients(rows, gradients));
  EXPECT_EQ(error_of([&] { program.evaluate(Rows{9, 0}, std::span(gradients).first(1)); }), message("9", 0, 4));
}

TEST(ACompiledPick, RefusesAWrongConstantIndexWhenItIsCompiled) {
  std::vector<Value> p = leaves(3);
  Value index = 2.0;
  const Value picked = pick(p, index);
  EXPECT_NO_THROW(compile(picked, {.parameters = p}));
  index.data() = 3;
  EXPECT_EQ(error_of([&] { compile(picked, {.parameters = p}); }),
            "compile: needs a whole number from 0 to 2 as the index of a pick, got 3; check the index, and count from "
            "0");
}

TEST(ACompiledPick, NeedsItsLookupTable) {
  std::vector<Value> p = leaves(3);
  Value index = 2.0;
  const Value picked = pick(LookupTable(p), index);
  EXPECT_EQ(error_of([&] { compile(picked, {.inputs = {index}, .parameters = p}); }),
            "compile: needs the LookupTable of each pick, got a pick from one that was destroyed; keep the LookupTable "
            "while its picks are used");
}

TEST(ACompiledPick, IsRecordedByFunctions) {
  const std::vector<Value> p = leaves(10);
  const LookupTable table(p, 2);
  const RowFunction f = [&](const std::vector<Value>& in) {
    const std::vector<Value> row = pick_row(table, in[0]);
    return row[0] * in[1] + row[1];
  };
  Program program = compile(f, {{0, 1}, {3, 2}}, {.parameters = p});
  const Rows rows = random_rows(40, {5, 0});
  const Result wanted =
      eager([&](const std::vector<Value>& in, const std::vector<Value>&) { return f(in); }, rows, 2, p);
  std::vector<double> gradients(10);
  EXPECT_NEAR(program.gradients(rows, gradients), wanted.sum, 1e-12);
  expect_near(gradients, wanted.gradients, 1e-12);
  const RowFunction branching = [&](const std::vector<Value>& in) { return in[1] > 0 ? f(in) : f(in) * f(in); };
  Function function(branching, {.inputs = 2, .parameters = p, .compile_after = 4});
  const Result of_branches =
      eager([&](const std::vector<Value>& in, const std::vector<Value>&) { return branching(in); }, rows, 2, p);
  EXPECT_NEAR(function.gradients(rows, gradients), of_branches.sum, 1e-12);
  expect_near(gradients, of_branches.gradients, 1e-12);
}

TEST(ACompiledPick, HasSecondDerivatives) {
  std::vector<Value> p = leaves(4);
  Value index = 0.0;
  const Value loss = pow(pick(p, index), 3);
  Program slopes = compile_derivatives(loss, {.inputs = {index}, .parameters = p});
  std::vector<double> outputs(8);
  slopes.evaluate(Rows{1, 3}, outputs);
  expect_near(outputs, {0, 3 * p[1].data() * p[1].data(), 0, 0, 0, 0, 0, 3 * p[3].data() * p[3].data()}, 1e-14);
}

// A step of a Trainer uses the parameters that its rows look up, and moves every parameter as the eager step does.
TEST(ATrainerWithPicks, MakesTheStepsOfTheEngine) {
  const Build build = [](const std::vector<Value>& in, const std::vector<Value>& p) {
    const LookupTable table{std::span(p).first(60), 2};
    const std::vector<Value> row = pick_row(table, in[0]);
    return pow(row[0] * p[60] + row[1] - in[1], 2);
  };
  std::vector<OptimizerConfig> configs(all_optimizers.begin(), all_optimizers.end());
  configs.emplace_back(SGD{.lr = 0.05, .momentum = 0.9});
  configs.emplace_back(SGD{.lr = 0.05, .weight_decay = 0.1});
  for (const OptimizerConfig& config : configs)
    for (const bool has_hook : {false, true}) {
      const std::vector<Value> compiled = leaves(61);
      std::vector<Value> moved = leaves(61);
      Value index = 0.0, y = 0.0;
      const LookupTable table{std::span(compiled).first(60), 2};
      const std::vector<Value> row = pick_row(table, index);
      Program program =
          compile(pow(row[0] * compiled[60] + row[1] - y, 2), {.inputs = {index, y}, .parameters = compiled});
      Trainer trainer(program, config);
      trainer.clip_norm(0.5);
      if (has_hook) trainer.before_update([](std::span<double> gradient) { gradient[5] += 0.125; });
      OptimizerState state = initial_state(config, 61);
      for (std::uint32_t step = 0; step < 6; ++step) {
        const Rows rows = random_rows(9, {30, 0}, step);
        const Result wanted = eager(build, rows, 2, moved);
        EXPECT_NEAR(trainer.step(rows), wanted.sum, 1e-10);
        std::vector<double> gradient = wanted.gradients, data;
        if (has_hook) gradient[5] += 0.125;
        clip_norm(std::span(gradient), 0.5);
        for (const Value& p : moved) data.push_back(p.data());
        update(config, learning_rate(config), data, gradient, state);
        for (std::size_t i = 0; i < 61; ++i) moved[i].data() = data[i];
      }
      trainer.write_back();
      for (std::size_t i = 0; i < 61; ++i)
        EXPECT_NEAR(compiled[i].data(), moved[i].data(), 1e-10) << name(config) << ", parameter " << i;
    }
}

TEST(ATrainerWithPicks, TakesSeveralPrograms) {
  const std::vector<Value> p = leaves(40);
  const LookupTable table(p);
  Value index = 0.0, other = 0.0;
  std::vector<Program> programs;
  programs.push_back(compile(pow(pick(table, index), 2), {.inputs = {index}, .parameters = p}));
  programs.push_back(compile(3 * pick(table, other), {.inputs = {other}, .parameters = p}));
  Trainer trainer(programs, SGD{.lr = 0.5});
  std::vector<double> wanted;
  for (const Value& value : p) wanted.push_back(value.data());
  for (int step = 0; step < 3; ++step) {
    const std::vector<Rows> rows{{static_cast<double>(step)}, {static_cast<double>(step + 7), 20}};
    trainer.step(rows);
    wanted[static_cast<std::size_t>(step)] = 0;
    wanted[static_cast<std::size_t>(step) + 7] -= 1.5;
    wanted[20] -= 1.5;
  }
  trainer.write_back();
  for (std::size_t i = 0; i < 40; ++i) EXPECT_NEAR(p[i].data(), wanted[i], 1e-12) << i;
}

TEST(APick, IsRefusedByEmittedC) {
  std::vector<Value> p = leaves(3);
  Value index = 0.0;
  EXPECT_EQ(error_of([&] { emit_c(pick(p, index), {.inputs = {index}, .parameters = p}); }),
            "emit_c: needs operations that are C expressions, got a pick, whose index has to be checked; write it as "
            "select(index == 0, a, select(index == 1, b, ...))");
}

TEST(CompilePasses, ShowPicks) {
  std::vector<Value> p = leaves(3);
  Value index = 0.0;
  const Value loss = 2 * pick(p, index);
  const auto passes = compile_passes({&loss, 1}, {.inputs = {index}, .parameters = p});
  EXPECT_EQ(passes[0].text, "s4 = pick(p0 ... p2; x0)  varying\ns6 = mul(s4, 2)  varying\noutput s6\noutput x0\n");
  EXPECT_EQ(passes[2].text,
            "n7 = 2*seed  varying\nrows(pick(p0 ... p2; x0)) += n7\ngradient of x0: 0\ngradient of p0: rows(p0)\n"
            "gradient of p1: rows(p1)\ngradient of p2: rows(p2)\n");
}

}  // namespace
}  // namespace gradwalk::compile_pick_test
