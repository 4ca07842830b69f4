// SPDX-License-Identifier: MIT
// Function: the calls, what it compiles and what it leaves, its summary and its errors.
#include "gradwalk/function.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <random>
#include <sstream>
#include <thread>

#include "gradwalk/gradwalk.hpp"
#include "support.hpp"

namespace gradwalk {
namespace {

using Inputs = std::vector<Value>;

std::vector<double> grid(std::size_t count, double low, double high) {
  std::vector<double> numbers;
  for (std::size_t i = 0; i < count; ++i)
    numbers.push_back(low + (high - low) * (static_cast<double>(i) + 0.5) / static_cast<double>(count));
  return numbers;
}

// a * x below 0.5, and exp(-x) above.
struct TwoSides {
  Value a{2.0};
  Function function{[this](const Inputs& x) { return x[0] < 0.5 ? a * x[0] : exp(-x[0]); },
                    {.inputs = 1, .parameters = {a}, .compile_after = 3}};
};

TEST(AFunction, SumsItsRowsAndAddsGradientsToTheParameters) {
  TwoSides two;
  const std::vector<double> rows = grid(100, 0, 1);
  double sum = 0, gradient = 0;
  for (const double x : rows) sum += x < 0.5 ? 2 * x : std::exp(-x), gradient += x < 0.5 ? x : 0;
  two.a.grad() = 1;
  for (int call = 1; call <= 3; ++call) {
    EXPECT_NEAR(two.function.run(rows), sum, 1e-12);
    EXPECT_NEAR(two.a.grad(), 1 + call * gradient, 1e-12);
  }
  const Function::Description description = two.function.describe();
  EXPECT_EQ(description.paths, 2u);
  EXPECT_EQ(description.programs, 2u);
  EXPECT_EQ(description.compiled_rows, 294u);
  EXPECT_EQ(description.eager_rows, 6u);
  EXPECT_GT(description.bytes, 0u);
}

TEST(AFunction, WritesGradientsToABufferAndLeavesTheParametersAlone) {
  TwoSides two;
  two.a.grad() = 7;
  std::vector<double> gradient{5};
  for (int call = 0; call < 2; ++call) {
    EXPECT_DOUBLE_EQ(two.function.gradients(std::vector{0.25, 0.125, 0.25, 0.125, 1.0}, gradient),
                     1.5 + std::exp(-1.0));
    EXPECT_DOUBLE_EQ(gradient[0], 0.75);
  }
  EXPECT_EQ(two.a.grad(), 7);
}

TEST(AFunction, WeighsRowsTakesMeansAndReturnsInputGradientsAndOutputs) {
  TwoSides two;
  const std::vector<double> rows{0.25, 1.0, 0.125, 2.0, 0.25, 3.0, 0.375, 1.0}, weights{1, 2, 0, 1, 1, 1, 1, 1};
  std::vector<double> gradient(1), outputs(8), by_input(8);
  for (int call = 0; call < 2; ++call) {
    double sum = 0;
    for (std::size_t i = 0; i < 8; ++i) sum += weights[i] * (rows[i] < 0.5 ? 2 * rows[i] : std::exp(-rows[i]));
    const double mean = two.function.gradients(
        rows, gradient,
        {.result = RunOptions::Result::mean, .weights = weights, .input_gradients = by_input, .outputs = outputs});
    EXPECT_NEAR(mean, sum / 8, 1e-15);
    EXPECT_NEAR(gradient[0], (0.25 + 0.25 + 0.375) / 8, 1e-15);
    for (std::size_t i = 0; i < 8; ++i) {
      EXPECT_NEAR(outputs[i], rows[i] < 0.5 ? 2 * rows[i] : std::exp(-rows[i]), 1e-15);
      EXPECT_NEAR(by_input[i], weights[i] * (rows[i] < 0.5 ? 2 : -std::exp(-rows[i])) / 8, 1e-15);
    }
  }
}

TEST(AFunction, EvaluatesSeveralOutputs) {
  Function function(
      [](const Inputs& x) {
        Inputs sorted = x;
        std::sort(sorted.begin(), sorted.end());
        return sorted;
      },
      {.inputs = 3, .compile_after = 2});
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> between(-1, 1);
  std::vector<double> rows(300), outputs(300);
  for (double& number : rows) number = between(random);
  for (int call = 0; call < 2; ++call) {
    function.evaluate(rows, outputs);
    for (std::size_t i = 0; i < 300; i += 3) {
      std::vector<double> want(&rows[i], &rows[i] + 3);
      std::sort(want.begin(), want.end());
      EXPECT_EQ(std::vector<double>(&outputs[i], &outputs[i] + 3), want);
    }
  }
  EXPECT_EQ(function.describe().paths, 6u);
  EXPECT_EQ(function.describe().programs, 6u);
}

TEST(AFunction, WithoutBranchesIsOneProgram) {
  Value a{3.0};
  Function function([&](const Inputs& x) { return a * x[0] * x[1]; }, {.inputs = 2, .parameters = {a}});
  const std::vector<double> rows(200, 0.5);
  EXPECT_DOUBLE_EQ(function.run(rows), 75);
  EXPECT_DOUBLE_EQ(a.grad(), 25);
  EXPECT_EQ(function.describe().compiled_rows, 76u);
}

TEST(AFunction, RunsAWhileLoopAsOftenAsEachRowNeeds) {
  Value rate{0.5};
  Function function(
      [&](const Inputs& x) {
        Value y = x[0], steps = 0.0;
        while (y > 1) y = y * rate, steps += 1;
        return y + steps;
      },
      {.inputs = 1, .parameters = {rate}, .compile_after = 2});
  const std::vector<double> rows = grid(400, 0, 40);
  std::vector<double> gradient(1);
  double sum = 0, by_rate = 0;
  for (const double x : rows) {
    double y = x;
    int steps = 0;
    while (y > 1) y *= 0.5, ++steps;
    sum += y + steps;
    by_rate += steps * y / 0.5;
  }
  for (int call = 0; call < 2; ++call) {
    EXPECT_NEAR(function.gradients(rows, gradient), sum, 1e-9);
    EXPECT_NEAR(gradient[0], by_rate, 1e-9);
  }
  EXPECT_EQ(function.describe().paths, 7u);
}

TEST(AFunction, ReadsParametersAtEachCallAndFollowsTheirBranches) {
  Value limit{0.5};
  Function function([&](const Inputs& x) { return x[0] < limit ? x[0] + limit : x[0] * limit; },
                    {.inputs = 1, .parameters = {limit}, .compile_after = 2});
  const std::vector<double> rows = grid(50, 0, 1);
  for (const double at : {0.5, 0.25, 0.75, 2.0, -1.0}) {
    limit.data() = at;
    double want = 0;
    for (const double x : rows) want += x < at ? x + at : x * at;
    EXPECT_NEAR(function.run(rows), want, 1e-12) << at;
  }
}

TEST(AFunction, GivesTheParameterItselfItsGradient) {
  Value a{0.75};
  Function function([&](const Inputs& x) { return x[0] < a ? a : x[0]; }, {.inputs = 1, .parameters = {a}});
  std::vector<double> gradient(1);
  EXPECT_DOUBLE_EQ(function.gradients(std::vector{0.5, 0.25, 1.0}, gradient), 2.5);
  EXPECT_DOUBLE_EQ(gradient[0], 2);
}

TEST(AFunction, KeepsToItsLimitOfPrograms) {
  Function function(
      [](const Inputs& x) {
        Value y = x[0];
        while (y > 1) y = y - 1;
        return y;
      },
      {.inputs = 1, .compile_after = 1, .max_programs = 2});
  const std::vector<double> rows = grid(200, 0, 10);
  std::vector<double> outputs(200);
  for (int call = 0; call < 3; ++call) function.evaluate(rows, outputs);
  for (std::size_t i = 0; i < 200; ++i) EXPECT_NEAR(outputs[i], rows[i] - std::floor(rows[i]), 1e-12);
  EXPECT_EQ(function.describe().programs, 2u);
  EXPECT_EQ(function.describe().paths, 2u) << "no more are looked for";
}

// Every combination of signs is a path of its own, which three rows take in each call; as many rows take one path.
TEST(AFunction, CompilesEachOf16384PathsAtMostOnceAndKeepsToItsLimits) {
  constexpr std::size_t inputs = 14, paths = 1 << inputs, times = 3;
  Value a{1.5};
  std::size_t calls = 0;
  Function function(
      [&](const Inputs& x) {
        ++calls;
        Value sum = 0.0;
        for (const Value& number : x) sum = sum + (number > 0 ? a * number : number * number);
        return sum;
      },
      {.inputs = inputs, .parameters = {a}, .compile_after = times + 1});
  std::vector<double> rows;
  double sum = 0, derivative = 0;
  const auto add_row = [&](std::size_t signs, std::size_t time) {
    for (std::size_t i = 0; i < inputs; ++i) {
      const double number = static_cast<double>(i + time + 1) / 8;
      rows.push_back((signs >> i & 1) != 0 ? number : -number);
      sum += (signs >> i & 1) != 0 ? 1.5 * number : number * number;
      derivative += (signs >> i & 1) != 0 ? number : 0;
    }
  };
  for (std::size_t path = 0; path < paths; ++path)
    for (std::size_t time = 0; time < times; ++time) add_row(path, time), add_row(0, time);
  std::vector<double> gradient(1);
  for (int call = 0; call < 2; ++call) {
    EXPECT_NEAR(function.gradients(rows, gradient), sum, 1e-10 * sum);
    EXPECT_NEAR(gradient[0], derivative, 1e-10 * derivative);
  }
  const std::size_t calls_of_rows = calls;
  const Function::Description found = function.describe(paths);
  EXPECT_EQ(found.paths, paths);
  EXPECT_GT(found.programs, 100u);
  EXPECT_LE(found.programs, 256u);
  EXPECT_LE(found.bytes, std::size_t{256} << 20);
  const auto compiled = std::count_if(found.most_used.begin(), found.most_used.end(),
                                      [](const Function::Path& path) { return path.is_compiled; });
  EXPECT_EQ(static_cast<std::size_t>(compiled), found.programs);
  // A program takes two calls. So do checks of the first row, of each thousandth one, and later of each 8,000th.
  ASSERT_GT(found.eager_rows, 8000u);
  const std::size_t checks = 1 + 4 + found.eager_rows / 8000;
  EXPECT_EQ(calls_of_rows, found.eager_rows + 2 * (found.programs + checks));
}

TEST(AFunction, CompilesNoMorePathsOnceItsProgramsHaveAsManyBytesAsAllowed) {
  constexpr std::size_t max_bytes = 60'000;
  Function function(
      [](const Inputs& x) {
        Value y = x[0];
        while (y > 1) y = y - 1;
        return exp(y);
      },
      {.inputs = 1, .compile_after = 2, .max_bytes = max_bytes});
  const std::vector<double> rows = grid(2000, 0, 40);
  std::vector<double> outputs(rows.size());
  for (int call = 0; call < 4; ++call) function.evaluate(rows, outputs);
  for (std::size_t i = 0; i < rows.size(); ++i)
    EXPECT_NEAR(outputs[i], std::exp(rows[i] - std::max(std::ceil(rows[i]) - 1, 0.0)), 1e-9);
  const Function::Description found = function.describe();
  EXPECT_GT(found.programs, 1u);
  EXPECT_GE(found.bytes, max_bytes);
  EXPECT_LT(found.bytes, 2 * max_bytes);
}

TEST(AFunction, StopsLookingForPathsIfEveryRowHasItsOwn) {
  Function function(
      [](const Inputs& x) {
        Value y = x[0], sum = 0.0;
        for (int i = 0; i < 20; ++i) {
          y = 4 * y * (1 - y);
          if (y > 0.5) sum += y;
        }
        return sum;
      },
      {.inputs = 1});
  const std::vector<double> rows = grid(3000, 0, 1);
  std::vector<double> outputs(3000);
  function.evaluate(rows, outputs);
  EXPECT_LT(function.describe().paths, 1000u);
  EXPECT_EQ(function.describe().programs, 0u);
}

// The sum is rounded otherwise in the two programs: the first adds x0 + x1 first, because only the second needs x1 +
// x2. So each program sends the row to the other one.
TEST(AFunction, RecordsARowThatEachOfTwoProgramsSendsToTheOther) {
  Function function(
      [](const Inputs& x) {
        const Value part = x[1] + x[2], sum = x[0] + part;
        return sum < x[3] ? 2 * sum : -exp(part);
      },
      {.inputs = 4, .compile_after = 2});
  std::vector<double> rows, outputs(8);
  for (int i = 0; i < 8; ++i) rows.insert(rows.end(), {0.1, 0.2, 0.3, i % 2 == 0 ? 1.0 : 0.0});
  function.evaluate(rows, outputs);
  const Function::Description before = function.describe();
  ASSERT_EQ(before.programs, 2u);
  ASSERT_NE(0.1 + 0.2 + 0.3, 0.1 + (0.2 + 0.3));
  for (std::size_t i = 0; i < 8; ++i) rows[4 * i + 3] = 0.1 + 0.2 + 0.3;
  function.evaluate(rows, outputs);
  const Function::Description after = function.describe();
  EXPECT_EQ(after.eager_rows - before.eager_rows, 8u);
  EXPECT_EQ(after.moved_rows - before.moved_rows, 16u);
  for (const double output : outputs) EXPECT_EQ(output, 2 * (0.1 + (0.2 + 0.3)));
}

// More comparisons than one number has bits: rows that leave a path are sent on from the right comparison.
TEST(AFunction, FollowsAHundredComparisonsInEachPrecision) {
  for (const Precision precision : {Precision::float64, Precision::float32}) {
    Function function(
        [](const Inputs& x) {
          Value sum = x[0];
          for (int i = 0; i < 100; ++i)
            if (x[0] > i + 0.5) sum += 1;
          return sum;
        },
        {.inputs = 1, .precision = precision, .compile_after = 2, .max_programs = 40});
    std::vector<double> rows, outputs(606);
    for (int i = 0; i < 606; ++i) rows.push_back(i % 101);
    for (int call = 0; call < 3; ++call) {
      function.evaluate(rows, outputs);
      for (std::size_t i = 0; i < rows.size(); ++i) ASSERT_EQ(outputs[i], 2 * rows[i]) << i;
      std::reverse(rows.begin(), rows.end());  // remembered paths are wrong then
    }
    EXPECT_GT(function.describe().programs, 7u);
    EXPECT_GT(function.describe().moved_rows, 100u);
  }
}

TEST(AFunction, DescribesItsPathsAndWhereTheyPart) {
  Value limit = Value(0.25).label("limit");
  Function function(
      [&](const Inputs& x) {
        if (x[0] < limit) return x[0] * 1.0;
        const Value y = (2 * x[0]).label("twice");
        return y > 1 ? sin(y) : cos(y);
      },
      {.inputs = 1, .parameters = {limit}, .compile_after = 4});
  function.run(grid(100, 0, 1));
  const Function::Description description = function.describe(2);
  EXPECT_EQ(description.paths, 3u);
  ASSERT_EQ(description.most_used.size(), 2u);
  EXPECT_EQ(description.most_used[0].rows, 50u);
  EXPECT_EQ(description.most_used[0].comparisons, 2u);
  EXPECT_TRUE(description.most_used[0].is_compiled);
  EXPECT_EQ(description.most_used[0].parts_at, "");
  EXPECT_EQ(description.most_used[1].rows, 25u);
  EXPECT_EQ(function.describe().most_used[1].parts_at, "comparison 1: input 0 < limit is true");
  EXPECT_EQ(function.describe().most_used[2].parts_at, "comparison 2: 1 < twice is false");
}

TEST(AFunction, LeavesAPathWithACustomNodeToTheEngineAndSaysWhy) {
  Function function(
      [](const Inputs& x) {
        return x[0] < 0 ? custom(std::as_const(x[0]).data() * 2, {{x[0], 2.0}}, "twice") : x[0] * 3;
      },
      {.inputs = 1, .compile_after = 2});
  std::vector<double> outputs(8);
  for (int call = 0; call < 2; ++call)
    function.evaluate(std::vector{-1.0, 1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0}, outputs);
  EXPECT_EQ(outputs, (std::vector<double>{-2, 3, -2, 3, -2, 3, -2, 3}));
  const Function::Description description = function.describe();
  EXPECT_EQ(description.programs, 1u);
  const auto custom_path = std::ranges::find_if(description.most_used, [](const auto& p) { return !p.is_compiled; });
  ASSERT_NE(custom_path, description.most_used.end());
  EXPECT_NE(custom_path->why_not.find("custom"), std::string::npos) << custom_path->why_not;
}

TEST(AFunction, RefusesNumbersThatLeaveTheGraph) {
  Function cast([](const Inputs& x) { return x[0] * static_cast<double>(x[1]); }, {.inputs = 2});
  EXPECT_EQ(tests::error_of([&] { cast.run(std::vector{1.0, 2.0}); }),
            "Function: needs a function whose numbers stay in the graph, got the leaf with data 2, which was detached, "
            "cast to a number or computed under NoGrad; write stop(x) in place of x.detach(), and branch on Values, as "
            "in if (x < 1), not on numbers");
  Function detached([](const Inputs& x) { return x[0] * exp(x[0]).label("growth").detach(); }, {.inputs = 1});
  EXPECT_EQ(tests::error_of([&] { detached.run(std::vector{0.0}); }),
            "Function: needs a function whose numbers stay in the graph, got the result of exp \"growth\" with data 1, "
            "which was detached, cast to a number or computed under NoGrad; write stop(x) in place of x.detach(), and "
            "branch on Values, as in if (x < 1), not on numbers");
}

TEST(AFunction, RefusesRandomNumbersHiddenStateAndData) {
  std::mt19937_64 random(1);
  Function draws([&](const Inputs& x) { return x[0] * std::uniform_real_distribution<double>(0, 1)(random); },
                 {.inputs = 1});
  EXPECT_EQ(tests::error_of([&] { draws.run(std::vector{1.0}); }).substr(0, 102),
            "Function: needs a function that records the same graph when it is called again with the same numbers, ");
  int calls = 0;
  Function counts([&](const Inputs& x) { return ++calls % 2 == 0 ? sin(x[0]) : cos(x[0]); }, {.inputs = 1});
  EXPECT_EQ(tests::error_of([&] { counts.run(std::vector{1.0}); }),
            "Function: needs a function that records the same graph when it is called again with the same numbers, got "
            "sin where the other call has cos; pass random numbers as inputs, and keep no state between calls");
  Function decides([&](const Inputs& x) { return x[0] < (++calls % 2 == 0 ? 0.5 : 2) ? x[0] : sin(x[0]); },
                   {.inputs = 1});
  calls = 0;
  EXPECT_EQ(tests::error_of([&] { decides.run(std::vector{1.0}); }),
            "Function: needs a function that records the same graph when it is called again with the same numbers, got "
            "comparison 1 (input 0 < 0.5) with another outcome; pass random numbers as inputs, and keep no state "
            "between calls");
  Value a{1.0};
  Function data([&](const Inputs& x) { return a * x[0] * std::as_const(x[0]).data(); },
                {.inputs = 1, .parameters = {a}, .compile_after = 3});
  EXPECT_EQ(tests::error_of([&] { data.run(std::vector{1.0, 2.0, 3.0}); }),
            "Function: needs a function that records the same graph for rows whose comparisons come out alike, got mul "
            "with the number 3 where the other call has mul with the number 1; leave data() and numbers of your own "
            "out of the function, or make them inputs");
  EXPECT_EQ(a.grad(), 0);
}

TEST(AFunction, ChecksItsArguments) {
  TwoSides two;
  std::vector<double> gradient(1), three(3), none;
  EXPECT_EQ(tests::error_of([&] { Function(RowFunction(), {.inputs = 1}); }),
            "Function: needs a function, got an empty one; give a function of the inputs of one row");
  EXPECT_EQ(tests::error_of([&] { Function([](const Inputs& x) { return x[0]; }, {.inputs = 0}); }),
            "Function: needs inputs, got none; set .inputs to the number of numbers per row");
  EXPECT_EQ(tests::error_of([&] {
              Function pairs([](const Inputs& x) { return x[0]; }, {.inputs = 2});
              pairs.run(three);
            }),
            "Function::run: needs rows of 2 numbers, got 3 numbers; give a number for each input of each row");
  EXPECT_EQ(tests::error_of([&] { two.function.gradients(three, three); }),
            "Function::gradients: needs 1 gradient, got 3; give one number per parameter");
  EXPECT_EQ(tests::error_of([&] { two.function.run(three, {.weights = gradient}); }),
            "Function::run: needs one weight per row, got 1 weight for 3 rows; give as many weights as rows, or none");
  const std::vector<double> cancelling{1.0, -2.0, 1.0};
  EXPECT_EQ(
      tests::error_of([&] { two.function.run(three, {.result = RunOptions::Result::mean, .weights = cancelling}); }),
      "Function::run: needs weights whose sum is not 0, for a mean, got weights whose sum is 0; give others, or ask "
      "for the sum");
  EXPECT_EQ(tests::error_of([&] { two.function.run(three, {.input_gradients = gradient}); }),
            "Function::run: needs input_gradients of one number per row and input, got 1 number; give 3");
  EXPECT_EQ(tests::error_of([&] { two.function.run(three, {.outputs = gradient}); }),
            "Function::run: needs outputs of one number per row and output, got 1 number; give 3");
  EXPECT_EQ(tests::error_of([&] { two.function.evaluate(three, gradient); }),
            "Function::evaluate: needs outputs of one number per row and output, got 1 number; give 3");
  EXPECT_EQ(two.function.run(none), 0);
  Function moved(std::move(two.function));
  EXPECT_EQ(tests::error_of([&] { two.function.run(three); }),
            "Function: needs a function, got one that was moved from; use the Function that it was moved to");
}

TEST(AFunction, NeedsAsManyOutputsOfEveryRow) {
  Function function([](const Inputs& x) { return x[0] < 0 ? Inputs{x[0]} : Inputs{x[0], x[0]}; }, {.inputs = 1});
  EXPECT_EQ(tests::error_of([&] { function.run(std::vector{-1.0, 1.0}); }),
            "Function: needs a function that returns 1 output for every row, got 2; return as many for each");
  Function empty([](const Inputs&) { return Inputs{}; }, {.inputs = 1});
  EXPECT_EQ(tests::error_of([&] { empty.run(std::vector{-1.0}); }),
            "Function: needs a function with outputs, got one that returns none; return a Value or several");
}

TEST(AFunction, LeavesGradientsUnchangedByAnError) {
  Value a{1.0};
  Function function(
      [&](const Inputs& x) {
        if (x[0] > 5) throw std::runtime_error("out of range");
        return a * x[0];
      },
      {.inputs = 1, .parameters = {a}});
  a.grad() = 3;
  EXPECT_THROW(function.run(std::vector{1.0, 2.0, 6.0}), std::runtime_error);
  EXPECT_EQ(a.grad(), 3);
  EXPECT_EQ(function.run(std::vector{1.0, 2.0}), 3);
  EXPECT_EQ(a.grad(), 6);
}

TEST(AFunction, TakesOneCallAtATime) {
  std::optional<Function> function;
  std::string error;
  const std::vector<double> rows{1};
  std::vector<double> outputs(1);
  function.emplace(
      [&](const Inputs& x) {
        error = tests::error_of([&] { function->evaluate(rows, outputs); });
        return x[0] * 2;
      },
      FunctionOptions{.inputs = 1});
  function->evaluate(rows, outputs);
  EXPECT_EQ(
      error,
      "Function::evaluate: needs one call at a time, got a call while another one is running; make one Function per "
      "thread, or take turns");
}

TEST(AFunction, PrintsItsSummary) {
  TwoSides two;
  two.function.run(grid(100, 0, 0.75));
  Function::Description description = two.function.describe();
  description.bytes = 1000;
  std::ostringstream text;
  text << description;
  EXPECT_EQ(text.str(),
            "2 paths, 2 programs of 1,000 bytes, 94 rows compiled, 6 recorded, 33 moved\n67 rows, 1 comparison, "
            "compiled\n33 rows, 1 comparison, compiled; comparison 1: input 0 < 0.5 is false");
}

// A function that is a parabola with its lowest point at a on one side and a line on the other.
struct Fit {
  Value a{0.0}, b{0.0};
  Function function{[this](const Inputs& x) {
                      const Value error = x[0] < 0.5 ? a - x[1] : a + b * (x[0] - 0.5) - x[1];
                      return error * error;
                    },
                    {.inputs = 2, .parameters = {a, b}, .compile_after = 3}};
  std::vector<double> rows;
  Fit() {
    for (const double x : grid(40, 0, 1)) rows.insert(rows.end(), {x, x < 0.5 ? 2 : 2 - 3 * (x - 0.5)});
  }
};

TEST(ATrainerOfAFunction, MovesTheValuesOfItsParametersAtEachStep) {
  Fit fit;
  Trainer trainer(fit.function, SGD{.lr = 0.1});
  const double by_a = -2 *
                      std::accumulate(fit.rows.begin(), fit.rows.end(), 0.0,
                                      [i = 0](double sum, double y) mutable { return i++ % 2 ? sum + y : sum; }) /
                      40;
  trainer.step(fit.rows, {.result = RunOptions::Result::mean});
  EXPECT_NEAR(fit.a.data(), -0.1 * by_a, 1e-12);
  EXPECT_EQ(fit.a.grad(), 0);
  EXPECT_EQ(trainer.steps(), 1u);
}

TEST(ATrainerOfAFunction, TrainsWithEachOptimizer) {
  for (const OptimizerConfig& config :
       {OptimizerConfig(SGD{.lr = 0.5, .momentum = 0.8}), OptimizerConfig(Adam{.lr = 0.1})}) {
    Fit fit;
    double loss = 1;
    {
      Trainer trainer(fit.function, config);
      for (int i = 0; i < 600; ++i) loss = trainer.step(fit.rows, {.result = RunOptions::Result::mean});
    }
    EXPECT_LT(loss, 1e-9);
    EXPECT_NEAR(fit.a.data(), 2, 1e-4);
    EXPECT_NEAR(fit.b.data(), -3, 1e-3);
  }
}

TEST(ATrainerOfAFunction, WeighsRowsClipsCallsTheHookAndContinuesFromAState) {
  Fit fit;
  Trainer trainer(fit.function, SGD{.lr = 1, .momentum = 0.5},
                  [](std::uint64_t step) { return step == 0 ? 1.0 : 0.0; });
  std::vector<double> seen;
  trainer.before_update([&](std::span<double> gradient) {
    seen.assign(gradient.begin(), gradient.end());
    gradient[0] = 30, gradient[1] = -40;
  });
  trainer.clip_norm(5);
  const std::vector<double> weights{1, 3};
  EXPECT_DOUBLE_EQ(trainer.step(std::vector{0.0, 1.0, 0.25, 2.0}, {.weights = weights}), 13);
  EXPECT_EQ(seen, (std::vector<double>{-14, 0}));
  EXPECT_NEAR(fit.a.data(), -3, 1e-6);
  EXPECT_NEAR(fit.b.data(), 4, 1e-6);
  const OptimizerState state = trainer.optimizer_state();
  EXPECT_EQ(state.steps, 1u);
  trainer.step(std::vector<float>{0, 1});
  EXPECT_NEAR(fit.a.data(), -3, 1e-6) << "the schedule is at 0";
  trainer.set_optimizer_state(state);
  EXPECT_EQ(trainer.steps(), 1u);
  EXPECT_EQ(trainer.step(std::vector<double>()), 0);
  EXPECT_EQ(trainer.steps(), 1u);
}

TEST(ATrainerOfAFunction, OutlivesTheFunctionAndChecksItsRows) {
  std::optional<Fit> fit(std::in_place);
  Value w{1.0};
  std::optional<Function> function(
      std::in_place, [&](const Inputs& x) { return w * x[0]; }, FunctionOptions{.inputs = 1, .parameters = {w}});
  Trainer trainer(*function, SGD{.lr = 0.5});
  function.reset();
  EXPECT_DOUBLE_EQ(trainer.step(std::vector{2.0}), 2);
  EXPECT_DOUBLE_EQ(w.data(), 0);
  EXPECT_EQ(tests::error_of([&] { Trainer(fit->function, SGD{}).step(std::vector{1.0}); }),
            "Trainer::step: needs rows of 2 numbers, got 1 number; give a number for each input of each row");
  EXPECT_EQ(tests::error_of([&] { trainer.step(); }),
            "Trainer::step: needs rows of one Function, got none, or a list; give a vector with the rows of one step");
  const std::vector<std::vector<double>> list(1);
  EXPECT_EQ(tests::error_of([&] { trainer.step(list); }),
            "Trainer::step: needs rows of one Function, got none, or a list; give a vector with the rows of one step");
}

TEST(AFunction, ComputesInFloat32) {
  Value a{2.0};
  Function function([&](const Inputs& x) { return x[0] < 0.5 ? a * x[0] : exp(-x[0]); },
                    {.inputs = 1, .parameters = {a}, .precision = Precision::float32, .compile_after = 2});
  const std::vector<double> rows = grid(64, 0, 1);
  double sum = 0;
  for (const double x : rows) sum += x < 0.5 ? 2 * x : std::exp(-x);
  for (int call = 0; call < 2; ++call) EXPECT_NEAR(function.run(rows), sum, 1e-4);
}

}  // namespace
// The outcome of such a comparison is a number on the tape, but the rows must still be distinguished by it.
TEST(AFunction, FollowsAComparisonUnderNoGrad) {
  Value rate{0.9};
  const auto step = [&](const Value& x) {
    bool is_large = false;
    {
      const NoGrad guard;
      is_large = x > 0.5;
    }
    return is_large ? x * rate : x + 0.25;
  };
  const auto once = [&](const std::vector<Value>& x) { return step(x[0]); };
  const auto loops = [&](const std::vector<Value>& x) {
    return loop(
        std::vector{x[0], Value(0.0)}, [](const std::vector<Value>& s) { return s[1] < 5; },
        [&](const std::vector<Value>& s) { return std::vector{step(s[0]), s[1] + 1}; })[0];
  };
  std::vector<double> rows, outputs(300);
  for (int i = 0; i < 300; ++i) rows.push_back(std::sin(i));
  for (const auto& f : {RowFunction(once), RowFunction(loops)}) {
    Function function(f, {.inputs = 1, .parameters = {rate}, .compile_after = 2});
    for (int call = 0; call < 4; ++call) {
      function.evaluate(rows, outputs);
      for (std::size_t i = 0; i < rows.size(); ++i) ASSERT_NEAR(outputs[i], f({rows[i]}).data(), 1e-12) << i;
    }
    EXPECT_GT(function.describe().compiled_rows, 0u);
  }
}

TEST(AFunction, CompilesNoPathUnderNoGrad) {
  Value rate{0.9};
  const auto f = [&](const std::vector<Value>& x) { return x[0] > 0.5 ? x[0] * rate : tanh(x[0]); };
  Function function(f, {.inputs = 1, .parameters = {rate}, .compile_after = 2});
  std::vector<double> rows(30, 1.0), outputs(60);  // whose graphs are the same numbers under NoGrad
  for (int i = 0; i < 30; ++i) rows.push_back(std::sin(i));
  for (const bool is_guarded : {true, false, true}) {
    std::optional<NoGrad> guard;
    if (is_guarded) guard.emplace();
    function.evaluate(rows, outputs);
    for (std::size_t i = 0; i < rows.size(); ++i) ASSERT_NEAR(outputs[i], f({rows[i]}).data(), 1e-12) << i;
  }
  EXPECT_EQ(function.describe().programs, 2u);
}

}  // namespace gradwalk
