// SPDX-License-Identifier: MIT
// fit() and minimize() of a function of one row, their bounds, and Differentiator: the same results as the function of
// all rows, from a few recordings.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "gradwalk/random.hpp"
#include "gradwalk/solve.hpp"
#include "support.hpp"

namespace gradwalk::solve_rows_test {

using Inputs = const std::vector<Value>&;
using testing::DoubleNear;
using testing::Pointwise;
using tests::error_of;

std::string told(const Ending& ending) { return ending.summary() + " " + ending.not_compiled; }

// Rows (t, y) with y near 2.5 exp(-1.3 t) + 0.5.
std::vector<Numbers> decay(std::size_t count) {
  Random random(7);
  std::vector<Numbers> rows;
  for (std::size_t i = 0; i < count; ++i) {
    const double t = 4 * static_cast<double>(i) / static_cast<double>(count);
    rows.push_back({t, 2.5 * std::exp(-1.3 * t) + 0.5 + 0.02 * random.normal()});
  }
  return rows;
}
Value decay_residual(Inputs p, Inputs row) { return p[0] * exp(-p[1] * row[0]) + p[2] - row[1]; }

// Rows (x1, x2, 0 or 1).
std::vector<Numbers> labelled(std::size_t count) {
  Random random(11);
  std::vector<Numbers> rows;
  for (std::size_t i = 0; i < count; ++i) {
    const double a = random.normal(), b = random.normal();
    rows.push_back({a, b, 1 / (1 + std::exp(-(0.5 + 2 * a - b))) > random.uniform() ? 1.0 : 0.0});
  }
  return rows;
}
Value logistic_loss(Inputs p, Inputs row) {
  const Value score = p[0] + p[1] * row[0] + p[2] * row[1];
  return softplus(score) - row[2] * score;
}

template <class F> auto of_all_rows(const F& f, const std::vector<Numbers>& rows) {
  return [&f, &rows](Inputs p) {
    std::vector<Value> all;
    for (const Numbers& row : rows) all.push_back(f(p, std::vector<Value>(row.begin(), row.end())));
    return all;
  };
}

TEST(SolveRows, FitEqualsTheFitOfAllResiduals) {
  for (const std::size_t count : {3u, 40u, 1000u}) {
    const std::vector<Numbers> rows = decay(count);
    const Fit by_rows = fit(decay_residual, rows, {1, 1, 0}), whole = fit(of_all_rows(decay_residual, rows), {1, 1, 0});
    EXPECT_TRUE(by_rows.converged() && by_rows.compiled) << told(by_rows);
    EXPECT_LT(by_rows.recordings, 30u);
    EXPECT_EQ(by_rows.rank, 3u);
    EXPECT_THAT(by_rows.x, Pointwise(DoubleNear(1e-9), whole.x));
    EXPECT_THAT(by_rows.residuals, Pointwise(DoubleNear(1e-9), whole.residuals));
    if (count == 3) continue;  // no residuals to spare
    EXPECT_THAT(by_rows.standard_errors, Pointwise(DoubleNear(1e-9), whole.standard_errors));
  }
}

// The sum of squares of such residuals loses digits, or is 0, where the residuals themselves do not.
TEST(SolveRows, FitOfNearlyDependentOrTinyColumnsEqualsTheFitOfAllResiduals) {
  const std::vector<Numbers> rows = decay(400);
  const auto dependent = [](Inputs p, Inputs row) {
    return p[0] * (1 + 1e-7 * row[0]) + p[1] * (1 - 1e-7 * row[0]) - row[1];
  };
  const auto tiny = [](Inputs p, Inputs row) { return 1e-158 * (p[0] + p[1] * row[0] - row[1]); };
  const Fit near = fit(dependent, rows, {0, 0}), whole_near = fit(of_all_rows(dependent, rows), {0, 0});
  EXPECT_TRUE(near.converged() && near.compiled) << told(near);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_NEAR(near.x[i] / whole_near.x[i], 1, 1e-6);
    EXPECT_NEAR(near.standard_errors[i] / whole_near.standard_errors[i], 1, 1e-6);
  }
  const Fit small = fit(tiny, rows, {0, 0}), whole_small = fit(of_all_rows(tiny, rows), {0, 0});
  EXPECT_TRUE(small.converged() && small.compiled) << told(small);
  EXPECT_THAT(small.x, Pointwise(DoubleNear(1e-9), whole_small.x));
}

TEST(SolveRows, FitTakesRowsThatAreStoredOneAfterAnother) {
  Numbers numbers;
  for (const Numbers& row : decay(50)) numbers.insert(numbers.end(), row.begin(), row.end());
  EXPECT_EQ(fit(decay_residual, {numbers, 2}, {1, 1, 0}).x, fit(decay_residual, decay(50), {1, 1, 0}).x);
}

TEST(SolveRows, FitTakesSeveralResidualsPerRow) {
  const std::vector<Numbers> rows{{0, 1, 2}, {1, 3, 1}, {2, 5, 0.5}, {3, 7, -1}};
  const auto two = [](Inputs p, Inputs row) {
    return std::vector<Value>{p[0] + p[1] * row[0] - row[1], p[0] * p[1] * row[0] - row[2]};
  };
  const auto all = [&](Inputs p) {
    std::vector<Value> residuals;
    for (const Numbers& row : rows)
      for (Value& residual : two(p, std::vector<Value>(row.begin(), row.end()))) residuals.push_back(residual);
    return residuals;
  };
  const Fit by_rows = fit(two, rows, {1, 1}), whole = fit(all, {1, 1});
  EXPECT_TRUE(by_rows.converged() && by_rows.compiled) << told(by_rows);
  EXPECT_THAT(by_rows.x, Pointwise(DoubleNear(1e-9), whole.x));
  EXPECT_THAT(by_rows.residuals, Pointwise(DoubleNear(1e-9), whole.residuals));
}

TEST(SolveRows, MinimizeEqualsTheMinimumOfTheSum) {
  const std::vector<Numbers> rows = labelled(500);
  const auto sum = [&](Inputs p) {
    Value total = 0.0;
    for (const Value& loss : of_all_rows(logistic_loss, rows)(p)) total += loss;
    return total;
  };
  const Minimum whole = minimize(sum, {0, 0, 0});
  for (const Method method : {Method::lbfgs, Method::bfgs, Method::newton}) {
    const Minimum by_rows = minimize(logistic_loss, rows, {0, 0, 0}, {.method = method});
    EXPECT_TRUE(by_rows.converged() && by_rows.compiled) << told(by_rows);
    EXPECT_LT(by_rows.recordings, 40u);
    EXPECT_THAT(by_rows.x, Pointwise(DoubleNear(1e-7), whole.x));
    EXPECT_NEAR(by_rows.value, whole.value, 1e-9);
  }
}

TEST(SolveRows, RowsThatTakeDifferentBranchesGiveTheRightResult) {
  const std::vector<Numbers> rows{{-2, 1}, {-1, 2}, {1, 3}, {2, 5}, {3, 6}};
  const auto by_comparison = [](Inputs p, Inputs row) { return (row[0] < 0 ? p[0] : p[1]) * row[0] - row[1]; };
  const auto by_data = [](Inputs p, Inputs row) { return (row[0].data() < 0 ? p[0] : p[1]) * row[0] - row[1]; };
  for (const Fit& found : {fit(by_comparison, rows, {0, 0}), fit(by_data, rows, {0, 0})}) {
    EXPECT_TRUE(found.converged()) << told(found);
    EXPECT_NEAR(found.x[0], (-2 * 1 - 1 * 2) / 5.0, 1e-9);
    EXPECT_NEAR(found.x[1], (1 * 3 + 2 * 5 + 3 * 6) / 14.0, 1e-9);
  }
  // All samples take one branch, and one row between them takes the other.
  std::vector<Numbers> many(101, Numbers{1, 2});
  many[33] = {1, 30};
  const auto robust = [](Inputs p, Inputs row) {
    const Value miss = p[0] - row[1];
    return miss * miss < 100.0 ? miss : 0.1 * miss;
  };
  const Fit found = fit(robust, many, {1.0});
  EXPECT_NEAR(found.x[0], (100 * 2 + 0.01 * 30) / 100.01, 1e-9) << told(found);
}

TEST(SolveRows, ANumberThatIsCastIsNotCompiled) {
  std::vector<Numbers> many(101, Numbers{1, 2});
  many[33] = {1, 30};
  const auto robust = [](Inputs p, Inputs row) {
    const Value miss = p[0] - row[1];
    return std::abs(static_cast<double>(miss)) < 10 ? miss : 0.1 * miss;
  };
  const Fit found = fit(robust, many, {1.0});
  EXPECT_NEAR(found.x[0], (100 * 2 + 0.01 * 30) / 100.01, 1e-9) << told(found);
  EXPECT_FALSE(found.compiled);
  EXPECT_THAT(found.not_compiled, testing::StartsWith("the function casts a Value to a number"));

  const auto bent = [](Inputs x) { return std::vector{static_cast<double>(x[0]) > 0 ? 2 * x[0] : 3 * x[0]}; };
  Differentiator slope(bent);
  for (const double x : {1.0, 2.0, 3.0, 4.0}) EXPECT_EQ(slope.value_and_gradient({x}).second, Numbers{2});
  EXPECT_EQ(slope.value_and_gradient({-1.0}).second, Numbers{3});
  EXPECT_FALSE(slope.compiled());

  // A number that no parameter has changed may be cast.
  const Value scale = 2;
  const auto scaled = [&](Inputs x) { return std::vector{static_cast<double>(scale) * x[0]}; };
  Differentiator same(scaled);
  for (const double x : {1.0, 2.0, 3.0, 4.0}) EXPECT_EQ(same.value_and_gradient({x}).second, Numbers{2});
  EXPECT_TRUE(same.compiled());
}

TEST(SolveRows, ABranchOnTheParametersIsNoticedAtTheResult) {
  const std::vector<Numbers> rows{{1}, {2}, {3}};
  const auto hidden = [](Inputs p, Inputs row) {
    return p[0].data() > 5 ? 2 * (p[0] - row[0]) : p[0] * row[0] - row[0];
  };
  const Fit found = fit(hidden, rows, {40});
  EXPECT_NEAR(found.x[0], 1, 1e-9) << told(found);
}

TEST(SolveRows, WithoutCompilingTheResultIsTheSame) {
  const Fit found = fit(decay_residual, decay(20), {1, 1, 0}, {.compile = false});
  EXPECT_FALSE(found.compiled);
  EXPECT_EQ(found.not_compiled, "compile is false");
  EXPECT_THAT(found.x, Pointwise(DoubleNear(1e-9), fit(decay_residual, decay(20), {1, 1, 0}).x));
}

TEST(SolveRows, RefusesMissingAndUnequalRows) {
  EXPECT_EQ(error_of([] { fit(decay_residual, std::vector<Numbers>{}, {1, 1, 0}); }),
            "fit: needs rows, got none; give at least one row");
  EXPECT_EQ(error_of([] { minimize(logistic_loss, std::vector<Numbers>{}, {1, 1, 0}); }),
            "minimize: needs rows, got none; give at least one row");
  EXPECT_EQ(error_of([] { fit(decay_residual, std::vector<Numbers>{{1, 2}, {3}}, {1, 1, 0}); }),
            "Rows: needs rows of 2 numbers, got one of 1; give as many numbers in each row");
  EXPECT_EQ(error_of([] { fit(decay_residual, {Numbers{1, 2, 3}, 2}, {1, 1, 0}); }),
            "Rows: needs a multiple of the number of columns, 2, got 3 numbers; give one number per row and column");
  EXPECT_EQ(error_of([] { fit([](Inputs, Inputs) { return std::vector<Value>(); }, decay(3), {1}); }),
            "fit: needs a function with values, got one that returns none; return a Value or several");
}

// ---- bounds ----

Value valley(Inputs x) { return 100 * pow(x[1] - x[0] * x[0], 2) + pow(1 - x[0], 2); }

TEST(SolveBounds, MinimizeStaysWithinThem) {
  for (const Method method : {Method::lbfgs, Method::bfgs, Method::newton, Method::gradient_descent}) {
    const std::size_t iterations = method == Method::gradient_descent ? 20000 : 1000;
    // The first bound is active: on x0 = 0.5, the best x1 is 0.25.
    const Minimum active = minimize(
        valley, {-1.2, 1},
        {.method = method, .iterations = iterations, .gradient_tolerance = 1e-8, .lower = {-2, -2}, .upper = {0.5, 2}});
    EXPECT_TRUE(active.converged()) << told(active);
    EXPECT_THAT(active.x, Pointwise(DoubleNear(1e-6), Numbers{0.5, 0.25}));
    EXPECT_NEAR(active.gradient[0], -1, 1e-4);  // the gradient of all parameters
    // No bound is active at the minimum.
    const Minimum inside = minimize(
        valley, {-1.2, 1},
        {.method = method, .iterations = iterations, .gradient_tolerance = 1e-8, .lower = {-1.5, -2}, .upper = {}});
    EXPECT_TRUE(inside.converged()) << told(inside);
    EXPECT_THAT(inside.x, Pointwise(DoubleNear(1e-6), Numbers{1, 1}));
  }
}

TEST(SolveBounds, NoPointOutsideIsEvaluated) {
  const auto root_of_x = [](Inputs x) {
    EXPECT_GE(x[0].data(), 0);
    return sqrt(x[0] + 0.01) + 0.1 * pow(x[0] - 3, 2);
  };
  const Minimum found = minimize(root_of_x, {0.5}, {.compile = false, .lower = {0}, .upper = {10}});
  EXPECT_TRUE(found.converged()) << told(found);
}

TEST(SolveBounds, FitStaysWithinThem) {
  const std::vector<Numbers> rows = decay(200);
  const Fit free = fit(decay_residual, rows, {1, 1, 0});
  const Fit wide = fit(decay_residual, rows, {1, 1, 0}, {.lower = {0, 0, -1}, .upper = {10, 10, 1}});
  EXPECT_THAT(wide.x, Pointwise(DoubleNear(1e-8), free.x)) << told(wide);
  const Fit active = fit(decay_residual, rows, {1, 1, 0}, {.lower = {}, .upper = {2, 5, 5}});
  EXPECT_TRUE(active.converged()) << told(active);
  EXPECT_EQ(active.x[0], 2);
  const auto with_two = [](Inputs p, Inputs row) { return 2 * exp(-p[0] * row[0]) + p[1] - row[1]; };
  const Fit reduced = fit(with_two, rows, {1, 0});
  EXPECT_NEAR(active.x[1], reduced.x[0], 1e-7);
  EXPECT_NEAR(active.x[2], reduced.x[1], 1e-7);
}

TEST(SolveBounds, AStartOutsideAndAWrongNumberOfBoundsAreRefused) {
  EXPECT_EQ(error_of([] { minimize(valley, {3, 1}, {.lower = {}, .upper = {0.5, 2}}); }),
            "minimize: needs parameter 0 to start within its bounds, -inf to 0.5, got 3; start inside the bounds, or "
            "widen them");
  EXPECT_EQ(error_of([] { fit(decay_residual, decay(9), {1, 1, 0}, {.lower = {0}, .upper = {}}); }),
            "fit: needs one bound per parameter: 3, got 1; give an infinite bound where there is none");
}

// ---- Differentiator ----

TEST(Differentiator, EqualsTheDerivativesOfEachPointAndCompiles) {
  const auto f = [](Inputs x) { return std::vector<Value>{sin(x[0]) * x[1], exp(x[0] * x[1]), x[0] + x[1]}; };
  const auto first = [&](Inputs x) { return f(x)[0]; };
  Differentiator repeated(f);
  EXPECT_FALSE(repeated.compiled());
  for (const Numbers& x : {Numbers{0.3, 0.7}, {1, 2}, {-0.5, 0.25}, {0.1, 0.2}}) {
    const auto [value, slope] = repeated.value_and_gradient(x);
    EXPECT_DOUBLE_EQ(value, std::sin(x[0]) * x[1]);
    EXPECT_THAT(slope, Pointwise(DoubleNear(1e-12), gradient(first, x)));
    const std::vector<Numbers> rows = jacobian(f, x), second = hessian(first, x);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_THAT(repeated.jacobian(x)[i], Pointwise(DoubleNear(1e-12), rows[i]));
    for (std::size_t i = 0; i < 2; ++i) EXPECT_THAT(repeated.hessian(x)[i], Pointwise(DoubleNear(1e-12), second[i]));
    EXPECT_NEAR(repeated.values(x)[1], std::exp(x[0] * x[1]), 1e-12);
    const Numbers v{2, -1};
    EXPECT_THAT(repeated.jacobian_vector_product(x, v), Pointwise(DoubleNear(1e-12), jacobian_vector_product(f, x, v)));
    EXPECT_THAT(repeated.hessian_vector_product(x, v),
                Pointwise(DoubleNear(1e-12), hessian_vector_product(first, x, v)));
  }
  EXPECT_TRUE(repeated.compiled());
  EXPECT_EQ(repeated.not_compiled(), "");
}

TEST(Differentiator, FollowsABranchAndForgetsConstants) {
  Differentiator branching([](Inputs x) { return std::vector<Value>{x[0] > 0.0 ? 2 * x[0] : 3 * x[0]}; });
  for (const double x : {1.0, 2.0, 3.0, 4.0}) EXPECT_EQ(branching.value_and_gradient({x}).second[0], 2);
  EXPECT_TRUE(branching.compiled());
  EXPECT_EQ(branching.value_and_gradient({-1.0}).second[0], 3);

  double scale = 2;
  Differentiator scaled([&](Inputs x) { return std::vector<Value>{scale * x[0]}; });
  for (const double x : {1.0, 2.0, 3.0}) EXPECT_EQ(scaled.value_and_gradient({x}).second[0], 2);
  scale = 5;
  scaled.forget();
  EXPECT_EQ(scaled.value_and_gradient({1.0}).second[0], 5);
  scaled.never_compile("it changes");
  for (const double x : {1.0, 2.0, 3.0}) scaled.value_and_gradient({x});
  EXPECT_FALSE(scaled.compiled());
  EXPECT_EQ(scaled.not_compiled(), "it changes");
  EXPECT_EQ(error_of([&] { scaled.values({1.0, 2.0}); }),
            "Differentiator: needs 1 number, got 2; give one number per coordinate of the first x, at least one");
}

}  // namespace gradwalk::solve_rows_test
