// SPDX-License-Identifier: MIT
// Compares compiled programs with the engine, row by row.
#include "gradwalk/compile.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <fstream>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <sstream>

#include "gradwalk/function.hpp"
#include "gradwalk/loss.hpp"
#include "gradwalk/nn.hpp"
#include "support.hpp"

namespace gradwalk::compile_test {

void expect_near(double got, double wanted, double size, double tolerance, const std::string& what) {
  if (std::isnan(wanted)) {
    EXPECT_TRUE(std::isnan(got)) << what << ": got " << got << ", wanted NaN";
  } else if (std::isinf(wanted)) {
    EXPECT_EQ(got, wanted) << what;
  } else {
    if (!std::isfinite(size)) size = 0;
    EXPECT_LE(std::abs(got - wanted), tolerance * (1 + size)) << what << ": got " << got << ", wanted " << wanted;
  }
}

// ---- batches ----

struct Batch {
  double sum;
  std::vector<double> gradient, inputs;
  bool operator==(const Batch&) const = default;
};

// A network with layers, functions, uniform terms, and parameters that all rows use directly.
struct Network {
  MLP model{3, {20, 12, 2}};
  Value scale{0.7}, shift{0.1};
  std::vector<Value> inputs = std::vector<Value>(4), parameters = all_parameters();

  std::vector<Value> all_parameters() const {
    std::vector<Value> values = model.parameters();
    values.insert(values.end(), {scale, shift});
    return values;
  }
  Value loss(const std::vector<Value>& in) const {
    const std::vector<Value> out = model(std::vector<Value>(in.begin(), in.begin() + 3));
    Value squares = 0;
    for (const Value& p : parameters) squares += p * p;
    return tanh(scale * out[0] + shift) * in[3] + exp(-pow(out[1] - in[3], 2)) / scale + 0.001 * squares;
  }
  Batch eager(const std::vector<double>& rows, const std::vector<double>& weights = {}) {
    for (Value& p : parameters) p.grad() = 0;
    Batch batch{0, {}, {}};
    for (std::size_t r = 0; r < rows.size() / 4; ++r) {
      const std::vector<Value> in(rows.begin() + static_cast<std::ptrdiff_t>(4 * r),
                                  rows.begin() + static_cast<std::ptrdiff_t>(4 * r + 4));
      const Value row_loss = loss(in);
      const double weight = weights.empty() ? 1 : weights[r];
      row_loss.backward(weight);
      batch.sum += weight * row_loss.data();
      for (const Value& x : in) batch.inputs.push_back(x.grad());
    }
    for (const Value& p : parameters) batch.gradient.push_back(p.grad());
    return batch;
  }
  Program compiled(CompileOptions options = {}) const {
    options.inputs = inputs;
    options.parameters = parameters;
    return compile(loss(inputs), options);
  }
  Batch run(Program& program, const std::vector<double>& rows, const std::vector<double>& weights = {}) const {
    Batch batch{0, std::vector<double>(parameters.size()), std::vector<double>(rows.size())};
    batch.sum = program.gradients(rows, batch.gradient, {.weights = weights, .input_gradients = batch.inputs});
    return batch;
  }
};

std::vector<double> random_numbers(std::size_t count, std::size_t seed) {
  std::mt19937_64 random(seed);
  std::vector<double> numbers(count);
  for (double& number : numbers) number = std::uniform_real_distribution<>(-1, 1)(random);
  return numbers;
}

void expect_equal(const Batch& got, const Batch& wanted, double tolerance) {
  const auto size = [](const std::vector<double>& numbers) {
    double most = 0;
    for (const double number : numbers) most = std::max(most, std::abs(number));
    return most;
  };
  expect_near(got.sum, wanted.sum, std::abs(wanted.sum), tolerance, "sum");
  ASSERT_EQ(got.gradient.size(), wanted.gradient.size());
  for (std::size_t i = 0; i < got.gradient.size(); ++i)
    expect_near(got.gradient[i], wanted.gradient[i], size(wanted.gradient), tolerance, "gradient " + std::to_string(i));
  for (std::size_t i = 0; i < got.inputs.size(); ++i)
    expect_near(got.inputs[i], wanted.inputs[i], size(wanted.inputs), tolerance, "input " + std::to_string(i));
}

class Batches : public testing::TestWithParam<std::string> {};

TEST_P(Batches, OfAnySizeAgreeWithTheEngine) {
  Network network;
  for (const Precision precision : {Precision::float64, Precision::float32}) {
    Program program = network.compiled({.precision = precision, .instruction_set = GetParam()});
    for (const std::size_t count : {0u, 1u, 7u, 8u, 9u, 63u, 64u, 65u, 1000u, 8u}) {
      SCOPED_TRACE(count);
      const std::vector<double> rows = random_numbers(4 * count, count), weights = random_numbers(count, count + 1);
      const double tolerance = precision == Precision::float64 ? 1e-13 : 2e-6;
      expect_equal(network.run(program, rows), network.eager(rows), tolerance);
      if (count > 0) expect_equal(network.run(program, rows, weights), network.eager(rows, weights), tolerance);
    }
  }
}

TEST_P(Batches, HaveTheSameBitsForAnyNumberOfThreads) {
  const Network network;
  for (const Precision precision : {Precision::float64, Precision::float32}) {
    for (const std::size_t count : {1u, 64u, 1000u}) {
      const std::vector<double> rows = random_numbers(4 * count, count);
      Program alone = network.compiled({.precision = precision, .threads = 1, .instruction_set = GetParam()});
      const Batch wanted = network.run(alone, rows);
      for (const std::size_t threads : {2u, 3u, 8u}) {
        Program program = network.compiled({.precision = precision, .threads = threads, .instruction_set = GetParam()});
        EXPECT_EQ(network.run(program, rows), wanted) << count << " rows, " << threads << " threads";
      }
    }
  }
}

// Products that cancel show how they were rounded: fused with the addition or not. A row has one result, whether it is
// run alone, by steps, or with others, by vectors; and so has its gradient.
TEST_P(Batches, RoundProductsInOneWayForAnyNumberOfRows) {
  const std::vector<Value> x(5);
  const Value weight(0.3), other(0.1);
  const Value by_inputs = x[0] * x[1] - x[2] * x[3];                   // a sum
  const Value by_weights = weight * x[0] - other * x[2] + 0.5 * x[4];  // a layer
  const Value outputs[] = {x[0] / by_inputs, x[0] / by_weights, x[4] * (x[0] * 0.0 - 1) * 0.0, by_inputs * by_weights};
  const std::vector<double> row{0.1, 0.3, 0.3, 0.1, 0.0};
  for (const Precision precision : {Precision::float64, Precision::float32}) {
    Program program = compile(outputs, {.inputs = x,
                                        .parameters = {weight, other},
                                        .precision = precision,
                                        .threads = 1,
                                        .instruction_set = GetParam()});
    std::vector<std::uint64_t> alone;
    for (const std::size_t count : {1u, 2u, 3u, 7u, 16u, 65u}) {
      std::vector<double> rows, values(4 * count);
      for (std::size_t r = 0; r < count; ++r) rows.insert(rows.end(), row.begin(), row.end());
      program.evaluate(rows, values);
      for (std::size_t i = 0; i < values.size(); ++i) {
        const auto bits = std::bit_cast<std::uint64_t>(values[i]);
        if (count == 1) alone.push_back(bits);
        EXPECT_EQ(bits, alone[i % 4]) << "output " << i % 4 << ", " << count << " rows: " << values[i];
      }
    }
  }
}

TEST(Compile, LiftsALayerFromEveryWayOfWritingANeuron) {
  const std::size_t inputs = 5, outputs = 3;
  std::vector<Value> x(inputs), w(inputs * outputs), b(outputs);
  using Way = std::function<Value(std::size_t)>;
  const auto product = [&](std::size_t o, std::size_t i) { return w[o * inputs + i] * x[i]; };
  const std::vector<std::pair<const char*, Way>> ways{
      {"from the bias",
       [&](std::size_t o) {
         Value sum = b[o];
         for (std::size_t i = 0; i < inputs; ++i) sum += product(o, i);
         return sum;
       }},
      {"from zero, the bias last",
       [&](std::size_t o) {
         Value sum = 0;
         for (std::size_t i = 0; i < inputs; ++i) sum += product(o, i);
         return sum + b[o];
       }},
      {"sum of a vector",
       [&](std::size_t o) {
         std::vector<Value> products;
         for (std::size_t i = 0; i < inputs; ++i) products.push_back(product(o, i));
         return std::accumulate(products.begin(), products.end(), Value(0.0)) + b[o];
       }},
      {"a tree",
       [&](std::size_t o) {
         return ((product(o, 0) + product(o, 1)) + (product(o, 2) + product(o, 3))) + (product(o, 4) + b[o]);
       }},
      {"x * w, shuffled",
       [&](std::size_t o) {
         Value sum = b[o];
         for (const std::size_t i : {3u, 0u, 4u, 1u, 2u}) sum = sum + x[i] * w[o * inputs + i];
         return sum;
       }},
      {"prepended",
       [&](std::size_t o) {
         Value sum = b[o];
         for (std::size_t i = 0; i < inputs; ++i) sum = product(o, i) + sum;
         return sum;
       }},
      {"no bias",
       [&](std::size_t o) {
         Value sum = 0;
         for (std::size_t i = 0; i < inputs; ++i) sum += product(o, i);
         return sum;
       }},
      {"b - w * x",
       [&](std::size_t o) {
         Value sum = b[o];
         for (std::size_t i = 0; i < inputs; ++i) sum -= product(o, i);
         return sum;
       }},
      {"mixed signs",
       [&](std::size_t o) {
         Value sum = b[o];
         for (std::size_t i = 0; i < inputs; ++i) sum = i % 2 == 0 ? sum + product(o, i) : sum - product(o, i);
         return sum;
       }},
      {"a constant in each product",
       [&](std::size_t o) {
         Value sum = b[o];
         for (std::size_t i = 0; i < inputs; ++i) sum += 0.5 * w[o * inputs + i] * x[i];
         return sum;
       }},
      {"a residual",
       [&](std::size_t o) {
         Value sum = x[o];
         for (std::size_t i = 0; i < inputs; ++i) sum += product(o, i);
         return sum;
       }},
      {"the mean, then the bias",
       [&](std::size_t o) {
         Value sum = 0;
         for (std::size_t i = 0; i < inputs; ++i) sum += product(o, i);
         return sum / 5 + b[o];
       }},
  };
  for (const auto& [name, way] : ways) {
    Value loss = 0;
    for (std::size_t o = 0; o < outputs; ++o) loss += tanh(way(o));
    std::vector<Value> parameters(w);
    parameters.insert(parameters.end(), b.begin(), b.end());
    const Program program = compile(loss, {.inputs = x, .parameters = parameters});
    EXPECT_THAT(program.describe().layers, testing::ElementsAre("3 x 5")) << name;
  }
}

// ---- the interface ----

using testing::HasSubstr;
using tests::error_of;

TEST(Compile, AddsToTheParametersGradientsAndReadsThemAtEachRun) {
  Value w{2.0}, x{0.0};
  Program program = compile(w * x, {.inputs = {x}, .parameters = {w}});
  EXPECT_EQ(program.run(std::vector{1.0, 2.0}), 6);
  EXPECT_EQ(w.grad(), 3);
  w.data() = 10;
  EXPECT_EQ(program.run(std::vector{1.0}), 10);
  EXPECT_EQ(w.grad(), 4);
}

TEST(Compile, ReturnsMeansAndWeightedMeans) {
  Value w{2.0}, x{0.0};
  Program program = compile(w * x, {.inputs = {x}, .parameters = {w}});
  const std::vector rows{1.0, 2.0, 6.0}, weights{1.0, 1.0, 2.0};
  EXPECT_DOUBLE_EQ(program.run(rows, {.result = RunOptions::Result::mean}), 6);
  EXPECT_DOUBLE_EQ(w.grad(), 3);
  EXPECT_DOUBLE_EQ(program.run(rows, {.weights = weights}), 30);
  EXPECT_DOUBLE_EQ(program.run(rows, {.result = RunOptions::Result::mean, .weights = weights}), 7.5);
}

TEST(Compile, ReturnsZeroForAnEmptyBatch) {
  Value w{2.0}, x{0.0};
  Program program = compile(w * x + w, {.inputs = {x}, .parameters = {w}});
  EXPECT_EQ(program.run({}), 0);
  EXPECT_EQ(w.grad(), 0);
  std::vector<double> gradient{5.0};
  EXPECT_EQ(program.gradients({}, gradient), 0);
  EXPECT_EQ(gradient[0], 0);
}

TEST(Compile, CountsUniformTermsOncePerRow) {
  Value w{3.0}, x{0.0};
  Program program = compile(w * x + w * w, {.inputs = {x}, .parameters = {w}});
  EXPECT_EQ(program.run(std::vector{1.0, 2.0}), 3 * 3 + 2 * 9);
  EXPECT_EQ(w.grad(), 3 + 2 * 6);
}

TEST(Compile, EvaluatesSeveralOutputs) {
  Value w{2.0}, x{0.0};
  const std::vector outputs{w * x, w + 1, x * x, Value(7.0)};
  Program program = compile(outputs, {.inputs = {x}, .parameters = {w}});
  std::vector<double> numbers(8);
  program.evaluate(std::vector{1.0, 3.0}, numbers);
  EXPECT_THAT(numbers, testing::ElementsAre(2, 3, 1, 7, 6, 3, 9, 7));
}

TEST(Compile, MakesAFunctionOfParametersIfThereAreNoInputs) {
  std::vector<Value> p{1.0, 2.0};
  Program program = compile(p[0] * p[0] * p[1], {.parameters = p});
  std::vector<double> gradient(2);
  EXPECT_EQ(program.gradient_at(std::vector{3.0, 5.0}, gradient), 45);
  EXPECT_THAT(gradient, testing::ElementsAre(30, 9));
  EXPECT_EQ(program.value_at(std::vector{1.0, 1.0}), 1);
  EXPECT_EQ(p[0].grad(), 0);
  EXPECT_EQ(program.run(), 2);
  EXPECT_EQ(p[0].grad(), 4);
}

TEST(Compile, RunsRowsAtGivenParameters) {
  const Value x, w{1.0}, b{7.0};
  Program program = compile(pow(w * x + b, 2), {.inputs = {x}, .parameters = {w, b}});
  std::vector<double> gradient(2), at_inputs(2);
  const std::vector rows{1.0, 2.0};
  EXPECT_EQ(program.gradients_at(std::vector{3.0, 1.0}, rows, gradient, {.input_gradients = at_inputs}), 65);
  EXPECT_THAT(gradient, testing::ElementsAre(36, 22));
  EXPECT_THAT(at_inputs, testing::ElementsAre(24, 42));
  EXPECT_EQ(w.grad(), 0);
  EXPECT_EQ(program.gradients(rows, gradient), 145) << "the parameters' own values are used again";
  EXPECT_THAT(error_of([&] { program.gradients_at(std::vector{3.0}, rows, gradient); }),
              HasSubstr("needs 2 parameters, got 1 numbers"));
}

TEST(Compile, ClonesAProgram) {
  const Value x, w{2.0};
  Program program = compile(w * x, {.inputs = {x}, .parameters = {w}}), clone = program.clone();
  std::vector<double> gradient(1), of_clone(1);
  program.gradients(std::vector{3.0}, gradient);
  EXPECT_EQ(clone.gradients(std::vector{5.0}, of_clone), 10);
  EXPECT_EQ(gradient[0], 3);
  EXPECT_EQ(of_clone[0], 5);
  program = Program(std::move(clone));
  EXPECT_EQ(program.gradients(std::vector{4.0}, gradient), 8);
}

// The result depends on one output of a layer only, so the others have the gradient 0, even if their weights are
// infinite.
TEST(Compile, DifferentiatesALayerOfWhichOneOutputIsUsed) {
  const std::vector<Value> x(2), w{1.0, 2.0, 3.0, std::numeric_limits<double>::infinity()};
  const std::vector<Value> outputs{tanh(w[0] * x[0] + w[1] * x[1]), w[2] * x[0] + w[3] * x[1]};
  Program program = compile(outputs, {.inputs = x, .parameters = w});
  for (const std::size_t count : {1u, 40u}) {
    std::vector<double> rows, gradient(4), at_inputs(2 * count);
    for (std::size_t r = 0; r < count; ++r) rows.insert(rows.end(), {0.5, -0.25});
    program.gradients(rows, gradient, {.input_gradients = at_inputs});
    EXPECT_THAT(gradient,
                testing::ElementsAre(0.5 * static_cast<double>(count), -0.25 * static_cast<double>(count), 0, 0));
    EXPECT_EQ(at_inputs[0], 1);
    EXPECT_EQ(at_inputs[1], 2);
  }
}

// A recursion has no parallel operations, so the scalar interpreter runs it.
TEST(Compile, RunsARecursionLikeTheEngine) {
  for (const Precision precision : {Precision::float64, Precision::float32}) {
    const std::vector<Value> p{0.9, 0.3, -0.2};
    Value x = p[1], y = 1, total = 0;
    for (int i = 0; i < 300; ++i) {
      const Value next = p[0] * x + p[2] * max(y, x) / (1 + x * x);
      y = select(next < y, abs(y) - 0.1 * next, log(2 + y * y));
      x = next;
      total += tanh(x - y) * p[1] + 0.01 * i;
    }
    Program program = compile(total, {.parameters = p, .precision = precision});
    std::vector<double> gradient(p.size());
    const double tolerance = precision == Precision::float64 ? 1e-12 : 1e-4;
    expect_near(program.gradient_at(std::vector{0.9, 0.3, -0.2}, gradient), total.data(), std::abs(total.data()),
                tolerance, "value");
    total.backward();
    for (std::size_t i = 0; i < p.size(); ++i)
      expect_near(gradient[i], p[i].grad(), std::abs(p[i].grad()), tolerance, "gradient " + std::to_string(i));
    EXPECT_LE(program.describe().bytes, 300 * program.describe().recorded);
  }
}

// The scalar interpreter runs few rows, and vector code runs many; both must agree with the engine.
TEST(Compile, RunsFewRowsLikeManyRows) {
  const std::vector<Value> x{0.5, 0.25}, w{0.5, -0.25, 0.75};
  const auto loss = [&](const Value& u, const Value& v) {
    const Value a = relu(w[0] * u + w[1] * v + w[2]), b = exp(w[2] * a), c = a / b;
    return log(b + c * c) * select(a < c, a, u - c) + 3 * w[0];
  };
  const std::vector<Value> outputs{loss(x[0], x[1]), x[0] * w[1], w[2] * 2};
  Program program = compile(outputs, {.inputs = x, .parameters = w});
  for (std::size_t count = 1; count <= 12; ++count) {
    std::vector<double> rows, weights, values;
    for (std::size_t r = 0; r < count; ++r) {
      rows.insert(rows.end(), {std::sin(static_cast<double>(r)), 0.3 * static_cast<double>(r) - 1});
      weights.push_back(1 + static_cast<double>(r));
    }
    std::vector<double> gradient(w.size()), inputs(rows.size()), got(3 * count);
    const double sum =
        program.gradients(rows, gradient, {.weights = weights, .input_gradients = inputs, .outputs = got});
    for (Value p : w) p.grad() = 0;
    double wanted = 0;
    for (std::size_t r = 0; r < count; ++r) {
      const Value u{rows[2 * r]}, v{rows[2 * r + 1]};
      const Value row_loss = loss(u, v);
      row_loss.backward(weights[r]);
      wanted += weights[r] * row_loss.data();
      const std::string row = std::to_string(count) + " rows, row " + std::to_string(r);
      expect_near(inputs[2 * r], u.grad(), std::abs(u.grad()), 1e-14, row);
      expect_near(inputs[2 * r + 1], v.grad(), std::abs(v.grad()), 1e-14, row);
      expect_near(got[3 * r], row_loss.data(), std::abs(row_loss.data()), 1e-14, row);
      expect_near(got[3 * r + 1], u.data() * -0.25, 1, 1e-14, row);
      EXPECT_EQ(got[3 * r + 2], 1.5) << row;
    }
    expect_near(sum, wanted, std::abs(wanted), 1e-14, std::to_string(count) + " rows");
    for (std::size_t i = 0; i < w.size(); ++i)
      expect_near(gradient[i], w[i].grad(), std::abs(w[i].grad()), 1e-13, std::to_string(count) + " rows, gradient");
  }
}

// A large program takes one or two rows by scalar code, in which a long sum is several steps.
TEST(Compile, RunsALongRecursionAndALongSumLikeTheEngineOnAFewRows) {
  Value x{0.3}, w{0.9}, bias{0.1};
  Value state = x, sum = bias;
  for (int i = 0; i < 50'000; ++i) {
    state = w * tanh(state) + x;
    sum += i % 3 == 0 ? state * w : -0.5 * state;
  }
  sum.backward();
  for (const std::string& set : {instruction_sets().front(), instruction_sets().back()}) {
    Program program = compile(sum, {.inputs = {x}, .parameters = {w, bias}, .instruction_set = set});
    for (const std::size_t rows : {1u, 2u, 3u}) {
      Numbers gradients(2), by_input(rows), outputs(rows);
      const Numbers numbers(rows, 0.3);
      program.gradients(numbers, gradients, {.input_gradients = by_input, .outputs = outputs});
      for (std::size_t r = 0; r < rows; ++r) {
        EXPECT_NEAR(outputs[r] / std::as_const(sum).data(), 1, 1e-11);
        EXPECT_NEAR(by_input[r] / x.grad(), 1, 1e-11);
      }
      EXPECT_NEAR(gradients[0] / (static_cast<double>(rows) * w.grad()), 1, 1e-11);
      EXPECT_EQ(gradients[1], static_cast<double>(rows));
    }
  }
}

TEST(Compile, FollowsTheRulesForInfiniteDerivatives) {
  Value w{0.0}, x{0.0};
  Program root = compile(relu(sqrt(w * x) - 1), {.inputs = {x}, .parameters = {w}});
  EXPECT_EQ(root.run(std::vector{4.0}), 0);
  EXPECT_EQ(w.grad(), 0) << "a gradient that is 0 passes nothing on";

  // In a layer, one weight is infinite and one unit is inactive.
  const double infinity = std::numeric_limits<double>::infinity();
  std::vector<Value> a{1.0, 1.0}, u{0.0, 0.0}, v{infinity, 1.0, 1.0, 1.0};
  std::vector<Value> h;
  for (std::size_t i = 0; i < 2; ++i) h.push_back(relu(v[2 * i] * u[0] + v[2 * i + 1] * u[1]));
  std::vector<Value> parameters(a);
  parameters.insert(parameters.end(), v.begin(), v.end());
  Program layers = compile(stop(h[0]) * 0 + a[0] * h[1] + a[1] * h[1], {.inputs = u, .parameters = parameters});
  for (Value& p : parameters) p.grad() = 0;
  std::vector<double> inputs(2), gradient(parameters.size());
  layers.gradients(std::vector{1.0, 2.0}, gradient, {.input_gradients = inputs});
  EXPECT_EQ(inputs[0], 2) << "an inactive unit passes no gradient on, not even through an infinite weight";
}

TEST(Compile, PassesNoGradientToTheOperandThatWasNotSelected) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double x : {-1.0, 1.0}) {
    Value a{2.0}, b{3.0}, in{0.0};
    Program program = compile(select(in < 0, a, b) * infinity, {.inputs = {in}, .parameters = {a, b}});
    program.run(std::vector{x});
    Value c{2.0}, d{3.0};
    (select(Value(x) < 0, c, d) * infinity).backward();
    EXPECT_EQ(a.grad(), c.grad());
    EXPECT_EQ(b.grad(), d.grad());
  }
}

TEST(Compile, TakesGraphsWhoseRecordsWereExpanded) {
  Value w{2.0}, x{0.0};
  const Value root = tanh(w * x + 0.5) * 3 - 2 * w;
  const std::vector<Value> order = topological_order(root);  // expands fused records and their constants
  Program program = compile(root, {.inputs = {x}, .parameters = {w}});
  EXPECT_NEAR(program.run(std::vector{1.0}), 3 * std::tanh(2.5) - 4, 1e-14);
  const Value number = root.inputs()[0].inputs()[1];
  ASSERT_EQ(number.data(), 3);
  std::vector<double> outputs(1);
  compile(number, {.inputs = {x}, .parameters = {w}}).evaluate(std::vector{1.0}, outputs);
  EXPECT_EQ(outputs[0], 3);
}

TEST(Compile, RefusesCustomNodesWrongLeavesAndWrongSizes) {
  Value w{2.0}, x{0.0};
  const Value other = custom(1.0, {{w, 1.0}}, "mine");
  EXPECT_THAT(error_of([&] { compile(other * x, {.inputs = {x}, .parameters = {w}}); }), HasSubstr("custom"));
  EXPECT_THAT(error_of([&] { compile(w * x, {.inputs = {x, w}, .parameters = {w}}); }), HasSubstr("twice"));
  EXPECT_THAT(error_of([&] { compile(w * x, {.inputs = {w * x}, .parameters = {w}}); }), HasSubstr("computed"));
  EXPECT_THAT(error_of([&] { compile(w * x, {.inputs = {x}, .parameters = {w}, .instruction_set = "Z80"}); }),
              HasSubstr("Z80"));
  Program program = compile(w * x, {.inputs = {x}, .parameters = {w}});
  std::vector<double> buffer(3);
  EXPECT_THAT(error_of([&] { program.run(); }), HasSubstr("rows of 1"));
  EXPECT_THAT(error_of([&] { program.run(buffer, {.weights = std::span(buffer).first(2)}); }), HasSubstr("2 weights"));
  EXPECT_THAT(error_of([&] { program.gradients(buffer, buffer); }), HasSubstr("room for 1"));
  const std::vector<double> none_at_all{1.0, -1.0, 0.0};
  EXPECT_THAT(error_of([&] { program.run(buffer, {.result = RunOptions::Result::mean, .weights = none_at_all}); }),
              HasSubstr("sum is 0"));
  EXPECT_THAT(error_of([&] { program.evaluate(buffer, std::span(buffer).first(2)); }), HasSubstr("room for 3"));
}

TEST(Compile, MakesProgramsThatThrowAfterAMove) {
  Value w{2.0}, x{0.0};
  Program program = compile(w * x, {.inputs = {x}, .parameters = {w}});
  Program taken = std::move(program);
  EXPECT_THAT(error_of([&] { program.run(std::vector{1.0}); }), HasSubstr("moved from"));
  Trainer trainer(taken, SGD{.lr = 1});
  Trainer other = std::move(trainer);
  EXPECT_THAT(error_of([&] { trainer.step(std::vector{1.0}); }), HasSubstr("moved from"));
}

TEST(Compile, NamesConstantsAndDetectsThatOneHasChanged) {
  Value w{2.0}, x{0.0}, c{3.0};
  c.label("temperature");
  Program program = compile(w * x / c, {.inputs = {x}, .parameters = {w}});
  EXPECT_THAT(program.describe().constants, testing::ElementsAre("\"temperature\" = 3"));
  c.data() = 4;
  EXPECT_THAT(error_of([&] { program.run(std::vector{1.0}); }), HasSubstr("\"temperature\" with 4"));
  EXPECT_EQ(w.grad(), 0);
}

TEST(Compile, WritesItsDescriptionAsText) {
  Value w{2.0}, x{0.0}, c{3.0}, d{5.0};
  c.label("temperature");
  d.label("pressure");
  Program::Description about = compile(w * x / c + d, {.inputs = {x}, .parameters = {w}}).describe();
  EXPECT_THAT(about.constants, testing::UnorderedElementsAre("\"temperature\" = 3", "\"pressure\" = 5"));
  about.constants = {"\"temperature\" = 3", "\"pressure\" = 5"};
  about.layers = {"16 x 2", "1 x 16, 8 times"};
  about.instructions = 1;
  about.bytes = 12345;
  about.instruction_set = "AVX2";
  std::ostringstream text;
  text << about;
  EXPECT_EQ(text.str(), "7 nodes, " + std::to_string(about.computed) +
                            " computed, 1 instruction, 12,345 bytes, AVX2\n"
                            "layers:    16 x 2\n"
                            "           1 x 16, 8 times\n"
                            "constants: \"temperature\" = 3\n"
                            "           \"pressure\" = 5");
}

TEST(Compile, TakesSampleRowsOneAfterAnotherAsRunDoes) {
  Value w{2.0};
  const RowFunction scaled = [&](const std::vector<Value>& in) { return w * in[0] - in[1]; };
  const std::vector<double> rows{0.5, 1, -3, 2};
  Program program = compile(scaled, rows, 2, {.parameters = {w}});
  EXPECT_EQ(program.inputs(), 2u);
  EXPECT_EQ(program.run(rows), 2 * (0.5 - 3) - 3);
  const RowOutputs both = [&](const std::vector<Value>& in) { return std::vector{w * in[0], w * in[1]}; };
  EXPECT_EQ(compile(both, rows, 2, {.parameters = {w}}).outputs(), 2u);
  EXPECT_EQ(error_of([&] { compile(scaled, rows, 3, {.parameters = {w}}); }),
            "compile: needs rows of 3 numbers each, got 4 numbers; give one number per row and input");
  EXPECT_EQ(error_of([&] { compile(scaled, rows, 0, {.parameters = {w}}); }),
            "compile: needs at least one input per row, got 0; give the number of inputs");
}

TEST(Compile, GuardsTheComparisonsOfAFunction) {
  Value w{2.0};
  const RowFunction clipped = [&](const std::vector<Value>& in) { return in[0] < 1 ? w * in[0] : w + 0; };
  Program program = compile(clipped, {{0.5}, {-3}}, {.parameters = {w}});
  EXPECT_EQ(program.run(std::vector{0.25, -1.0}), -1.5);
  const double before = w.grad();
  EXPECT_THAT(error_of([&] { program.run(std::vector{0.25, 0.5, 7.0}); }), HasSubstr("row 2"));
  EXPECT_EQ(w.grad(), before) << "an error leaves every gradient as it was";
}

TEST(Compile, GuardsThePredicatesOfAFunction) {
  Value w{2.0};
  const RowFunction whole = [&](const std::vector<Value>& in) {
    return isfinite(in[0]) && !signbit(in[0]) ? w * floor(in[0]) : w + 0;
  };
  Program program = compile(whole, {{0.5}, {3}}, {.parameters = {w}});
  EXPECT_EQ(program.run(std::vector{2.5, 4.0}), 12);
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double other : {infinity, -1.0, -0.0, std::nan("")})
    EXPECT_THAT(error_of([&] { program.run(std::vector{0.25, other}); }), HasSubstr("row 1")) << other;
}

TEST(Compile, RefusesAFunctionWhoseGraphsDiffer) {
  Value w{2.0};
  const auto message = [&](const RowFunction& function) {
    return error_of([&] { compile(function, {{0.5}, {2}}, {.parameters = {w}}); });
  };
  EXPECT_THAT(message([&](const auto& in) { return in[0] < 1 ? w * in[0] : w + 0; }), HasSubstr("another way"));
  EXPECT_THAT(message([&](const auto& in) { return in[0].data() < 1 ? w * in[0] : w + in[0]; }), HasSubstr("mul"));
  EXPECT_THAT(message([&](const auto& in) { return w * in[0].data(); }), HasSubstr("0.5"));
  EXPECT_THAT(message([&](const auto& in) { return w * in[0].detach(); }), HasSubstr("0.5"));
  EXPECT_EQ(message([&](const auto& in) { return select(in[0] < 1, w, in[0]); }), "no error");
  const auto outputs = [&](const std::vector<Value>& in) {
    const std::size_t count = in[0].data() < 1 ? 1 : 2;
    return std::vector<Value>(count, in[0]);
  };
  EXPECT_THAT(error_of([&] { compile(RowOutputs(outputs), {{0.5}, {2}}, {.parameters = {w}}); }),
              HasSubstr("the same outputs, got others on row 1"));
}

TEST(Trainer, UpdatesParametersAsAnOptimizerDoes) {
  for (const OptimizerConfig& config : {OptimizerConfig(SGD{.lr = 0.1, .momentum = 0.5, .weight_decay = 0.01}),
                                        OptimizerConfig(Adam{.lr = 0.02}), OptimizerConfig(AdamW{.lr = 0.02})}) {
    Network network, twin;
    for (std::size_t i = 0; i < network.parameters.size(); ++i)
      twin.parameters[i].data() = network.parameters[i].data();
    const std::vector<double> rows = random_numbers(4 * 30, 3);
    const Program program = network.compiled();
    Optimizer optimizer(twin.parameters, config);
    const Schedule schedule = linear_decay(0.1, 0.01, 10);
    {
      Trainer trainer(program, config, schedule);
      trainer.clip_norm(2);
      for (std::uint64_t step = 0; step < 10; ++step) {
        const Batch eager = twin.eager(rows);
        clip_gradient_norm(twin.parameters, 2);
        optimizer.step(schedule(step));
        EXPECT_NEAR(trainer.step(rows), eager.sum, 1e-10);
      }
      EXPECT_EQ(trainer.steps(), 10);
    }
    for (std::size_t i = 0; i < network.parameters.size(); ++i)
      EXPECT_NEAR(network.parameters[i].data(), twin.parameters[i].data(), 1e-10);
  }
}

TEST(Trainer, WritesOutputsAndInputGradientsAsARunDoes) {
  Value w{2.0}, x{0.0};
  const Program program = compile(w * x, {.inputs = {x}, .parameters = {w}});
  Trainer trainer(program, SGD{.lr = 1});
  std::vector<double> inputs(2), outputs(2);
  trainer.step(std::vector{1.0, 3.0}, {.input_gradients = inputs, .outputs = outputs});
  EXPECT_THAT(inputs, testing::ElementsAre(2, 2));
  EXPECT_THAT(outputs, testing::ElementsAre(2, 6));
}

TEST(Trainer, CallsTheHookWithTheGradientBeforeEachUpdate) {
  Value w{2.0}, x{0.0};
  const Program program = compile(w * x, {.inputs = {x}, .parameters = {w}});
  Trainer trainer(program, SGD{.lr = 1});
  trainer.before_update([](std::span<double> gradient) { gradient[0] *= 10; });
  trainer.step(std::vector{0.5});
  EXPECT_EQ(w.data(), 2) << "kept in the program until asked";
  trainer.write_back();
  EXPECT_EQ(w.data(), 2 - 5);
}

TEST(Trainer, RefusesAStepInsideItsHookAndGoesOn) {
  Value w{2.0}, x{0.0};
  const Program program = compile(w * x, {.inputs = {x}, .parameters = {w}});
  const auto function = [&](const std::vector<Value>& in) { return w * in[0]; };
  for (const bool is_function : {false, true}) {
    w.data() = 2;
    std::optional<Trainer> trainer;
    if (is_function)
      trainer.emplace(Function(function, {.inputs = 1, .parameters = {w}}), SGD{.lr = 1});
    else
      trainer.emplace(program, SGD{.lr = 1});
    trainer->before_update([&](std::span<double>) { trainer->step(std::vector{100.0}); });
    EXPECT_EQ(error_of([&] { trainer->step(std::vector{0.5}); }),
              "Trainer::step: needs one step at a time, got one inside the hook of another; make it after the other");
    EXPECT_EQ(trainer->steps(), 0u);
    trainer->before_update({});
    trainer->step(std::vector{0.5});
    trainer->write_back();
    EXPECT_EQ(w.data(), 1.5);
  }
}

// Sums of several lengths over the same weights, with one program per length.
struct Lengths {
  std::vector<Value> w{0.5, -0.3, 0.8};

  Value loss(std::span<const Value> x) const {
    Value sum = w[2];
    for (std::size_t i = 0; i < x.size(); ++i) sum += w[i % 2] * x[i];
    return pow(tanh(sum), 2);
  }
  std::vector<Program> programs(Precision precision = Precision::float64) const {
    std::vector<Program> programs;
    for (const std::size_t length : {2u, 3u, 5u}) {
      std::vector<Value> inputs(length);
      programs.push_back(compile(loss(inputs), {.inputs = inputs, .parameters = w, .precision = precision}));
    }
    return programs;
  }
};

TEST(Trainer, TakesOneStepForTheRowsOfSeveralPrograms) {
  for (const Precision precision : {Precision::float64, Precision::float32}) {
    const double tolerance = precision == Precision::float64 ? 1e-13 : 1e-6;
    Lengths compiled;
    const Lengths eager;
    std::vector<Value> parameters = eager.w;
    Trainer trainer(compiled.programs(precision), Adam{.lr = 0.1});
    Optimizer optimizer(parameters, Adam{.lr = 0.1});
    const std::size_t counts[][3]{{4, 1, 3}, {0, 2, 1}, {5, 0, 0}, {0, 0, 9}}, lengths[]{2, 3, 5};
    for (std::size_t step = 0; step < 8; ++step) {
      std::vector<std::vector<double>> rows(3);
      std::vector<double> weights, losses, slopes;
      optimizer.zero_grad();
      double mean = 0, all = 0;
      for (std::size_t k = 0; k < 3; ++k) {
        const std::size_t count = counts[step % 4][k];
        rows[k] = random_numbers(count * lengths[k], 10 * step + k);
        for (std::size_t r = 0; r < count; ++r) weights.push_back(static_cast<double>(weights.size() + 1));
        all = std::accumulate(weights.begin(), weights.end(), 0.0);
      }
      auto weight = weights.begin();
      for (std::size_t k = 0; k < 3; ++k)
        for (std::size_t first = 0; first < rows[k].size(); first += lengths[k]) {
          const auto from = rows[k].begin() + static_cast<std::ptrdiff_t>(first);
          const std::vector<Value> x(from, from + static_cast<std::ptrdiff_t>(lengths[k]));
          const Value loss = eager.loss(x);
          loss.backward(*weight / all);
          mean += *weight++ / all * loss.data();
          losses.push_back(loss.data());
          for (const Value& input : x) slopes.push_back(input.grad());
        }
      optimizer.step();
      std::vector<double> outputs(losses.size()), inputs(slopes.size());
      const RunOptions options{
          .result = RunOptions::Result::mean, .weights = weights, .input_gradients = inputs, .outputs = outputs};
      EXPECT_NEAR(trainer.step(rows, options), mean, tolerance);
      EXPECT_THAT(outputs, testing::Pointwise(testing::DoubleNear(tolerance), losses));
      EXPECT_THAT(inputs, testing::Pointwise(testing::DoubleNear(tolerance), slopes));
    }
    trainer.step(std::vector<std::vector<double>>(3));
    EXPECT_EQ(trainer.steps(), 8) << "no rows, no step";
    trainer.write_back();
    for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(compiled.w[i].data(), parameters[i].data(), 10 * tolerance);
  }
}

TEST(Trainer, RefusesWrongNumbersOfRowsAndProgramsThatDiffer) {
  Lengths lengths;
  const Lengths others;
  std::vector<Program> programs = lengths.programs();
  Trainer trainer(programs, SGD{});
  EXPECT_THAT(error_of([&] { trainer.step(std::vector{1.0, 2.0}); }), HasSubstr("rows of each of its 3 programs"));
  EXPECT_THAT(error_of([&] { trainer.step(std::vector<std::vector<double>>(2)); }), HasSubstr("3 vectors, got 2"));
  EXPECT_THAT(error_of([&] { trainer.step(std::vector<std::vector<double>>{{1}, {}, {}}); }), HasSubstr("rows of 2"));
  EXPECT_THAT(error_of([&] { Trainer(std::span<const Program>(), SGD{}); }), HasSubstr("at least one program"));
  const auto with = [&](Program more) {
    std::vector<Program> all = lengths.programs();
    all.push_back(std::move(more));
    return error_of([&] { Trainer(all, SGD{}); });
  };
  EXPECT_THAT(with(std::move(others.programs()[0])), HasSubstr("the same parameters"));
  EXPECT_THAT(with(std::move(lengths.programs(Precision::float32)[0])), HasSubstr("one precision"));
}

TEST(ThePasses, PrintWhatTheDocumentationShows) {
  std::vector<Value> x(2), w(4), b(2);
  Value y;
  Value first = b[0], second = w[2] * x[0];  // two ways to write a neuron
  first += w[0] * x[0];
  first += w[1] * x[1];
  second += w[3] * x[1];
  second += b[1];
  Value h0 = relu(first), h1 = relu(second);
  Value loss = pow(h0 + h1 - y, 2);
  const std::vector<PassText> passes =
      compile_passes({&loss, 1}, {.inputs = {x[0], x[1], y}, .parameters = {w[0], w[1], b[0], w[2], w[3], b[1]}});
  std::ifstream file(GRADWALK_SOURCE "/docs/compile.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  for (const PassText& pass : passes)
    EXPECT_NE(page.find("```" + pass.pass + "\n" + pass.text + "```\n"), std::string::npos) << pass.pass << " gives\n"
                                                                                            << pass.text;
}

std::vector<std::string> all_sets() {
  std::vector<std::string> names = instruction_sets();
  names[0].clear();  // the empty name, which users have by default, selects the best
  return names;
}
std::string set_name(const testing::TestParamInfo<std::string>& set) { return set.param.empty() ? "best" : set.param; }
INSTANTIATE_TEST_SUITE_P(InstructionSets, Batches, testing::ValuesIn(all_sets()), set_name);

}  // namespace gradwalk::compile_test
