// SPDX-License-Identifier: MIT
// fit(): NIST's certified problems, an orbit, and standard errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "gradwalk/random.hpp"
#include "gradwalk/solve.hpp"
#include "support.hpp"

namespace gradwalk::fit_test {

using Inputs = const std::vector<Value>&;
using tests::error_of;

std::string told(const Ending& ending) { return ending.summary() + " " + ending.not_compiled; }

// ---- NIST's statistical reference data sets (itl.nist.gov/div898/strd/nls), with their certified results ----

struct Certified {
  std::string name;
  std::function<Value(Inputs b, double x)> model;
  std::vector<std::pair<double, double>> points;  // y, x
  std::vector<Numbers> starts;
  Numbers parameters, standard_errors;
  double sum_of_squares, deviation;

  VectorFunction residuals() const {
    return [this](Inputs b) {
      std::vector<Value> all;
      for (const auto& [y, x] : points) all.push_back(model(b, x) - y);
      return all;
    };
  }
};

const Certified misra1a{.name = "Misra1a",
                        .model = [](Inputs b, double x) { return b[0] * (1 - exp(-b[1] * x)); },
                        .points = {{10.07, 77.6},
                                   {14.73, 114.9},
                                   {17.94, 141.1},
                                   {23.93, 190.8},
                                   {29.61, 239.9},
                                   {35.18, 289.0},
                                   {40.02, 332.8},
                                   {44.82, 378.4},
                                   {50.76, 434.8},
                                   {55.05, 477.3},
                                   {61.01, 536.8},
                                   {66.40, 593.1},
                                   {75.47, 689.1},
                                   {81.78, 760.0}},
                        .starts = {{500, 0.0001}, {250, 0.0005}},
                        .parameters = {2.3894212918e+02, 5.5015643181e-04},
                        .standard_errors = {2.7070075241e+00, 7.2668688436e-06},
                        .sum_of_squares = 1.2455138894e-01,
                        .deviation = 1.0187876330e-01};

const Certified thurber{
    .name = "Thurber",
    .model =
        [](Inputs b, double x) {
          return (b[0] + b[1] * x + b[2] * x * x + b[3] * x * x * x) / (1 + b[4] * x + b[5] * x * x + b[6] * x * x * x);
        },
    .points = {{80.574, -3.067},   {84.248, -2.981},   {87.264, -2.921},   {87.195, -2.912},   {89.076, -2.840},
               {89.608, -2.797},   {89.868, -2.702},   {90.101, -2.699},   {92.405, -2.633},   {95.854, -2.481},
               {100.696, -2.363},  {101.060, -2.322},  {401.672, -1.501},  {390.724, -1.460},  {567.534, -1.274},
               {635.316, -1.212},  {733.054, -1.100},  {759.087, -1.046},  {894.206, -0.915},  {990.785, -0.714},
               {1090.109, -0.566}, {1080.914, -0.545}, {1122.643, -0.400}, {1178.351, -0.309}, {1260.531, -0.109},
               {1273.514, -0.103}, {1288.339, 0.010},  {1327.543, 0.119},  {1353.863, 0.377},  {1414.509, 0.790},
               {1425.208, 0.963},  {1421.384, 1.006},  {1442.962, 1.115},  {1464.350, 1.572},  {1468.705, 1.841},
               {1447.894, 2.047},  {1457.628, 2.200}},
    .starts = {{1000, 1000, 400, 40, 0.7, 0.3, 0.03}, {1300, 1500, 500, 75, 1, 0.4, 0.05}},
    .parameters = {1.2881396800e+03, 1.4910792535e+03, 5.8323836877e+02, 7.5416644291e+01, 9.6629502864e-01,
                   3.9797285797e-01, 4.9727297349e-02},
    .standard_errors = {4.6647963344e+00, 3.9571156086e+01, 2.8698696102e+01, 5.5675370270e+00, 3.1333340687e-02,
                        1.4984928198e-02, 6.5842344623e-03},
    .sum_of_squares = 5.6427082397e+03,
    .deviation = 1.3714600784e+01};

const Certified mgh09{.name = "MGH09",
                      .model = [](Inputs b, double x) { return b[0] * (x * x + x * b[1]) / (x * x + x * b[2] + b[3]); },
                      .points = {{1.957e-01, 4.0},
                                 {1.947e-01, 2.0},
                                 {1.735e-01, 1.0},
                                 {1.600e-01, 5.0e-01},
                                 {8.44e-02, 2.5e-01},
                                 {6.27e-02, 1.67e-01},
                                 {4.56e-02, 1.25e-01},
                                 {3.42e-02, 1.0e-01},
                                 {3.23e-02, 8.33e-02},
                                 {2.35e-02, 7.14e-02},
                                 {2.46e-02, 6.25e-02}},
                      .starts = {{25, 39, 41.5, 39}, {0.25, 0.39, 0.415, 0.39}},
                      .parameters = {1.9280693458e-01, 1.9128232873e-01, 1.2305650693e-01, 1.3606233068e-01},
                      .standard_errors = {1.1435312227e-02, 1.9633220911e-01, 8.0842031232e-02, 9.0025542308e-02},
                      .sum_of_squares = 3.0750560385e-04,
                      .deviation = 6.6279236551e-03};

class Nist : public testing::TestWithParam<Certified> {};

TEST_P(Nist, HasTheCertifiedSumOfSquaresAtTheCertifiedParameters) {
  const Certified& problem = GetParam();
  double sum = 0;
  for (const Value& residual : problem.residuals()({problem.parameters.begin(), problem.parameters.end()}))
    sum += residual.data() * residual.data();
  EXPECT_NEAR(sum / problem.sum_of_squares, 1, 1e-10);
}

TEST_P(Nist, IsSolvedToNineDigitsFromBothStarts) {
  const Certified& problem = GetParam();
  for (const bool compiled : {true, false})
    for (const Numbers& start : problem.starts) {
      const Fit found = fit(problem.residuals(), start, {.compile = compiled});
      EXPECT_TRUE(found.converged()) << told(found);
      EXPECT_EQ(found.compiled, compiled) << told(found);
      EXPECT_EQ(found.rank, problem.parameters.size());
      for (std::size_t i = 0; i < problem.parameters.size(); ++i) {
        EXPECT_NEAR(found.x[i] / problem.parameters[i], 1, 1e-9) << told(found) << ", parameter " << i;
        EXPECT_NEAR(found.standard_errors[i] / problem.standard_errors[i], 1, 1e-8) << told(found) << ", error " << i;
      }
      EXPECT_NEAR(found.sum_of_squares / problem.sum_of_squares, 1, 1e-10);
      EXPECT_NEAR(found.deviation / problem.deviation, 1, 1e-9);
    }
}

INSTANTIATE_TEST_SUITE_P(Problems, Nist, testing::Values(misra1a, thurber, mgh09),
                         [](const testing::TestParamInfo<Certified>& instance) { return instance.param.name; });

// ---- an orbit ----

// Returns the position of a planet after each step of Verlet's method, two numbers per step. The parameters are the
// pull of the sun, and the position and velocity at the start.
template <class T> std::vector<T> orbit(const std::vector<T>& p, std::size_t steps) {
  const double h = 0.01;
  const T pull = p[0];
  T x = p[1], y = p[2], u = p[3], v = p[4];
  std::vector<T> places;
  for (std::size_t i = 0; i < steps; ++i) {
    x += 0.5 * h * u;
    y += 0.5 * h * v;
    const T square = x * x + y * y;
    const T factor = h * pull / (square * sqrt(square));
    u -= factor * x;
    v -= factor * y;
    x += 0.5 * h * u;
    y += 0.5 * h * v;
    places.push_back(x);
    places.push_back(y);
  }
  return places;
}

TEST(Fit, FindsAnOrbitWithinThreeStandardErrors) {
  const std::size_t steps = tests::sized(2000, 200);
  const Numbers truth{1, 1, 0, 0.1, 1.1};
  const double deviation = 0.01;
  Random random(1);
  Numbers seen = orbit(truth, steps);
  for (double& place : seen) place += random.normal(0, deviation);

  const auto residuals = [&](Inputs p) {
    std::vector<Value> all = orbit(p, steps);
    for (std::size_t i = 0; i < all.size(); ++i) all[i] -= seen[i];
    return all;
  };
  Numbers errors[2];
  for (const bool compiled : {true, false}) {
    const Fit found = fit(residuals, {1.02, 0.99, 0.01, 0.12, 1.09}, {.compile = compiled});
    EXPECT_TRUE(found.converged()) << told(found);
    EXPECT_EQ(found.compiled, compiled) << told(found);
    EXPECT_EQ(found.rank, truth.size());
    EXPECT_NEAR(found.deviation / deviation, 1, 0.1);
    for (std::size_t i = 0; i < truth.size(); ++i) {
      EXPECT_LT(std::abs(found.x[i] - truth[i]), 3 * found.standard_errors[i]) << "parameter " << i;
      EXPECT_LT(found.standard_errors[i], 0.01) << "parameter " << i;
    }
    errors[compiled] = found.standard_errors;
  }
  for (std::size_t i = 0; i < truth.size(); ++i) EXPECT_NEAR(errors[0][i] / errors[1][i], 1, 1e-6);
}

// ---- standard errors ----

// A line through three points, whose fit can be computed by hand.
std::vector<Value> line(Inputs p) { return {p[0] - 1, p[0] + p[1] - 3, p[0] + 2 * p[1] - 2}; }

TEST(Fit, AgreesWithLinearRegression) {
  const Fit found = fit(line, {10, 10});
  EXPECT_TRUE(found.converged()) << told(found);
  EXPECT_NEAR(found.x[0], 1.5, 1e-12);
  EXPECT_NEAR(found.x[1], 0.5, 1e-12);
  EXPECT_NEAR(found.sum_of_squares, 1.5, 1e-12);
  EXPECT_NEAR(found.deviation, std::sqrt(1.5), 1e-12);
  // The inverse of J'J = {{3, 3}, {3, 5}} is {{5, -3}, {-3, 3}} / 6.
  EXPECT_NEAR(found.covariance[0][0], 1.5 * 5 / 6, 1e-12);
  EXPECT_NEAR(found.covariance[0][1], -1.5 * 3 / 6, 1e-12);
  EXPECT_NEAR(found.covariance[1][0], -1.5 * 3 / 6, 1e-12);
  EXPECT_NEAR(found.covariance[1][1], 1.5 * 3 / 6, 1e-12);
  EXPECT_NEAR(found.standard_errors[1], std::sqrt(0.75), 1e-12);
  EXPECT_THAT(found.residuals, testing::Pointwise(testing::DoubleNear(1e-12), {0.5, -1.0, 0.5}));
}

TEST(Fit, UsesKnownErrorsUnscaled) {
  const Fit found = fit(line, {10, 10}, {.known_errors = true});
  EXPECT_EQ(found.deviation, 1);
  EXPECT_NEAR(found.standard_errors[0], std::sqrt(5.0 / 6), 1e-12);
}

TEST(Fit, ReportsParametersThatAreNotDetermined) {
  const auto sums = [](Inputs p) {
    return std::vector<Value>{p[0] + p[1] - 3, 2 * (p[0] + p[1]) - 5, p[0] + p[1] - 1, p[2] - 1, p[2] - 2};
  };
  const Fit found = fit(sums, {-10, 1, 0});
  EXPECT_TRUE(found.converged()) << told(found);
  EXPECT_EQ(found.rank, 2u);
  EXPECT_NEAR(found.x[0] + found.x[1], 14.0 / 6, 1e-10);
  EXPECT_EQ(found.standard_errors[0], INFINITY);
  EXPECT_EQ(found.standard_errors[1], INFINITY);
  EXPECT_NEAR(found.x[2], 1.5, 1e-10);
  EXPECT_TRUE(std::isfinite(found.standard_errors[2]));
}

TEST(Fit, HasNoStandardErrorsWithoutResidualsToSpare) {
  const auto exact = [](Inputs p) { return std::vector<Value>{10 * (p[1] - p[0] * p[0]), 1 - p[0]}; };
  const Fit found = fit(exact, {-1.2, 1});
  EXPECT_TRUE(found.converged()) << told(found);
  EXPECT_NEAR(found.x[0], 1, 1e-12);
  EXPECT_NEAR(found.x[1], 1, 1e-12);
  EXPECT_TRUE(std::isnan(found.standard_errors[0]));
  const Fit under = fit([](Inputs p) { return std::vector<Value>{p[0] + p[1] - 3}; }, {-100, 1});
  EXPECT_TRUE(under.converged()) << told(under);
  EXPECT_NEAR(under.x[0] + under.x[1], 3, 1e-12);
  EXPECT_EQ(under.standard_errors[0], INFINITY);
}

// ---- difficult residuals ----

TEST(Fit, BacksOffFromResidualsThatAreNotFinite) {
  const auto logs = [](Inputs p) { return std::vector<Value>{log(p[0]) - 3, p[1] - 2, 0.1 * p[0]}; };
  const Fit found = fit(logs, {100, 1});
  EXPECT_TRUE(found.converged()) << told(found);
  // The minimum is where (log(x) - 3) / x + x / 100 is 0.
  EXPECT_NEAR((std::log(found.x[0]) - 3) / found.x[0] + found.x[0] / 100, 0, 1e-9);
  const Fit refused = fit(logs, {-100, 1});
  EXPECT_EQ(refused.stop, Stop::not_finite);
  EXPECT_EQ(refused.x, (Numbers{-100, 1}));
}

TEST(Fit, DoesNotConvergeAtAKink) {
  const auto creased = [](Inputs p) {
    return std::vector<Value>{abs(p[0] - 1) + 1, abs(p[1] - 2) + 0.5 * p[0], 0.1 * p[1]};
  };
  const Fit found = fit(creased, {-1.2, 1});
  EXPECT_TRUE(found.stop == Stop::no_descent || found.stop == Stop::iterations) << told(found);
  EXPECT_LE(found.iterations, FitOptions{}.iterations);
}

TEST(Fit, EndsAtItsLimits) {
  EXPECT_EQ(fit(mgh09.residuals(), mgh09.starts[0], {.iterations = 5}).stop, Stop::iterations);
  EXPECT_EQ(fit(misra1a.residuals(), misra1a.starts[1], {.step_tolerance = 1e-3}).stop, Stop::step);
  EXPECT_EQ(fit(misra1a.residuals(), misra1a.starts[1], {.value_tolerance = 1e-3}).stop, Stop::value);
}

TEST(Fit, FindsTheMinimumDespiteAHiddenBranch) {
  const auto hidden = [](Inputs p) {
    const Value miss = p[0].data() < 2 ? 2 * (p[0] - 1) : 3 * (p[0] - 0.5) * p[0];
    return std::vector<Value>{miss, miss + 1, p[1] - 4};
  };
  const Fit found = fit(hidden, {40, 3});
  EXPECT_TRUE(found.converged()) << told(found);
  EXPECT_NEAR(found.x[0], 0.75, 1e-9) << told(found);
}

TEST(Fit, RefusesAnEmptyStartAndNoOrChangingResiduals) {
  EXPECT_EQ(error_of([] { fit(line, {}); }),
            "fit: needs a parameter to find, got an empty start; give a number to start from for each");
  EXPECT_EQ(error_of([] { fit([](Inputs) { return std::vector<Value>{}; }, {1}); }),
            "fit: needs a function with values, got one that returns none; return a Value or several");
  const auto fewer = [](Inputs p) {
    std::vector<Value> all{p[0] - 1, p[0] - 2};
    if (p[0].data() < 3) all.pop_back();
    return all;
  };
  EXPECT_EQ(error_of([&] { fit(fewer, {5}); }),
            "fit: needs as many values at every point: 2, got 1; return as many each time");
}

}  // namespace gradwalk::fit_test
