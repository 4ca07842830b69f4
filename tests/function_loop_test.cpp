// SPDX-License-Identifier: MIT
// loop(): records like a while statement, and runs round by round in a Function.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "gradwalk/function.hpp"
#include "gradwalk/gradwalk.hpp"
#include "support.hpp"

namespace gradwalk::function_loop_test {

using Values = std::vector<Value>;

// Compares a Function with the engine, row by row: outputs, the weighted sum, and the gradients of parameters and
// inputs. Three calls: the first compiles, the second is warm, the third has other numbers.
void compare_with_engine(const RowOutputs& function, Values parameters, std::size_t inputs, FunctionOptions options,
                         std::size_t rows = 300) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> between(-2, 2);
  options.inputs = inputs;
  options.parameters = parameters;
  Function compiled(function, options);
  std::vector<double> numbers(rows * inputs), weights(rows);
  for (double& weight : weights) weight = between(random);
  for (int call = 0; call < 3; ++call) {
    if (call != 1)
      for (double& number : numbers) number = between(random);
    std::vector<double> outputs, input_gradients, gradient(parameters.size());
    double sum = 0;
    for (Value& parameter : parameters) parameter.grad() = 0;
    for (std::size_t row = 0; row < rows; ++row) {
      const auto at = numbers.begin() + static_cast<std::ptrdiff_t>(row * inputs);
      const Values x(at, at + static_cast<std::ptrdiff_t>(inputs)), y = function(x);
      (y[0] * 1.0).backward(weights[row]);
      sum += weights[row] * y[0].data();
      for (const Value& output : y) outputs.push_back(output.data());
      for (const Value& input : x) input_gradients.push_back(input.grad());
    }
    for (std::size_t i = 0; i < gradient.size(); ++i) gradient[i] = std::exchange(parameters[i].grad(), 0.0);
    std::vector<double> got(outputs.size()), got_inputs(numbers.size()), got_gradient(gradient.size());
    EXPECT_NEAR(
        compiled.gradients(numbers, got_gradient, {.weights = weights, .input_gradients = got_inputs, .outputs = got}),
        sum, 1e-9 * (1 + std::abs(sum)));
    for (std::size_t i = 0; i < got.size(); ++i)
      ASSERT_NEAR(got[i], outputs[i], 1e-9 * (1 + std::abs(outputs[i]))) << i;
    for (std::size_t i = 0; i < got_inputs.size(); ++i)
      ASSERT_NEAR(got_inputs[i], input_gradients[i], 1e-8 * (1 + std::abs(input_gradients[i]))) << i;
    for (std::size_t i = 0; i < gradient.size(); ++i)
      EXPECT_NEAR(got_gradient[i], gradient[i], 1e-8 * (1 + std::abs(gradient[i]))) << i;
    std::vector<double> evaluated(got.size());
    compiled.evaluate(numbers, evaluated);
    for (std::size_t i = 0; i < got.size(); ++i)
      ASSERT_NEAR(evaluated[i], outputs[i], 1e-9 * (1 + std::abs(outputs[i])));
  }
}

// Halves x, with a step that branches, until it is small; counts the rounds.
Values shrink(const Values& x, const Values& p) {
  const Value scale = 1 + x[1] * x[1];
  const Values last = loop(
      Values{x[0], Value(0.0)}, [&](const Values& s) { return abs(s[0]) > 0.1 * p[0]; },
      [&](const Values& s) {
        if (s[0] > 1) return Values{s[0] - 0.4 * scale, s[1] + p[1]};
        return Values{0.6 * s[0] + 0.01 * tanh(scale), s[1] + 1};
      });
  return {last[0] * last[1] + x[0] * p[1], last[1]};
}

TEST(ALoop, RecordsLikeAWhileStatement) {
  Value x{5.0};
  const Values last = loop(
      Values{x, Value(0.0)}, [](const Values& s) { return s[0] > 1; },
      [](const Values& s) { return Values{s[0] * 0.5, s[1] + 1}; });
  EXPECT_EQ(last[0].data(), 0.625);
  EXPECT_EQ(last[1].data(), 3);
  last[0].backward();
  EXPECT_EQ(x.grad(), 0.125);
}

TEST(ALoop, InAFunctionHasTheNumbersOfTheEngine) {
  const Values p{Value(1.5), Value(0.7)};
  compare_with_engine([&](const Values& x) { return shrink(x, p); }, p, 2, {.compile_after = 3});
}

// A body without branches is compiled as several rounds at a time after the first call.
TEST(ALoop, MayKeepOnlySomeStates) {
  for (const bool checkpoints : {false, true}) {
    const Values p{Value(1.5), Value(0.7)};
    compare_with_engine(
        [&](const Values& x) {
          const Values last = loop(
              Values{x[0], Value(0.0), x[1]}, [&](const Values& s) { return s[1] < 20 + 15 * x[1]; },
              [&](const Values& s) {
                return Values{s[0] * 0.9 + 0.1 * sin(p[0] * s[2]), s[1] + 1, s[2] * p[1] + 0.2};
              });
          return Values{last[0] * last[2]};
        },
        p, 2, {.compile_after = 3, .checkpoints = checkpoints}, 600);
  }
}

TEST(ALoop, MayHaveABodyThatThrowsOnAStateAfterItsEnd) {
  const Values p{Value(0.9)};
  compare_with_engine(
      [&](const Values& x) {
        const Values last = loop(
            Values{10 + x[0], Value(0.0)}, [&](const Values& s) { return s[0] > 0.5; },
            [&](const Values& s) {
              if (std::as_const(s[0]).data() <= 0.5) throw std::domain_error("after the end");
              return Values{s[0] * p[0], s[1] + s[0]};
            });
        return Values{last[1]};
      },
      p, 1, {.compile_after = 3}, 600);
}

TEST(ALoop, MayFollowAnotherOneAndHaveABoolAsItsCondition) {
  const Values p{Value(1.5), Value(0.7)};
  compare_with_engine(
      [&](const Values& x) {
        const Values first = shrink(x, p);
        const Values second = loop(
            Values{first[0] + x[0]}, [&](const Values& s) { return s[0] < 3 && s[0] > -3; },
            [&](const Values& s) { return Values{1.3 * s[0] + 0.2 * p[1] + 0.1 * first[1]}; });
        return Values{second[0] * first[0]};
      },
      p, 2, {.compile_after = 3});
}

TEST(ALoop, MayBeReachedBySomeRowsOnlyAndContainALoop) {
  const Values p{Value(1.5), Value(0.7)};
  compare_with_engine(
      [&](const Values& x) {
        if (x[0] < 0) return Values{x[0] * p[0]};
        const Values outer = loop(
            Values{x[0], x[1]}, [&](const Values& s) { return s[0] < 2.5; },
            [&](const Values& s) {
              const Values inner = loop(
                  Values{s[1]}, [&](const Values& t) { return t[0] > 1; },
                  [&](const Values& t) { return Values{t[0] * 0.5}; });
              return Values{s[0] + 0.3 + 0.1 * inner[0] * inner[0], inner[0] + 0.9 * p[1]};
            });
        return Values{outer[0] + outer[1]};
      },
      p, 2, {.compile_after = 3});
}

TEST(ALoop, WithAStateOfAnotherSizeOnSomeRowsIsAPlainLoop) {
  const Values p{Value(1.5), Value(0.7)};
  const auto grow = [&](Values state) {
    return loop(
        std::move(state), [](const Values& s) { return s[0] < 3; },
        [&](const Values& s) {
          Values next = s;
          next[0] = s[0] * 1.1 + p[1];
          return next;
        })[0];
  };
  compare_with_engine([&](const Values& x) { return Values{x[0] < 0 ? grow({x[0]}) : grow({x[0], x[1]}) * p[0]}; }, p,
                      2, {.compile_after = 3});
}

TEST(ALoop, WhoseBodyTakesAnotherPathInEachRoundIsAPlainLoop) {
  const Values p{Value(3.7)};
  compare_with_engine(
      [&](const Values& x) {
        const Values last = loop(
            Values{0.5 + 0.2 * x[0], Value(0.0), Value(0.0)}, [](const Values& s) { return s[2] < 3; },
            [&](const Values& s) {
              Value y = s[0], sum = s[1];
              for (int i = 0; i < 9; ++i) {
                y = p[0] * y * (1 - y);
                if (y > 0.6) sum += 0.01 * y;
              }
              return Values{y, sum, s[2] + 1};
            });
        return Values{last[1]};
      },
      p, 1, {}, 500);
}

TEST(ALoop, WithFewBranchesInItsBodyIsCompiledAsOneGraph) {
  const Values p{Value(1.5), Value(0.7)};
  const auto function = [&](const Values& x) { return shrink(x, p); };
  compare_with_engine(function, p, 2, {.compile_after = 2});
  compare_with_engine(function, p, 2, {.compile_after = 2, .checkpoints = true});
  Function compiled(function, {.inputs = 2, .parameters = p, .compile_after = 2});
  std::vector<double> rows, outputs(2 * 3000);
  for (int i = 0; i < 3000; ++i) rows.insert(rows.end(), {0.003 * i - 2, 0.001 * i});
  compiled.evaluate(rows, outputs);
  compiled.evaluate(rows, outputs);
  ASSERT_EQ(compiled.describe().loops.size(), 1u);
  EXPECT_EQ(compiled.describe().loops[0].paths, 1u);
  EXPECT_EQ(compiled.describe().loops[0].programs, 2u) << "a start and a body";
}

// In one graph, both branches are computed for all rows, so one of them is NaN here.
TEST(ALoop, WhoseBranchesGuardAgainstNanHasTheNumbersOfTheEngine) {
  const Values p{Value(0.7), Value(1.1)};
  compare_with_engine(
      [&](const Values& x) {
        const Values last = loop(
            Values{x[0], Value(0.0), Value(0.0)}, [&](const Values& s) { return s[2] < 8 + 4 * x[1]; },
            [&](const Values& s) {
              if (s[0] > 0.1) return Values{s[0] - p[1], s[1] + p[0] * log(s[0]), s[2] + 1};
              return Values{s[0] + 1.3 * p[0], s[1] + p[1] * sqrt(0.2 - s[0]), s[2] + 1};
            });
        return Values{last[1], last[0]};
      },
      p, 2, {.compile_after = 2});
}

// The rows that a merged graph is made from may be those of an earlier call. With other parameters, the function throws
// on them.
TEST(ALoop, IgnoresErrorsOnRowsThatItDoesNotRunAnyMore) {
  Value limit{100.0};
  Function function(
      [&](const Values& x) {
        return loop(
            Values{x[0], Value(0.0)}, [](const Values& s) { return s[1] < 6; },
            [&](const Values& s) {
              if (std::as_const(s[0]).data() > std::as_const(limit).data()) throw std::runtime_error("too large");
              return Values{s[0] > 0 ? s[0] * 0.5 : s[0] - 1, s[1] + 1};
            })[0];
      },
      {.inputs = 1, .compile_after = 2});
  const std::vector<double> few{50.0, -1.0, 40.0, -2.0};
  std::vector<double> outputs(few.size()), rows(400, 2.0);
  function.evaluate(few, outputs);
  limit.data() = 10;
  for (std::size_t i = 0; i < rows.size(); i += 2) rows[i] = -3;
  outputs.resize(rows.size());
  function.evaluate(rows, outputs);
  EXPECT_EQ(outputs[0], -9);
  EXPECT_EQ(outputs[1], 2.0 / 64);
}

TEST(ALoop, SharesTheLimitsOfItsFunctionWithTheOtherParts) {
  const Values p{Value(1.5), Value(0.7)};
  const auto twice = [&](const Values& x) {
    const Values first = shrink(x, p), second = shrink({first[0] + x[1], x[0]}, p);
    return Values{x[0] > 0.3 ? second[0] : second[0] * x[1]};
  };
  compare_with_engine(twice, p, 2, {.compile_after = 2, .max_programs = 4});
  Function function(twice, {.inputs = 2, .parameters = p, .compile_after = 2, .max_programs = 4});
  std::vector<double> rows, outputs(60);
  for (int i = 0; i < 60; ++i) rows.insert(rows.end(), {0.07 * i - 1, 0.14 * i - 3});
  for (int call = 0; call < 3; ++call) function.evaluate(rows, outputs);
  const Function::Description found = function.describe();
  std::size_t programs = found.programs;
  for (const Function::Loop& one : found.loops) programs += one.programs;
  EXPECT_EQ(found.loops.size(), 2u);
  EXPECT_EQ(programs, 4u);
}

TEST(ALoop, IsDescribed) {
  const Values p{Value(1.5), Value(0.7)};
  Function function([&](const Values& x) { return shrink(x, p)[0]; },
                    {.inputs = 2, .parameters = p, .compile_after = 3});
  std::vector<double> rows;
  for (int i = 0; i < 20; ++i) rows.insert(rows.end(), {0.1 * i, 0.05 * i});
  function.run(rows);
  const Function::Description description = function.describe();
  EXPECT_EQ(description.paths, 1u);
  ASSERT_EQ(description.loops.size(), 1u);
  EXPECT_EQ(description.loops[0].state, 2u);
  EXPECT_EQ(description.loops[0].paths, 2u);
  EXPECT_EQ(description.loops[0].programs, 3u) << "a start and two bodies";
  EXPECT_GT(description.loops[0].rounds, 20u);
  EXPECT_GT(description.loops[0].bytes, 0u);
  std::ostringstream text;
  text << description;
  EXPECT_NE(text.str().find("\nloop with a state of 2, "), std::string::npos) << text.str();
}

TEST(ALoop, ChecksItsState) {
  const auto goes_on = [](const Values& s) { return s.empty() || s[0] < 2; };
  EXPECT_EQ(tests::error_of([&] { loop(Values{}, goes_on, [](const Values& s) { return s; }); }),
            "loop: needs a state, got no Values; give the Values that the body changes");
  EXPECT_EQ(tests::error_of([&] { loop(Values{Value(1.0)}, goes_on, [](const Values&) { return Values{}; }); }),
            "loop: needs a body that returns a state of 1 Value, got 0; return the new state, with as many Values as "
            "the old one");
}

// Rows that have left the loop must not look up further values, as unrolled rounds would.
TEST(ALoop, LooksUpValuesToTheLastOne) {
  Values table;
  for (int i = 0; i < 50; ++i) table.emplace_back(0.01 * i);
  const auto sum = [&](const Values& x) {
    return loop(
        Values{Value(0.0), Value(0.0)}, [&](const Values& s) { return s[0] < x[0]; },
        [&](const Values& s) { return Values{s[0] + 1, 0.5 * s[1] + pick(table, s[0])}; })[1];
  };
  Function function(sum, {.inputs = 1, .parameters = table});
  std::vector<double> rows, gradients(50);
  double expected = 0;
  for (int i = 0; i < 600; ++i) {
    rows.push_back(1 + i % 50);
    expected += sum({Value(rows.back())}).data();
  }
  for (int call = 0; call < 4; ++call) EXPECT_NEAR(function.gradients(rows, gradients), expected, 1e-9);
}

TEST(ALoop, PassesErrorsOfItsBodyOn) {
  Value a{1.0};
  Function function(
      [&](const Values& x) {
        return loop(
            Values{x[0]}, [](const Values& s) { return s[0] < 5; },
            [&](const Values& s) {
              if (s[0] > 4.5) throw std::runtime_error("too near");
              return Values{s[0] + a};
            })[0];
      },
      {.inputs = 1, .parameters = {a}});
  EXPECT_DOUBLE_EQ(function.run(std::vector{1.0, 2.25}), 10.25);
  a.grad() = 2;
  EXPECT_THROW(function.run(std::vector{1.0, 1.75}), std::runtime_error);
  EXPECT_EQ(a.grad(), 2);
}

}  // namespace gradwalk::function_loop_test
