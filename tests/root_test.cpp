// SPDX-License-Identifier: MIT
// root(): functions of one Value, systems, singular Jacobians, and functions without a root.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "gradwalk/solve.hpp"
#include "support.hpp"

namespace gradwalk::root_test {

using Inputs = const std::vector<Value>&;
using tests::error_of;

std::string told(const Ending& ending) { return ending.summary() + " " + ending.not_compiled; }

struct OneRoot {
  std::string name;
  std::function<Value(const Value&)> function;
  double start, root, within;
};

class Roots : public testing::TestWithParam<OneRoot> {};

TEST_P(Roots, AreFound) {
  for (const bool compiled : {true, false}) {
    const Root found = root(GetParam().function, GetParam().start, {.compile = compiled});
    EXPECT_TRUE(found.converged()) << told(found);
    EXPECT_NEAR(found.x[0], GetParam().root, GetParam().within) << told(found);
    EXPECT_EQ(found.value_norm, std::abs(found.values[0]));
  }
}

INSTANTIATE_TEST_SUITE_P(
    OfOneValue, Roots,
    testing::Values(OneRoot{"cosine", [](const Value& x) { return cos(x) - x; }, 1, 0.7390851332151607, 1e-15},
                    OneRoot{"arctangent_from_afar", [](const Value& x) { return atan(x); }, 10, 0, 1e-13},
                    OneRoot{"kepler", [](const Value& x) { return x - 0.9 * sin(x) - 3.1; }, 1, 3.119700955021393,
                            1e-14},
                    OneRoot{"logarithm_beyond_its_domain", [](const Value& x) { return log(x); }, 20, 1, 1e-13},
                    OneRoot{"large_values", [](const Value& x) { return 1e12 * (x * x - 2); }, 1, std::sqrt(2), 4e-16},
                    OneRoot{"double_root", [](const Value& x) { return x * x; }, 1, 0, 1e-6},
                    OneRoot{"triple_root", [](const Value& x) { return x * x * x; }, 1, 0, 1e-4},
                    OneRoot{"infinite_slope",
                            [](const Value& x) { return select(x < 0, -pow(abs(x), 1.0 / 3), pow(abs(x), 1.0 / 3)); },
                            1, 0, 1e-12}),
    [](const testing::TestParamInfo<OneRoot>& one) { return one.param.name; });

TEST(Root, IsFoundForASystem) {
  const auto circle_and_curve = [](Inputs x) {
    return std::vector<Value>{x[0] * x[0] + x[1] * x[1] - 4, exp(x[0]) + x[1] - 1};
  };
  const Root found = root(circle_and_curve, {1, 1});
  EXPECT_TRUE(found.converged()) << told(found);
  EXPECT_NEAR(found.x[0] * found.x[0] + found.x[1] * found.x[1], 4, 1e-13);
  EXPECT_NEAR(std::exp(found.x[0]) + found.x[1], 1, 1e-13);
}

TEST(Root, IsFoundForAHundredEquations) {
  // Broyden's tridiagonal function.
  const auto tridiagonal = [](Inputs x) {
    std::vector<Value> all;
    for (std::size_t i = 0; i < x.size(); ++i) {
      Value one = (3 - 2 * x[i]) * x[i] + 1;
      if (i > 0) one -= x[i - 1];
      if (i + 1 < x.size()) one -= 2 * x[i + 1];
      all.push_back(one);
    }
    return all;
  };
  const Root found = root(tridiagonal, Numbers(100, -1.0));
  EXPECT_TRUE(found.converged()) << told(found);
  EXPECT_TRUE(found.compiled) << told(found);
  EXPECT_LT(found.iterations, 10u);
  EXPECT_LT(found.value_norm, 1e-12);
}

TEST(Root, IsFoundIfTheJacobianIsSingular) {
  // In Powell's function the Jacobian has rank 1 at the root (0, 0).
  const auto powell = [](Inputs x) { return std::vector<Value>{x[0], 10 * x[0] / (x[0] + 0.1) + 2 * x[1] * x[1]}; };
  const Root found = root(powell, {3, 1});
  EXPECT_TRUE(found.converged()) << told(found);
  EXPECT_NEAR(found.x[0], 0, 1e-12);
  EXPECT_NEAR(found.x[1], 0, 1e-6);
}

TEST(Root, IsNotFoundIfThereIsNone) {
  for (const auto& [function, start] : std::vector<std::pair<std::function<Value(const Value&)>, double>>{
           {[](const Value& x) { return x * x + 1; }, 1},
           {[](const Value& x) { return x * x + 1; }, 0.3},
           {[](const Value& x) { return abs(x) + 1; }, 1},
           {[](const Value& x) { return 0 * x + 1; }, 1}}) {
    const Root found = root(function, start);
    EXPECT_TRUE(found.stop == Stop::no_descent || found.stop == Stop::iterations) << told(found);
    EXPECT_GE(found.value_norm, 1);
  }
  const auto parallel = [](Inputs x) { return std::vector<Value>{x[0] + x[1] - 1, 2 * x[0] + 2 * x[1] - 3}; };
  const Root found = root(parallel, {3, 1});
  EXPECT_EQ(found.stop, Stop::no_descent) << told(found);
  EXPECT_NEAR(found.x[0] + found.x[1], 1.4, 1e-9);  // the smallest sum of squares
  EXPECT_EQ(root([](const Value& x) { return log(x); }, -20).stop, Stop::not_finite);
}

TEST(Root, NeedsAsManyValuesAsParameters) {
  EXPECT_EQ(
      error_of([] { root([](Inputs x) { return std::vector<Value>{x[0] + x[1]}; }, {1, 2}); }),
      "root: needs as many values as parameters: 2, got 1; return one Value per parameter; fit() makes any number of "
      "values small");
  EXPECT_EQ(error_of([] { root([](Inputs x) { return std::vector<Value>{x[0]}; }, {}); }),
            "root: needs a parameter to find, got an empty start; give a number to start from for each");
}

}  // namespace gradwalk::root_test
