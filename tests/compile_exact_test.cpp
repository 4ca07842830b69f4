// SPDX-License-Identifier: MIT
// Programs that compile() used to get wrong without a word: factors applied in another order than the written one,
// numbers that left the graph, two threads in one program, and graphs that took a quadratic time to compile.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <thread>

#include "gradwalk/compile.hpp"
#include "support.hpp"

namespace gradwalk::compile_exact_test {

using testing::HasSubstr;
using tests::error_of;

// The function of one or two inputs, compiled, on each of these numbers of rows: all rows are the same.
double compiled(const std::function<Value(const Value&, const Value&)>& function, double x, double y,
                std::size_t rows = 1, Precision precision = Precision::float64) {
  Value first, second;
  Program program = compile(function(first, second), {.inputs = {first, second}, .precision = precision});
  std::vector<double> numbers, outputs(rows);
  for (std::size_t i = 0; i < rows; ++i) numbers.insert(numbers.end(), {x, y});
  program.evaluate(numbers, outputs);
  for (const double output : outputs) EXPECT_EQ(output, outputs[0]);
  return outputs[0];
}

TEST(AFactor, OfADifferenceKeepsItsSmallDigits) {
  const double x = 1 + 1e-12, wanted = (x - 1) * 3e5;
  for (const std::size_t rows : {1u, 16u, 100u}) {
    EXPECT_EQ(compiled([](const Value& v, const Value&) { return (v - 1) * 3e5; }, x, 0, rows), wanted);
    EXPECT_EQ(compiled([](const Value& v, const Value& w) { return w + 3e5 * (v - 1); }, x, 0, rows), wanted);
    EXPECT_EQ(compiled([](const Value& v, const Value&) { return (v - 1) / 3e-5; }, x, 0, rows), (x - 1) * (1 / 3e-5));
  }
}

TEST(AFactor, OfAProductOverflowsOnlyWhereTheWrittenOrderDoes) {
  for (const std::size_t rows : {1u, 16u}) {
    EXPECT_EQ(compiled([](const Value& x, const Value& y) { return 1e150 * (x * y); }, 1e200, 1e-200, rows),
              1e150 * (1e200 * 1e-200));
    EXPECT_EQ(compiled([](const Value& x, const Value& y) { return 1e-150 * (x * y); }, 1e-200, 1e200, rows),
              1e-150 * (1e-200 * 1e200));
    EXPECT_EQ(compiled([](const Value& x, const Value& y) { return x * (1e-200 * y); }, 1e200, 1e-200, rows), 0);
    EXPECT_EQ(compiled([](const Value& x, const Value&) { return 1e200 * (1e200 * x); }, 1e-300, 0, rows),
              1e200 * (1e200 * 1e-300));
  }
}

TEST(AFactor, IsNotMergedWithAnotherBeyondTheRangeOfFloat32) {
  const auto twice = [](const Value& x, const Value&) { return 1e30 * (1e20 * x); };
  for (const std::size_t rows : {1u, 16u}) EXPECT_NEAR(compiled(twice, 1e-35, 0, rows, Precision::float32), 1e15, 1e9);
}

// A factor of 0 stops the gradient where it stands in the written order, as it does in the engine.
TEST(AFactor, OfZeroBesideNaNPassesOnWhatTheEngineDoes) {
  using Term = std::function<Value(const Value& w, const Value& x)>;
  const std::vector<std::pair<Term, bool>> terms{
      {[](const Value& w, const Value& x) { return 0 * (w * x); }, false},
      {[](const Value& w, const Value& x) { return (0 * w) * x; }, true},
      {[](const Value& w, const Value& x) { return w * (0 * x); }, true},
  };
  for (const auto& [term, is_nan] : terms)
    for (const std::size_t rows : {1u, 40u}) {
      std::vector<Value> x(4), w(4, 1.0);
      for (Value& weight : w) weight = Value(1.5);
      Value sum = term(w[1], x[1]);
      for (const std::size_t i : {0u, 2u, 3u}) sum += w[i] * x[i];
      Program program = compile(sum, {.inputs = x, .parameters = w});
      std::vector<double> numbers, gradient(4);
      for (std::size_t r = 0; r < rows; ++r)
        numbers.insert(numbers.end(), {1, std::numeric_limits<double>::quiet_NaN(), 2, 3});
      program.gradients(numbers, gradient);
      EXPECT_EQ(std::isnan(gradient[1]), is_nan) << rows << " rows";
      if (!is_nan) {
        EXPECT_EQ(gradient[1], 0) << rows << " rows";
      }
      EXPECT_EQ(gradient[0], static_cast<double>(rows));

      Value weight{1.5}, input{std::numeric_limits<double>::quiet_NaN()};
      term(weight, input).backward();
      EXPECT_EQ(std::isnan(weight.grad()), is_nan) << "the engine";
    }
}

TEST(ANumberThatLeavesTheGraph, OfAFunctionIsRefusedByName) {
  Value w{2.0};
  const auto message = [&](const RowFunction& function) {
    return error_of([&] { compile(function, {{0.5, 1}, {0.25, 2}}, {.parameters = {w}}); });
  };
  const char* const cast =
      "compile: needs a function whose numbers stay in the graph, got the leaf with data 0.5, which was detached, cast "
      "to a number or computed under NoGrad; write stop(x) in place of x.detach(), and select(condition, a, b) in "
      "place "
      "of a branch or an index";
  EXPECT_EQ(message([&](const auto& in) { return static_cast<double>(in[0]) < 1 ? w * in[0] : w * in[1]; }), cast);
  EXPECT_EQ(message([&](const auto& in) { return in[static_cast<std::size_t>(in[0])] * w; }), cast);
  EXPECT_THAT(message([&](const auto& in) {
                Value square = in[0] * in[0];
                square.label("square");
                return static_cast<double>(square) < 9 ? w * in[0] : w;
              }),
              HasSubstr("the result of * \"square\" with data 0.25"));
  EXPECT_THAT(message([&](const auto& in) { return static_cast<int>(w) == 2 ? in[0] : in[1]; }),
              HasSubstr("the leaf with data 2"));
  // A number that depends on no input and no parameter is the same on every row.
  const Value two{2.0};
  EXPECT_EQ(message([&](const auto& in) { return static_cast<double>(two + 1) * in[0] * w; }), "no error");
  EXPECT_EQ(message([&](const auto& in) { return stop(in[0]) * w; }), "no error");
}

TEST(AnOutput, ThatWasComputedUnderNoGradIsRefused) {
  const Value x{3.0}, w{2.0};
  Value loss = [&] {
    const NoGrad guard;
    return w * x;
  }();
  const auto message = [&] { return error_of([&] { compile(loss, {.inputs = {x}, .parameters = {w}}); }); };
  const char* const advice = ", which was computed under NoGrad; compute it where no NoGrad guard lives";
  EXPECT_EQ(message(),
            std::string("compile: needs outputs that were recorded, got a node with data 6.000000") + advice);
  loss.label("loss");
  EXPECT_EQ(message(), std::string("compile: needs outputs that were recorded, got \"loss\"") + advice);
  // A number that was computed so may be a constant of the graph.
  Program program = compile(w * loss, {.parameters = {w}});
  EXPECT_EQ(program.run(), 12);
}

TEST(AProgram, RefusesASecondThreadWhileOneIsRunning) {
  Value w{1.0}, x;
  const Program program = compile(pow(w * x - 1, 2), {.inputs = {x}, .parameters = {w}});
  Trainer trainer(program, SGD{.lr = 0.1});
  const std::vector<double> rows{1, 2, 3};
  std::string other_thread, same_thread;
  trainer.before_update([&](std::span<double>) {
    std::thread([&] { other_thread = error_of([&] { trainer.step(rows); }); }).join();
    same_thread = error_of([&] { trainer.write_back(); });
  });
  trainer.step(rows);
  EXPECT_EQ(other_thread,
            "Trainer::step: needs one thread at a time, got a call while another thread's is running; compile one "
            "program per thread, or take turns");
  EXPECT_EQ(same_thread, "no error");
  trainer.before_update({});
  EXPECT_EQ(error_of([&] { trainer.step(rows); }), "no error");
}

TEST(Leaves, GivenTwiceAreRefusedAlsoWhereNothingDependsOnThem) {
  Value w{1.0}, x, unused;
  unused.label("u");
  const auto message = [&](const CompileOptions& options) { return error_of([&] { compile(w * x, options); }); };
  const char* const twice =
      "compile: needs each leaf once, as an input or as a parameter, got \"u\" twice; give it once";
  EXPECT_EQ(message({.inputs = {x, unused, unused}, .parameters = {w}}), twice);
  EXPECT_EQ(message({.inputs = {x, unused}, .parameters = {w, unused}}), twice);
  EXPECT_EQ(message({.inputs = {x}, .parameters = {w, unused}}), "no error");
}

// The shares of both maxima were computed together, and the gradient of the second was read where its value is.
TEST(TwoMaxima, ReceiveTheirGradientsFromRowsAndFromUniformNodes) {
  std::vector<Value> p;
  for (int i = 0; i < 20; ++i) p.emplace_back(std::sin(7.0 * i));
  Value first = p[0], second = p[10], x;
  for (std::size_t i = 1; i < 10; ++i) first = max(first, p[i]), second = max(second, p[10 + i]);
  Program program = compile(tanh(first) * x + second * x, {.inputs = {x}, .parameters = p});
  std::vector<double> gradient(20);
  program.gradients(std::vector{1.0, 2.0}, gradient);
  (3 * (tanh(first) + second)).backward();
  for (std::size_t i = 0; i < 20; ++i) EXPECT_NEAR(gradient[i], p[i].grad(), 1e-15) << i;
}

// Each of these took a time that grows with the square of its length: an hour at this one.
TEST(LongChains, CompileInLinearTime) {
  const std::size_t links = tests::sized(400'000, 20'000);
  for (const double factor : {0.9999, -1.0}) {
    Value w{1.0};
    Value link = w, total = 0.0;
    for (std::size_t i = 0; i < links; ++i) {
      link = factor == -1 ? -link : factor * link;
      total += exp(link);
    }
    Program program = compile(total, {.parameters = {w}});
    std::vector<double> gradient(1);
    const double value = program.gradients(gradient);
    total.backward();
    EXPECT_NEAR(value / total.data(), 1, 1e-9) << factor;
    EXPECT_NEAR(gradient[0] / w.grad(), 1, 1e-9) << factor;
  }
}

TEST(AMaximum, OfManyConstantsCompilesInLinearTime) {
  const std::size_t operands = tests::sized(300'000, 20'000);
  Value w{2.0};
  Value largest = w;
  for (std::size_t i = 1; i < operands; ++i) largest = max(largest, 1.0 / static_cast<double>(i));
  Program program = compile(largest * w, {.parameters = {w}});
  std::vector<double> gradient(1);
  EXPECT_EQ(program.gradients(gradient), 4);
  EXPECT_EQ(gradient[0], 4);
}

}  // namespace gradwalk::compile_exact_test
