// SPDX-License-Identifier: MIT
// Values in code written for double: templates that use <cmath> and std::numeric_limits, isnan() and its like, casts,
// and nodes as keys of containers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <unordered_map>
#include <unordered_set>

#include "support.hpp"

namespace gradwalk::number_test {
namespace {

using testing::ElementsAre;
using Limits = std::numeric_limits<Value>;
using Data = std::numeric_limits<double>;

// Calls every function of <cmath> that Values have, as a template for double does.
template <class T> std::vector<T> every_function(const T& x, const T& y, const T& z) {
  using std::abs, std::fabs, std::exp, std::exp2, std::expm1, std::log, std::log2, std::log10, std::log1p, std::sqrt;
  using std::acosh, std::atanh, std::erf, std::erfc, std::floor, std::ceil, std::round, std::trunc, std::pow;
  using std::asinh, std::lgamma;
  using std::atan2, std::hypot, std::fmod, std::copysign, std::fmax, std::fmin, std::fdim, std::fma, std::max, std::min;
  using std::cbrt, std::sin, std::cos, std::tan, std::asin, std::acos, std::atan, std::sinh, std::cosh, std::tanh;
  std::vector<T> all{abs(x),     fabs(x),    exp(x),       exp2(x),        expm1(x),   log(y),         log2(y),
                     log10(y),   log1p(y),   sqrt(y),      cbrt(x),        sin(x),     cos(x),         tan(x),
                     asin(x),    acos(x),    atan(x),      sinh(x),        cosh(x),    tanh(x),        asinh(x),
                     acosh(y),   atanh(x),   erf(x),       erfc(x),        floor(y),   ceil(y),        round(y),
                     trunc(y),   pow(y, x),  atan2(x, y),  hypot(x, y),    fmod(z, y), copysign(y, x), fmax(x, y),
                     fmin(x, y), fdim(y, x), fma(x, y, z), hypot(x, y, z), max(x, y),  min(x, y),      lgamma(y)};
  // A number on either side, of any type.
  for (const T& one : {hypot(x, 2.0), hypot(2, x), fmod(z, 2), fmod(7.5f, y), fmax(0.0, x), fmax(x, 0), fmin(1L, x),
                       copysign(1.0, x), copysign(y, -1), pow(y, 2), pow(2, y), atan2(1, x), fdim(1, x), fdim(x, -3.0),
                       fma(x, 2, z), fma(2.0, 3, z), fma(x, y, 1), hypot(x, 1, 2.0), hypot(1, 2.0, x)})
    all.push_back(one);
  return all;
}

TEST(TheFunctionsOfCmath, AreFoundByTemplatesAndGiveTheNumbersOfDouble) {
  const std::vector<double> wanted = every_function(-0.3, 1.7, 7.9);
  const std::vector<Value> got = every_function(Value(-0.3), Value(1.7), Value(7.9));
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_DOUBLE_EQ(got[i].data(), wanted[i]) << "function " << i;
}

TEST(TheFunctionsOfCmath, HaveTheGradientsOfTheirValuesAlsoOutsideTheTable) {
  const auto check = [](const auto& f) {
    const GradientCheck result = check_gradient(f, {-0.3, 1.7, 7.9}, 1e-8);
    EXPECT_TRUE(result) << result.message;
  };
  check([](const auto& v) { return fabs(v[0]); });
  check([](const auto& v) { return fma(v[0], v[1], v[2]) * fma(2, v[0], v[1]); });
  check([](const auto& v) { return hypot(v[0], v[1], v[2]) * hypot(1, v[1], 2); });
  check([](const auto& v) { return fdim(v[2], v[1]) + fdim(v[0], v[1]) + fdim(1, v[0]); });
}

template <class T> std::vector<T> more_of_cpp(const T& x, const T& y, const T& z) {
  using std::clamp, std::lerp, std::ldexp;
  T count = x;
  const T before = count++, after = ++count, above = count--, below = --count;
  return {clamp(x, y, z),
          clamp(z, x, y),
          clamp(T(x + y), x, y),
          lerp(x, y, z),
          lerp(x, y, T(1)),
          lerp(y, x, T(0)),
          ldexp(x, 3),
          ldexp(z, -1030),
          before,
          after,
          above,
          below,
          count};
}

TEST(CodeForDouble, FindsClampLerpLdexpIncrementsAndEnumerations) {
  const std::vector<double> wanted = more_of_cpp(-0.3, 1.7, 7.9);
  const std::vector<Value> got = more_of_cpp(Value(-0.3), Value(1.7), Value(7.9));
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i].data(), wanted[i], 1e-15 * std::abs(wanted[i])) << i;
  enum Units { dozen = 12 };
  EXPECT_EQ((Value(2) * dozen).data(), 24);
  EXPECT_EQ((dozen - Value(2)).data(), 10);
  EXPECT_EQ(clamp(Value(5), 0, 2.5).data(), 2.5);
  EXPECT_EQ(lerp(1, Value(3), 2u).data(), 5);
  EXPECT_EQ(ldexp(Value(0x1p-1000), 2000).data(), 0x1p1000);
  for (const double x : {0.0, -1.5, 0x1.fffffffffffffp1023, 0x1p-1074, 0x1.8p-1000, Data::infinity()})
    for (const int exponent : {-2097, -1074, -1024, -1023, 1023, 1024, 2097, 100000, Limits::max_exponent,
                               std::numeric_limits<int>::min(), std::numeric_limits<int>::max()})
      EXPECT_EQ(ldexp(Value(x), exponent).data(), std::ldexp(x, exponent)) << x << ", " << exponent;
}

template <class T>
concept HasConstants = requires { typename std::bool_constant<(T(1.0), true)>; };

// A constant has no tape, so its gradient would be lost. The compiler refuses `constexpr Value`; const is right.
TEST(CodeForDouble, HasConstButNotConstexprValues) {
  static_assert(HasConstants<double> && !HasConstants<Value>);
  const Value eps = Limits::epsilon();
  const Value sum = eps * 2;
  sum.backward();
  EXPECT_EQ(eps.grad(), 2);
}

TEST(CodeForDouble, RecordsClampLerpAndLdexp) {
  const auto check = [](const auto& f) {
    const GradientCheck result = check_gradient(f, {-0.3, 1.7, 7.9}, 1e-8);
    EXPECT_TRUE(result) << result.message;
  };
  check([](const auto& v) { return clamp(v[0], v[1], v[2]) * clamp(v[1], v[0], 3); });
  check([](const auto& v) { return lerp(v[0], v[1], v[2]) + lerp(v[0], 2, v[1]) + lerp(1, v[2], 0.25f); });
  check([](const auto& v) { return ldexp(v[0] * v[1], 4); });
  check([](const auto& v) {
    auto x = v[0], y = v[1];
    const auto before = x++ * v[2];
    return before + ++x * --y;
  });
  // using std::clamp must not compare without recording
  using std::clamp;
  const Value x = 5, low = 0, high = 2;
  Value inside = clamp(x, low, high);
  EXPECT_EQ(inside.op(), Op::min);
}

TEST(Fdim, IsZeroWhereItsOperandsAreEqualAndNotANumberWhereOneIs) {
  EXPECT_EQ(fdim(Value(Data::infinity()), Value(Data::infinity())).data(), 0);
  EXPECT_TRUE(std::isnan(fdim(Value(Data::quiet_NaN()), 1).data()));
  EXPECT_TRUE(std::isnan(fdim(1, Value(Data::quiet_NaN())).data()));
}

TEST(Fma, IsTheSumOfAProductRoundedTwice) {
  const double x = 1 + 0x1p-30, y = 1 - 0x1p-30;
  ASSERT_NE(std::fma(x, y, -1.0), x * y - 1);
  const Value a = x, b = y, c = -1.0, r = fma(a, b, c);
  EXPECT_EQ(r.data(), x * y - 1);
  EXPECT_EQ(r.op(), Op::add);
  EXPECT_EQ(r.inputs()[0].op(), Op::mul);
}

TEST(NumericLimits, AreThoseOfDoubleAsValues) {
  static_assert(Limits::is_specialized && Limits::is_iec559 && Limits::is_signed && !Limits::is_integer);
  static_assert(Limits::digits == Data::digits && Limits::digits10 == Data::digits10 && Limits::radix == 2);
  static_assert(std::is_same_v<decltype(Limits::max()), Value>);
  EXPECT_EQ(Limits::max().data(), Data::max());
  EXPECT_EQ(Limits::min().data(), Data::min());
  EXPECT_EQ(Limits::lowest().data(), Data::lowest());
  EXPECT_EQ(Limits::epsilon().data(), Data::epsilon());
  EXPECT_EQ(Limits::round_error().data(), Data::round_error());
  EXPECT_EQ(Limits::infinity().data(), Data::infinity());
  EXPECT_EQ(Limits::denorm_min().data(), Data::denorm_min());
  EXPECT_TRUE(std::isnan(Limits::quiet_NaN().data()) && std::isnan(Limits::signaling_NaN().data()));
  EXPECT_EQ(std::numeric_limits<const Value>::max().data(), Data::max());
}

TEST(NumericLimits, ServeASearchForTheSmallest) {
  const std::vector<Value> all{3, 1, 2};
  Value least = Limits::max();
  for (const Value& one : all) least = min(least, one);
  least.backward();
  EXPECT_EQ(least.data(), 1);
  EXPECT_EQ(all[1].grad(), 1);
}

TEST(Classification, AgreesWithThatOfDouble) {
  for (const double x : {0.0, -0.0, 1.0, -1.0, Data::max(), Data::lowest(), Data::denorm_min(), Data::infinity(),
                         -Data::infinity(), Data::quiet_NaN(), -Data::quiet_NaN()}) {
    const Value v = x;
    EXPECT_EQ(isnan(v), std::isnan(x)) << x;
    EXPECT_EQ(isinf(v), std::isinf(x)) << x;
    EXPECT_EQ(isfinite(v), std::isfinite(x)) << x;
    EXPECT_EQ(signbit(v), std::signbit(x)) << x;
  }
}

template <class T> T finite_or_zero(const T& x) {
  using std::isfinite;
  if (isfinite(x)) return x * x;
  return T(0);
}

TEST(Classification, IsReportedWhenItBecomesABool) {
  int decided = 0;
  const Value x = 3;
  const WatchRecording watch([&](const Condition&) { ++decided; }, nullptr);
  const Condition all[] = {isnan(x), isinf(x), isfinite(x), signbit(x)};
  EXPECT_EQ(decided, 0);
  for (const Condition& one : all) static_cast<void>(static_cast<bool>(one));
  EXPECT_EQ(decided, 4);
  EXPECT_EQ(finite_or_zero(x).data(), 9);
  EXPECT_EQ(decided, 5);
  EXPECT_EQ(finite_or_zero(3.0), 9);
}

TEST(Classification, CanBeRecordedAndIsEvaluatedAgain) {
  Value x = 2;
  const Value repaired = select(isnan(x), 0, x * 3), sign = select(signbit(x), -1, 1);
  x.data() = Data::quiet_NaN();
  recompute(repaired);
  EXPECT_EQ(repaired.data(), 0);
  x.data() = -2;
  recompute(repaired);
  recompute(sign);
  EXPECT_EQ(repaired.data(), -6);
  EXPECT_EQ(sign.data(), -1);
}

static_assert(std::is_constructible_v<double, Value> && std::is_constructible_v<int, const Value&>);
static_assert(!std::is_convertible_v<Value, double> && !std::is_convertible_v<Value, int>);
static_assert(!std::is_constructible_v<bool, Value>);  // `if (x)` does not compile.

TEST(ACast, ReturnsTheDataAndIsReported) {
  const Value x = 2.75, y = x * 2;
  EXPECT_EQ(static_cast<double>(y), 5.5);
  EXPECT_EQ(static_cast<int>(x), 2);
  EXPECT_EQ(static_cast<float>(Value(0.5)), 0.5f);
  const std::vector<Value> values{x, y, 1};
  EXPECT_THAT(std::vector<double>(values.begin(), values.end()), ElementsAre(2.75, 5.5, 1));
  std::vector<double> left;
  const WatchRecording watch(nullptr, [&](const Value& one) { left.push_back(one.data()); });
  static_cast<void>(static_cast<std::size_t>(y));
  static_cast<void>(static_cast<double>(Value(3)));  // This number was never in a graph.
  EXPECT_THAT(left, ElementsAre(5.5));
}

TEST(NodesAsKeys, AreComparedByIdentity) {
  const Value a = 1, b = 1, c = a;
  std::unordered_map<Value, int, IdentityHash, SameNode> count;
  for (const Value& one : {a, b, c, a * b}) ++count[one];
  EXPECT_EQ(count.size(), 3u);
  EXPECT_EQ(count[a], 2);
  EXPECT_EQ(count[b], 1);
  const std::unordered_set<Value, IdentityHash, SameNode> all{a, b, c};
  EXPECT_EQ(all.size(), 2u);
}

TEST(AComparison, IsPrintedLikeABool) {
  std::ostringstream out;
  const Value a = 1;
  out << (a < 2) << (a > 2) << std::boolalpha << isnan(a);
  EXPECT_EQ(out.str(), "10false");
}

// Derivatives of functions of one Value, and of a span.

TEST(DerivativesOfOneValue, TakeANumberAndReturnNumbers) {
  const auto cube = [](const Value& x) { return x * x * x; };
  EXPECT_EQ(gradient(cube, 2), 12);
  EXPECT_EQ(hessian(cube, 2.0), 12);
  EXPECT_EQ(value_and_gradient(cube, 2.0f), (std::pair<double, double>{8, 12}));
  EXPECT_TRUE(check_gradient(cube, 2, 1e-8));
  EXPECT_THAT(jacobian([](const Value& x) { return std::vector<Value>{x, x * x, Value(3)}; }, 5),
              ElementsAre(1, 10, 0));
  EXPECT_EQ(gradient([](const auto& x) { return sin(x); }, 0), 1);
}

Value product(std::span<const Value> x) { return x[0] * x[1]; }

TEST(DerivativesOfASpan, TakeContiguousNumbers) {
  const std::array<double, 2> array{3, 5};
  const double plain[] = {3, 5};
  EXPECT_THAT(gradient(product, array), ElementsAre(5, 3));
  EXPECT_THAT(gradient(product, plain), ElementsAre(5, 3));
  EXPECT_THAT(gradient(product, std::span(plain)), ElementsAre(5, 3));
  EXPECT_THAT(gradient(product, {3, 5}), ElementsAre(5, 3));
  EXPECT_EQ(value_and_gradient(product, array).first, 15);
  EXPECT_EQ(hessian(product, array), (std::vector<Numbers>{{0, 1}, {1, 0}}));
  EXPECT_THAT(hessian_vector_product(product, array, Numbers{1, 2}), ElementsAre(2, 1));
  EXPECT_TRUE(check_gradient(product, array));
}

TEST(DerivativesOfARoot, TakeInputsInBraces) {
  const Value x = 3, y = 5;
  const std::vector<Value> both = derivatives(x * x * y, {x, y});
  EXPECT_EQ(both[0].data(), 30);
  EXPECT_EQ(both[1].data(), 9);
  EXPECT_EQ(derivatives(both[0], {x})[0].data(), 10);
}

}  // namespace
}  // namespace gradwalk::number_test
