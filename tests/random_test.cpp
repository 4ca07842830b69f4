// SPDX-License-Identifier: MIT
// The generator: the documented numbers, uniform and normal distributions, and continuing from a state.
#include "gradwalk/random.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "support.hpp"

namespace gradwalk::random_test {
namespace {

using testing::ElementsAre;
using tests::error_of;
using tests::sized;

TEST(Random, GivesTheDocumentedWordsOfSeed42) {
  Random random(42);
  std::vector<std::uint64_t> words(5);
  for (std::uint64_t& word : words) word = random.next();
  EXPECT_THAT(words, ElementsAre(1546998764402558742u, 6990951692964543102u, 12544586762248559009u,
                                 17057574109182124193u, 18295552978065317476u));
}

TEST(Random, GivesTheDocumentedNumbersOfSeed42) {
  Random uniform(42), normal(42);
  EXPECT_EQ(uniform.uniform(), 0.08386297105988216);
  EXPECT_EQ(uniform.uniform(), 0.3789802506626686);
  EXPECT_EQ(normal.normal(), -0.6800434110281394);
  EXPECT_EQ(normal.normal(), -0.39899178951858083);
}

TEST(Random, DrawsUniformNumbersFromAllOfTheirRange) {
  Random random(1);
  const std::size_t n = sized(1'000'000, 100'000);
  double sum = 0, low = 1, high = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double u = random.uniform();
    ASSERT_TRUE(u >= 0 && u < 1);
    sum += u, low = std::min(low, u), high = std::max(high, u);
  }
  EXPECT_NEAR(sum / static_cast<double>(n), 0.5, 5 * std::sqrt(1.0 / 12 / static_cast<double>(n)));
  EXPECT_LT(low, 1e-3);
  EXPECT_GT(high, 1 - 1e-3);
  const double scaled = Random(3).uniform(-2, 6);
  EXPECT_EQ(scaled, -2 + 8 * Random(3).uniform());
}

TEST(Random, DrawsEachNumberBelowABoundEquallyOften) {
  Random random(2);
  std::map<std::uint64_t, double> counts;
  constexpr double n = 60'000;
  for (int i = 0; i < n; ++i) ++counts[random.below(6)];
  EXPECT_EQ(counts.size(), 6u);
  for (const auto& [number, count] : counts) EXPECT_NEAR(count, n / 6, 5 * std::sqrt(n / 6)) << number;
}

TEST(Random, HasNoBiasWhereTheBoundIsLarge) {
  // Without rejection, numbers in the lowest third would be twice as frequent as in each of the other thirds.
  const std::uint64_t bound = (std::uint64_t{3} << 62);
  Random random(3);
  int low = 0;
  constexpr int n = 30'000;
  for (int i = 0; i < n; ++i) low += random.below(bound) < bound / 3 ? 1 : 0;
  EXPECT_NEAR(low, n / 3.0, 5 * std::sqrt(n / 3.0));
}

TEST(Random, HasTheMomentsAndTailsOfANormalDistribution) {
  Random random(4);
  const std::size_t count = sized(2'000'000, 200'000);
  const auto n = static_cast<double>(count);
  std::array<double, 5> moments{};
  std::array<double, 8> above{};  // the number of draws beyond 0, 0.5, 1, ...
  std::array<double, 8> under{};
  for (std::size_t i = 0; i < count; ++i) {
    const double x = random.normal();
    double power = 1;
    for (double& moment : moments) moment += power / n, power *= x;
    for (std::size_t k = 0; k < above.size(); ++k) {
      const double edge = 0.5 * static_cast<double>(k);
      above[k] += x > edge ? 1 : 0;
      under[k] += x < -edge ? 1 : 0;
    }
  }
  const double error = 5 / std::sqrt(n);
  EXPECT_NEAR(moments[1], 0, error);
  EXPECT_NEAR(moments[2], 1, error * std::sqrt(2.0));
  EXPECT_NEAR(moments[3], 0, error * std::sqrt(15.0));
  EXPECT_NEAR(moments[4], 3, error * std::sqrt(96.0));
  for (std::size_t k = 0; k < above.size(); ++k) {
    const double expected = n * 0.5 * std::erfc(0.5 * static_cast<double>(k) / std::sqrt(2.0));
    EXPECT_NEAR(above[k], expected, 5 * std::sqrt(expected)) << "beyond " << k << "/2";
    EXPECT_NEAR(under[k], expected, 5 * std::sqrt(expected)) << "beyond -" << k << "/2";
  }
  EXPECT_EQ(Random(5).normal(10, 3), 10 + 3 * Random(5).normal());
}

TEST(Random, ShufflesIntoEveryOrderEquallyOften) {
  std::map<std::vector<int>, double> counts;
  Random random(6);
  constexpr double n = 24'000;
  for (int i = 0; i < n; ++i) {
    std::vector<int> items{0, 1, 2, 3};
    random.shuffle(items);
    ++counts[items];
  }
  EXPECT_EQ(counts.size(), 24u);
  for (const auto& [order, count] : counts)
    EXPECT_NEAR(count, n / 24, 5 * std::sqrt(n / 24)) << testing::PrintToString(order);
}

TEST(Random, ShufflesSpansAndKeepsEmptyAndSingleOnes) {
  std::vector<int> none, one{7}, some{1, 2, 3, 4};
  Random random(7), same(7);
  random.shuffle(none);
  random.shuffle(one);
  EXPECT_EQ(random.state(), same.state());
  random.shuffle(std::span(some).subspan(2));
  EXPECT_EQ(some[0] + 10 * some[1], 21);
}

TEST(Random, ContinuesFromItsState) {
  Random random(8);
  random.normal();
  Random again = Random::from_state(random.state());
  for (int i = 0; i < 10; ++i) EXPECT_EQ(again.next(), random.next());
}

TEST(Random, RejectsImpossibleArguments) {
  EXPECT_EQ(error_of([] { Random::from_state({0, 0, 0, 0}); }),
            "Random: needs a state with a bit set, got four zeros; give a state that state() returned, or a seed");
  EXPECT_EQ(error_of([] { Random(1).below(0); }), "below: needs a bound of at least 1, got 0; give a larger bound");
}

}  // namespace
}  // namespace gradwalk::random_test
