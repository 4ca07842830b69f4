// SPDX-License-Identifier: MIT
// minimize(): known minima to many digits, functions without a minimum, and the reported endings.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>

#include "gradwalk/solve.hpp"
#include "random_function.hpp"
#include "support.hpp"

namespace gradwalk::minimize_test {

using Inputs = const std::vector<Value>&;
using tests::error_of;

constexpr Method all_methods[]{Method::gradient_descent, Method::bfgs, Method::lbfgs, Method::newton};
constexpr Method quick_methods[]{Method::bfgs, Method::lbfgs, Method::newton};

std::string told(const Ending& ending) { return ending.summary() + " " + ending.not_compiled; }

// Moré, Garbow and Hillstrom's problem 21, for any even number of dimensions; for two it is Rosenbrock's function.
Value valleys(Inputs x) {
  Value sum = 0.0;
  for (std::size_t i = 0; i < x.size(); i += 2) sum += 100 * pow(x[i + 1] - x[i] * x[i], 2) + pow(1 - x[i], 2);
  return sum;
}
// One valley through all dimensions. There is a second minimum, near (-1, 1, 1, ...).
Value long_valley(Inputs x) {
  Value sum = 0.0;
  for (std::size_t i = 0; i + 1 < x.size(); ++i) sum += 100 * pow(x[i + 1] - x[i] * x[i], 2) + pow(1 - x[i], 2);
  return sum;
}
Numbers usual_start(std::size_t dimensions) {
  Numbers start(dimensions, 1.0);
  for (std::size_t i = 0; i < dimensions; i += 2) start[i] = -1.2;
  return start;
}

void expect_ones(const Minimum& found, const std::string& what) {
  EXPECT_TRUE(found.converged()) << what << ": " << told(found);
  for (const double x : found.x) EXPECT_NEAR(x, 1, 1e-9) << what << ": " << told(found);
}

TEST(Minimize, FindsRosenbrocksMinimumToEightDigits) {
  for (const std::size_t dimensions : {2u, 100u})
    for (const Method method : quick_methods) {
      const Minimum found = minimize(valleys, usual_start(dimensions), {.method = method});
      expect_ones(found,
                  std::to_string(dimensions) + " dimensions, method " + std::to_string(static_cast<int>(method)));
      EXPECT_EQ(found.stop, Stop::gradient);
      EXPECT_TRUE(found.compiled);
      EXPECT_LT(found.value, 1e-18);
      EXPECT_LT(found.gradient_norm, 1e-9);
      EXPECT_LT(found.iterations, 60u);
    }
}

TEST(Minimize, FollowsOneValleyThroughAHundredDimensions) {
  for (const Method method : quick_methods)
    expect_ones(minimize(long_valley, Numbers(100, 0.0), {.method = method}),
                "method " + std::to_string(static_cast<int>(method)));
}

TEST(Minimize, DescendsAlongTheGradient) {
  const auto bowl = [](Inputs x) { return pow(x[0] - 3, 2) + 5 * pow(x[1] + 1, 2) + x[0] * x[1]; };
  const Minimum found = minimize(bowl, {10, 10}, {.method = Method::gradient_descent});
  // The minimum is where 2 (x - 3) + y and 10 (y + 1) + x are 0.
  EXPECT_TRUE(found.converged()) << told(found);
  EXPECT_NEAR(found.x[0], 70.0 / 19, 1e-8);
  EXPECT_NEAR(found.x[1], -26.0 / 19, 1e-8);
}

TEST(Minimize, FindsTheMinimumOfAQuadraticInOneNewtonStep) {
  const auto bowl = [](Inputs x) { return pow(x[0] - 3, 2) + 5 * pow(x[1] + 1, 2) + x[0] * x[1]; };
  const Minimum found = minimize(bowl, {10, 10}, {.method = Method::newton});
  EXPECT_EQ(found.stop, Stop::gradient);
  EXPECT_EQ(found.iterations, 1u);
}

TEST(Minimize, FindsTheSameMinimumCompiledAndRecorded) {
  for (const Method method : all_methods) {
    const Minimum compiled = minimize(valleys, usual_start(10), {.method = method, .iterations = 30});
    const Minimum recorded = minimize(valleys, usual_start(10), {.method = method, .iterations = 30, .compile = false});
    EXPECT_TRUE(compiled.compiled) << told(compiled);
    EXPECT_FALSE(recorded.compiled);
    EXPECT_EQ(recorded.not_compiled, "compile is false");
    EXPECT_LT(compiled.recordings, 10u);
    EXPECT_GE(recorded.recordings, recorded.evaluations);
    for (std::size_t i = 0; i < compiled.x.size(); ++i) EXPECT_NEAR(compiled.x[i], recorded.x[i], 1e-4);
  }
}

TEST(Minimize, ContinuesWhereRoundingHidesDifferencesOfValues) {
  // Near the minimum the value is a million, whose rounding hides differences that the gradient still shows.
  const auto high = [](Inputs x) { return 1e6 + pow(x[0] - 1.1, 2) + 2 * pow(x[1] - 3, 2); };
  for (const Method method : quick_methods) {
    const Minimum found = minimize(high, {4, 5}, {.method = method});
    EXPECT_NEAR(found.x[0], 1.1, 1e-9) << told(found);
    EXPECT_NEAR(found.x[1], 3, 1e-9) << told(found);
  }
}

TEST(Minimize, LeavesASaddle) {
  const auto saddle = [](Inputs x) { return x[0] * x[0] - x[1] * x[1] + pow(x[1], 4); };
  for (const Method method : all_methods) {
    const Minimum found = minimize(saddle, {1, 0.001}, {.method = method});
    EXPECT_TRUE(found.converged()) << told(found);
    EXPECT_NEAR(found.value, -0.25, 1e-12);
  }
}

// ---- difficult functions ----

TEST(Minimize, ReportsAStartThatIsNotFinite) {
  for (const Method method : all_methods) {
    const Minimum found = minimize([](Inputs x) { return log(x[0]); }, {-1}, {.method = method});
    EXPECT_EQ(found.stop, Stop::not_finite);
    EXPECT_EQ(found.x, Numbers{-1});
    EXPECT_EQ(found.iterations, 0u);
    EXPECT_FALSE(found.converged());
  }
}

TEST(Minimize, BacksOffFromValuesThatAreNotFinite) {
  // x log x - x / 2 and x - log(x) / 10^6 are defined for positive x only, and long steps leave this range.
  for (const Method method : all_methods) {
    const Minimum entropy = minimize([](Inputs x) { return x[0] * log(x[0]) - 0.5 * x[0]; }, {5}, {.method = method});
    EXPECT_TRUE(entropy.converged()) << told(entropy);
    EXPECT_NEAR(entropy.x[0], std::exp(-0.5), 1e-8);
    const Minimum barrier = minimize([](Inputs x) { return x[0] - 1e-6 * log(x[0]); }, {10}, {.method = method});
    EXPECT_TRUE(barrier.converged()) << told(barrier);
    EXPECT_NEAR(barrier.x[0], 1e-6, 1e-12);
  }
}

TEST(Minimize, ReportsThatThereIsNoMinimum) {
  for (const Method method : all_methods) {
    EXPECT_EQ(minimize([](Inputs x) { return 3 * x[0] - x[1]; }, {1, 1}, {.method = method}).stop, Stop::unbounded);
    EXPECT_EQ(minimize([](Inputs x) { return -pow(x[0], 4); }, {1}, {.method = method}).stop, Stop::unbounded);
    EXPECT_EQ(minimize([](Inputs x) { return -log(x[0]); }, {1}, {.method = method}).stop, Stop::unbounded);
    const Minimum low = minimize([](Inputs x) { return 3 * x[0] - x[1]; }, {1, 1}, {.method = method, .lowest = -100});
    EXPECT_EQ(low.stop, Stop::unbounded);
    EXPECT_LT(low.value, -100);
    EXPECT_GT(low.value, -1e4);
  }
}

TEST(Minimize, DoesNotConvergeAtAKink) {
  const auto creased = [](Inputs x) { return 8 * abs(x[0] * x[0] - x[1]) + pow(1 - x[0], 2); };
  for (const Method method : all_methods) {
    const Minimum found = minimize(creased, {-1.2, 1}, {.method = method});
    // The search ends in the crease, or at the minimum, where abs has the gradient 0.
    EXPECT_TRUE(found.stop == Stop::no_descent || found.stop == Stop::iterations || found.value < 1e-10)
        << told(found) << ", value " << found.value << ", gradient " << found.gradient_norm;
    EXPECT_LE(found.value, 8 * 0.44 + 2.2 * 2.2);
  }
  const Minimum edge = minimize([](Inputs x) { return sqrt(x[0] - 1) + 0.1 * x[0]; }, {5});
  EXPECT_EQ(edge.stop, Stop::no_descent);
  EXPECT_NEAR(edge.x[0], 1, 1e-12);
}

TEST(Minimize, EndsForEveryFunction) {
  const std::size_t count = tests::sized(300, 20);
  std::size_t finite = 0;
  for (std::size_t seed = 0; seed < count; ++seed) {
    std::mt19937_64 random(seed);
    const tests::RandomFunction function = tests::random_function(random, 0, 1 + seed % 6, 3 + seed % 40);
    const ScalarFunction f = [&](Inputs x) { return function.all({}, x).back(); };
    const double start = f({function.parameters.begin(), function.parameters.end()}).data();
    for (const Method method : all_methods) {
      const MinimizeOptions options{.method = method, .iterations = 40};
      const Minimum found = minimize(f, function.parameters, options);
      const std::string what =
          "seed " + std::to_string(seed) + ", method " + std::to_string(static_cast<int>(method)) + ", " + told(found);
      EXPECT_LE(found.iterations, options.iterations) << what;
      EXPECT_LE(found.evaluations, 151 * (options.iterations + 6)) << what;
      if (found.stop == Stop::not_finite) continue;
      ++finite;
      EXPECT_LE(found.value, start + 1e-9 * (1 + std::abs(start))) << what;
      EXPECT_EQ(found.value, f({found.x.begin(), found.x.end()}).data()) << what;
    }
  }
  EXPECT_GT(finite, count);
}

TEST(Minimize, EndsOnTheToleranceOfStepOrValue) {
  const Minimum step = minimize(valleys, {-1.2, 1}, {.step_tolerance = 1e-2});
  EXPECT_EQ(step.stop, Stop::step);
  const Minimum value = minimize(valleys, {-1.2, 1}, {.value_tolerance = 1e-3});
  EXPECT_EQ(value.stop, Stop::value);
  const Minimum short_run = minimize(valleys, {-1.2, 1}, {.iterations = 3});
  EXPECT_EQ(short_run.stop, Stop::iterations);
  EXPECT_EQ(short_run.iterations, 3u);
  EXPECT_FALSE(short_run.converged());
}

// ---- functions that cannot be compiled ----

TEST(Minimize, FindsTheMinimumIfComparisonsDecideTheGraph) {
  // Two parabolas meet at 1. The start is on one of them, the minimum on the other.
  const auto branches = [](Inputs x) {
    if (x[0] > 1) return pow(x[0] - 0.5, 2) + x[1] * x[1];
    return 2 * pow(x[0] + 2, 2) - 17.75 + x[1] * x[1];
  };
  for (const Method method : all_methods) {
    const Minimum found = minimize(branches, {40, 3}, {.method = method});
    EXPECT_TRUE(found.converged()) << told(found);
    EXPECT_NEAR(found.x[0], -2, 1e-7) << told(found);
    EXPECT_NEAR(found.value, -17.75, 1e-9);
  }
}

TEST(Minimize, FindsTheMinimumDespiteAHiddenBranch) {
  // A branch on data() leaves no trace in the graph, so only the confirmation at the end detects it.
  const auto hidden = [](Inputs x) {
    if (x[0].data() < 2) return 2 * pow(x[0] - 1, 2) + pow(x[1], 2);
    return 3 * pow(x[0] - 0.5, 4) + pow(x[1], 2);
  };
  for (const Method method : quick_methods) {
    const Minimum found = minimize(hidden, {40, 3}, {.method = method});
    EXPECT_TRUE(found.converged()) << told(found);
    EXPECT_NEAR(found.x[0], 1, 1e-8) << told(found);
  }
}

TEST(Minimize, RecordsEachPointOfAFunctionWhoseNumbersChange) {
  const auto weighted = [](Inputs x) { return x[0] * x[0] * (1 + std::abs(x[0].data())); };
  const Minimum found = minimize(weighted, {4}, {.method = Method::gradient_descent});
  EXPECT_FALSE(found.compiled);
  EXPECT_EQ(found.not_compiled,
            "the function records different graphs at different points: it branches, or uses numbers of its own");
  EXPECT_NEAR(found.x[0], 0, 1e-6);
}

TEST(Minimize, RecordsEachPointOfACustomNode) {
  const auto cubed = [](Inputs x) {
    const double at = x[0].data();
    return pow(custom(at * at * at, {{x[0], 3 * at * at}}, "cube") - 8, 2);
  };
  const Minimum found = minimize(cubed, {1.5});
  EXPECT_TRUE(found.converged()) << told(found);
  EXPECT_FALSE(found.compiled);
  EXPECT_NEAR(found.x[0], 2, 1e-8);
  EXPECT_THAT(error_of([&] { minimize(cubed, {1.5}, {.method = Method::newton}); }),
              testing::HasSubstr("derivatives: needs ops whose rule is in the op table"));
}

TEST(Minimize, LeavesCapturedValuesUnchanged) {
  Value target{3.0};
  Value(target * target).backward();
  const Minimum found = minimize([&](Inputs x) { return pow(x[0] - target, 2); }, {1});
  EXPECT_NEAR(found.x[0], 3, 1e-9);
  EXPECT_EQ(target.grad(), 6);
  EXPECT_EQ(target.data(), 3);
}

TEST(Minimize, RethrowsWhatTheFunctionThrows) {
  int calls = 0;
  const auto throws = [&](Inputs x) {
    if (++calls == 3) throw std::logic_error("enough");
    return pow(x[0] - 3, 4);
  };
  EXPECT_THROW(minimize(throws, {1}), std::logic_error);
  EXPECT_TRUE(minimize(throws, {1}).converged());
}

TEST(Minimize, ReportsProgressAtEachIterationAndEndsIfThatThrows) {
  std::vector<double> values;
  const Progress note = [&](std::size_t iteration, double value) {
    EXPECT_EQ(iteration, values.size() + 1);
    values.push_back(value);
    if (iteration == 1000) throw std::runtime_error("enough");
  };
  const Minimum found = minimize(valleys, usual_start(2), {.progress = note});
  EXPECT_EQ(values.size(), found.iterations);
  EXPECT_NEAR(values.front(), 24.2, 1e-12);
  EXPECT_TRUE(std::is_sorted(values.rbegin(), values.rend()));
  values.clear();
  const auto descend = [&] {
    minimize(valleys, usual_start(2), {.method = Method::gradient_descent, .iterations = 5000, .progress = note});
  };
  EXPECT_THROW(descend(), std::runtime_error);
}

TEST(Minimize, RefusesAnEmptyOrInfiniteStart) {
  const auto square = [](Inputs x) { return x[0] * x[0]; };
  EXPECT_EQ(error_of([&] { minimize(square, {}); }),
            "minimize: needs a parameter to find, got an empty start; give a number to start from for each");
  EXPECT_EQ(error_of([&] { minimize(square, {NAN}); }),
            "minimize: needs a start of finite numbers, got nan; start from somewhere else");
}

TEST(Endings, HaveNames) {
  const std::vector<std::pair<Stop, std::string>> names{{Stop::gradient, "converged on gradient"},
                                                        {Stop::step, "converged on step"},
                                                        {Stop::value, "converged on value"},
                                                        {Stop::iterations, "iteration limit"},
                                                        {Stop::not_finite, "not finite"},
                                                        {Stop::no_descent, "no descent"},
                                                        {Stop::unbounded, "unbounded"}};
  for (const auto& [stop, text] : names) EXPECT_EQ(name(stop), text);
}

TEST(Endings, HaveASummary) {
  Ending ending{.stop = Stop::gradient, .iterations = 1, .evaluations = 2, .compiled = true};
  EXPECT_EQ(ending.summary(), "converged on gradient after 1 iteration, 2 evaluations (compiled)");
  ending.compiled = false;
  EXPECT_EQ(ending.summary(), "converged on gradient after 1 iteration, 2 evaluations (recorded)");
}

// ---- docs/solve.md ----

std::string text_of(const std::string& path) {
  std::ifstream file(GRADWALK_SOURCE "/" + path);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

// Returns the blocks of a page between ```kind and ```.
std::vector<std::string> blocks(const std::string& page, const std::string& kind) {
  std::vector<std::string> all;
  const std::string begin = "\n```" + kind + "\n";
  for (std::size_t at = page.find(begin); at != std::string::npos; at = page.find(begin, at)) {
    at += begin.size();
    all.push_back(page.substr(at, page.find("```", at) - at));
  }
  return all;
}

std::string without_indent(const std::string& code) {
  std::istringstream lines(code);
  std::string result;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find_first_not_of(' ');
    result += (first == std::string::npos ? "" : line.substr(first)) + "\n";
  }
  return result;
}

TEST(SolveDocs, ShowWhatTheExampleRunsAndPrints) {
  const std::string page = text_of("docs/solve.md"), example = without_indent(text_of("examples/10_solve.cpp"));
  const std::vector<std::string> code = blocks(page, "cpp");
  EXPECT_GE(code.size(), 4u);
  for (const std::string& block : code)
    EXPECT_NE(example.find(without_indent(block)), std::string::npos) << "not in the example:\n" << block;
  EXPECT_EQ(blocks(page, "text"), std::vector{text_of("examples/expected/10_solve.txt")});
}

// The Hessian of the long valley has three entries per row; the dense one would take 3 GB.
TEST(NewtonsMethod, UsesTheSparseHessianOfManyParameters) {
  const std::size_t n = tests::sized(20'000, 2'000);
  const Minimum found = minimize(long_valley, Numbers(n, 0.9), {.method = Method::newton});
  EXPECT_TRUE(found.converged()) << told(found);
  EXPECT_TRUE(found.compiled) << told(found);
  EXPECT_LE(found.iterations, 30u);
  for (const double x : found.x) ASSERT_NEAR(x, 1, 1e-8);
}

TEST(NewtonsMethod, FindsADescentWhereASparseHessianIsIndefinite) {
  const auto waves = [](Inputs x) {
    Value sum = 0.0;
    for (std::size_t i = 0; i + 1 < x.size(); ++i) sum += cos(x[i]) + 0.1 * pow(x[i + 1] - x[i], 2);
    return sum;
  };
  const Minimum found = minimize(waves, Numbers(300, 0.3), {.method = Method::newton});
  EXPECT_TRUE(found.converged()) << told(found);
  for (std::size_t i = 0; i + 1 < found.x.size(); ++i) ASSERT_NEAR(std::sin(found.x[i]), 0, 0.5);
  EXPECT_LT(found.value, -250);
}

TEST(NewtonsMethod, KeepsTheBoundsOfManyParameters) {
  const Numbers lower(500, 0.5), upper(500, 0.8);
  const Minimum found =
      minimize(long_valley, Numbers(500, 0.6), {.method = Method::newton, .lower = lower, .upper = upper});
  EXPECT_TRUE(found.converged()) << told(found);
  const Minimum other =
      minimize(long_valley, Numbers(500, 0.6), {.method = Method::lbfgs, .lower = lower, .upper = upper});
  EXPECT_NEAR(found.value, other.value, 1e-6 * std::abs(other.value));
}

}  // namespace gradwalk::minimize_test
