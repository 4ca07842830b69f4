// SPDX-License-Identifier: MIT
// Code that spells out std:: works with gradwalk/std.hpp, and numbers still use the functions of std.
#include "gradwalk/std.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "gradwalk/gradwalk.hpp"

namespace gradwalk::std_test {
namespace {

template <class T> T qualified(const T& x, T& y) {
  T sum = std::max(x, y) + std::min(x, x) + std::max(0.0, y) + std::min(y, 2.0) + std::max(x * y, x) + std::max(y, x);
  sum += std::max({x, y, x * 2}) + std::min({x, y}) + std::clamp(x, T(0), T(1)) + std::clamp(y * y, T(0), T(1));
  sum += std::abs(x) + std::fabs(x) + std::exp(y) + std::sqrt(x * x) + std::tanh(x) + std::cbrt(x) + std::floor(y);
  sum += std::pow(y, 2) + std::pow(2, y) + std::atan2(x, y) + std::hypot(x, y) + std::fmod(y, 1) + std::fma(x, y, 1);
  sum += std::lerp(x, y, T(0.25)) + std::ldexp(x, -3);
  return std::isnan(sum) || std::signbit(sum) ? T(0) : sum;
}

TEST(StdFunctions, OfValuesGiveTheNumbersOfDouble) {
  double y = 1.7;
  Value v = 1.7;
  EXPECT_DOUBLE_EQ(qualified(Value(-0.3), v).data(), qualified(-0.3, y));
}

TEST(StdMax, IsRecordedAndChoosesAgain) {
  Value a = 1;
  const Value b = 2, largest = std::max(a, b), clamped = std::clamp(a, 0, 3);
  EXPECT_EQ(largest.op(), Op::max);
  a.data() = 5;
  recompute(largest);
  recompute(clamped);
  EXPECT_EQ(largest.data(), 5);
  EXPECT_EQ(clamped.data(), 3);
}

TEST(StdMax, OfValuesConvertsNoConditionToBool) {
  int decided = 0;
  const Value a = 1, b = 2;
  const WatchRecording watch([&](const Condition&) { ++decided; }, nullptr);
  static_cast<void>(std::max(a, b));
  static_cast<void>(std::max({a, b}));
  static_cast<void>(std::clamp(a, b, b));
  EXPECT_EQ(decided, 0);
}

TEST(StdFunctions, AreNotAmbiguousWhereTheyAreUsedWithoutStd) {
  using std::max, std::min, std::exp, std::pow, std::isnan, std::fma;
  Value a = 1;
  const Value b = 2;
  EXPECT_EQ(max(a, b).data(), 2);
  EXPECT_EQ(max(b, b).data(), 2);
  EXPECT_EQ(min(a, 0.5).data(), 0.5);
  EXPECT_EQ(min(0.5, a * b).data(), 0.5);
  EXPECT_EQ(exp(a).data(), std::exp(1.0));
  EXPECT_EQ(pow(a, 2).data(), 1);
  EXPECT_EQ(fma(a, b, 1).data(), 3);
  EXPECT_FALSE(isnan(a));
}

template <class X, class Y>
concept HaveMax = requires(X x, Y y) { std::max(x, y); };

TEST(StdFunctions, OfNumbersAreUnchanged) {
  static_assert(std::is_same_v<decltype(std::max(1.0, 2.0)), const double&>);
  static_assert(std::is_same_v<decltype(std::max({1, 2})), int>);
  static_assert(std::is_same_v<decltype(std::pow(2.0, 3)), double>);
  static_assert(std::is_same_v<decltype(std::abs(-1)), int>);
  static_assert(!HaveMax<int, double> && HaveMax<int, Value>);
  const double low = 0, high = 1;
  EXPECT_EQ(&std::clamp(low, low, high), &low);
}

}  // namespace
}  // namespace gradwalk::std_test
