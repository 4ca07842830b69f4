// SPDX-License-Identifier: MIT
// Values and derivatives in special cases: kinks, ties, zero powers, negative bases, overflow, NaN; and the messages of
// find_nonfinite.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support.hpp"

namespace gradwalk::ops_edges_test {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double tiny = std::numeric_limits<double>::denorm_min();
const double nan = std::nan("");

struct Slopes {
  double data, dx, dy = 0;
};
MATCHER_P(Is, wanted, "") {
  const auto same = [](double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); };
  *result_listener << "data " << arg.data << ", dx " << arg.dx << ", dy " << arg.dy;
  return same(arg.data, wanted.data) && same(arg.dx, wanted.dx) && same(arg.dy, wanted.dy);
}

template <class F> Slopes at(double x_data, F f) {
  const Value x{x_data};
  const Value r = f(x);
  r.backward();
  return {r.data(), x.grad()};
}
template <class F> Slopes at(double x_data, double y_data, F f) {
  const Value x{x_data}, y{y_data};
  const Value r = f(x, y);
  r.backward();
  return {r.data(), x.grad(), y.grad()};
}

#define OP(name) [](const auto&... operands) { return name(operands...); }

TEST(Relu, HasNoSlopeAtZeroAndBelow) {
  for (const double x : {0.0, -0.0, -1.0, -tiny, -infinity}) EXPECT_THAT(at(x, OP(relu)), Is(Slopes{0, 0}));
  for (const double x : {tiny, 1.0, infinity}) EXPECT_THAT(at(x, OP(relu)), Is(Slopes{x, 1}));
  EXPECT_TRUE(std::isnan(at(nan, OP(relu)).data));
}

TEST(Abs, HasNoSlopeAtZero) {
  for (const double x : {0.0, -0.0}) EXPECT_THAT(at(x, OP(abs)), Is(Slopes{0, 0}));
  EXPECT_THAT(at(-tiny, OP(abs)), Is(Slopes{tiny, -1}));
  EXPECT_THAT(at(-infinity, OP(abs)), Is(Slopes{infinity, -1}));
  EXPECT_THAT(at(2, OP(abs)), Is(Slopes{2, 1}));
}

TEST(TheMaxOfRules, IsTheMaxOfTheTableAlsoForNan) {
  for (const double x : {nan, -1.0, 2.0})
    for (const double y : {nan, -1.0, 2.0}) {
      const double by_rule = rules::max(x, y), by_table = max(Value(x), y).data();
      EXPECT_TRUE(by_rule == by_table || (std::isnan(by_rule) && std::isnan(by_table))) << x << ", " << y;
    }
}

TEST(MaxAndMin, SplitTheGradientOfATieInHalf) {
  EXPECT_THAT(at(2, 3, OP(max)), Is(Slopes{3, 0, 1}));
  EXPECT_THAT(at(3, 2, OP(max)), Is(Slopes{3, 1, 0}));
  EXPECT_THAT(at(2, 3, OP(min)), Is(Slopes{2, 1, 0}));
  EXPECT_THAT(at(3, 2, OP(min)), Is(Slopes{2, 0, 1}));
  EXPECT_THAT(at(2, 2, OP(max)), Is(Slopes{2, 0.5, 0.5}));
  EXPECT_THAT(at(2, 2, OP(min)), Is(Slopes{2, 0.5, 0.5}));
  EXPECT_THAT(at(0.0, -0.0, OP(max)), Is(Slopes{0, 0.5, 0.5}));
  EXPECT_THAT(at(infinity, infinity, OP(min)), Is(Slopes{infinity, 0.5, 0.5}));
  EXPECT_THAT(at(2, [](const Value& x) { return max(x, x); }), Is(Slopes{2, 1}));
  EXPECT_THAT(at(2, [](const Value& x) { return max(x, 2); }), Is(Slopes{2, 0.5}));
}

TEST(Pow, WithExponentZeroIsOneWithoutASlope) {
  for (const double x : {0.0, -0.0, 1.0, -3.0, infinity, -infinity, tiny})
    EXPECT_THAT(at(x, [](const Value& v) { return pow(v, 0); }), Is(Slopes{1, 0})) << x;
}

TEST(Pow, OfZero) {
  EXPECT_THAT(at(0, [](const Value& v) { return pow(v, 1); }), Is(Slopes{0, 1}));
  EXPECT_THAT(at(0, [](const Value& v) { return pow(v, 2); }), Is(Slopes{0, 0}));
  EXPECT_THAT(at(0, [](const Value& v) { return pow(v, 0.5); }), Is(Slopes{0, infinity}));
  EXPECT_THAT(at(0, [](const Value& v) { return pow(v, -1); }), Is(Slopes{infinity, -infinity}));
}

TEST(Pow, OfANegativeBase) {
  EXPECT_THAT(at(-2, [](const Value& v) { return pow(v, 3); }), Is(Slopes{-8, 12}));
  EXPECT_THAT(at(-2, [](const Value& v) { return pow(v, -2); }), Is(Slopes{0.25, 0.25}));
  EXPECT_THAT(at(-8, [](const Value& v) { return pow(v, 1.0 / 3); }), Is(Slopes{nan, nan}));
}

TEST(Pow, OfTwoValuesHasNoSlopeInTheExponentWhereTheBaseIsZero) {
  EXPECT_THAT(at(0, 2, OP(pow)), Is(Slopes{0, 0, 0}));
  EXPECT_THAT(at(0, 1, OP(pow)), Is(Slopes{0, 1, 0}));
  EXPECT_THAT(at(0, 0, OP(pow)), Is(Slopes{1, 0, 0}));
  EXPECT_THAT(at(2, 0, OP(pow)), Is(Slopes{1, 0, std::log(2.0)}));
  EXPECT_THAT(at(2, 3, OP(pow)), Is(Slopes{8, 12, 8 * std::log(2.0)}));
  EXPECT_TRUE(std::isnan(at(-2, 2, OP(pow)).dy));
}

TEST(Sqrt, HasAnInfiniteSlopeAtZero) {
  EXPECT_THAT(at(0, OP(sqrt)), Is(Slopes{0, infinity}));
  EXPECT_THAT(at(-1, OP(sqrt)), Is(Slopes{nan, nan}));
}

TEST(DivAndLog, FollowIeeeAtZero) {
  EXPECT_THAT(at(1, 0, OP(div)), Is(Slopes{infinity, infinity, -infinity}));
  EXPECT_THAT(at(0, OP(log)), Is(Slopes{-infinity, infinity}));
  EXPECT_TRUE(std::isnan(at(-1, OP(log)).data));
}

TEST(SaturatedOps, HaveFiniteSlopes) {
  EXPECT_THAT(at(1000, OP(sigmoid)), Is(Slopes{1, 0}));
  EXPECT_THAT(at(-1000, OP(sigmoid)), Is(Slopes{0, 0}));
  EXPECT_THAT(at(1000, OP(softplus)), Is(Slopes{1000, 1}));
  EXPECT_THAT(at(-1000, OP(softplus)), Is(Slopes{0, 0}));
  EXPECT_THAT(at(0, OP(softplus)), Is(Slopes{std::log(2.0), 0.5}));
  EXPECT_THAT(at(1000, OP(tanh)), Is(Slopes{1, 0}));
  EXPECT_THAT(at(-1000, OP(exp)), Is(Slopes{0, 0}));
  EXPECT_THAT(at(1000, OP(exp)), Is(Slopes{infinity, infinity}));
  EXPECT_THAT(at(1000, OP(erf)), Is(Slopes{1, 0}));
  EXPECT_THAT(at(infinity, OP(atan)), Is(Slopes{std::atan(infinity), 0}));
}

TEST(SmallArguments, LoseNoPrecision) {
  EXPECT_THAT(at(1e-20, OP(log1p)), Is(Slopes{1e-20, 1}));
  EXPECT_THAT(at(1e-20, OP(expm1)), Is(Slopes{1e-20, 1}));
  EXPECT_THAT(at(tiny, OP(sin)), Is(Slopes{tiny, 1}));
}

TEST(Atan2, HasNoSlopeAtTheOrigin) { EXPECT_THAT(at(0, 0, OP(atan2)), Is(Slopes{0, 0, 0})); }

TEST(FmaxAndFmin, IgnoreNanAndSplitATie) {
  EXPECT_THAT(at(2, 3, OP(fmax)), Is(Slopes{3, 0, 1}));
  EXPECT_THAT(at(3, 2, OP(fmax)), Is(Slopes{3, 1, 0}));
  EXPECT_THAT(at(2, 3, OP(fmin)), Is(Slopes{2, 1, 0}));
  EXPECT_THAT(at(3, 2, OP(fmin)), Is(Slopes{2, 0, 1}));
  for (const double x : {2.0, 0.0, infinity, -infinity}) {
    EXPECT_THAT(at(x, x, OP(fmax)), Is(Slopes{x, 0.5, 0.5}));
    EXPECT_THAT(at(x, x, OP(fmin)), Is(Slopes{x, 0.5, 0.5}));
    EXPECT_THAT(at(x, nan, OP(fmax)), Is(Slopes{x, 1, 0}));
    EXPECT_THAT(at(nan, x, OP(fmax)), Is(Slopes{x, 0, 1}));
    EXPECT_THAT(at(x, nan, OP(fmin)), Is(Slopes{x, 1, 0}));
    EXPECT_THAT(at(nan, x, OP(fmin)), Is(Slopes{x, 0, 1}));
  }
  EXPECT_THAT(at(nan, nan, OP(fmax)), Is(Slopes{nan, 1, 0}));
  EXPECT_THAT(at(2, [](const Value& x) { return fmax(x, x); }), Is(Slopes{2, 1}));
}

TEST(Copysign, GivesItsSecondOperandNoGradient) {
  EXPECT_THAT(at(2, -3, OP(copysign)), Is(Slopes{-2, -1, 0}));
  EXPECT_THAT(at(-2, -3, OP(copysign)), Is(Slopes{-2, 1, 0}));
  EXPECT_THAT(at(-2, 0.0, OP(copysign)), Is(Slopes{2, -1, 0}));
  EXPECT_THAT(at(2, -0.0, OP(copysign)), Is(Slopes{-2, -1, 0}));
  EXPECT_THAT(at(infinity, -1, OP(copysign)), Is(Slopes{-infinity, -1, 0}));
  EXPECT_THAT(at(0, 1, OP(copysign)), Is(Slopes{0, 0, 0}));
  EXPECT_TRUE(std::signbit(at(0, -1, OP(copysign)).data));
  const auto steep = [](const Value& x, const Value& y) { return copysign(x, y) * infinity; };
  EXPECT_THAT(at(2, 1, steep), Is(Slopes{infinity, infinity, 0}));
  const Value x = 2, y = 1;
  EXPECT_EQ(derivatives(steep(x, y), {y})[0].data(), 0);
}

TEST(Fmod, HasTheNumberOfWholeDivisionsAsItsSlope) {
  EXPECT_THAT(at(7.5, 2, OP(fmod)), Is(Slopes{1.5, 1, -3}));
  EXPECT_THAT(at(-7.5, 2, OP(fmod)), Is(Slopes{-1.5, 1, 3}));
  EXPECT_THAT(at(7.5, -2, OP(fmod)), Is(Slopes{1.5, 1, 3}));
  EXPECT_THAT(at(1, 0.1, OP(fmod)), Is(Slopes{std::fmod(1, 0.1), 1, -9}));  // though 1 / 0.1 rounds to 10
  EXPECT_THAT(at(3, infinity, OP(fmod)), Is(Slopes{3, 1, 0}));
  EXPECT_TRUE(std::isnan(at(1, 0, OP(fmod)).data));
  EXPECT_TRUE(std::isnan(at(infinity, 1, OP(fmod)).data));
  EXPECT_EQ(hessian([](const std::vector<Value>& v) { return fmod(v[0], v[1]); }, {7.1, 0.3}),
            (std::vector<Numbers>{{0, 0}, {0, 0}}));
}

TEST(RoundingOps, RoundAsTheirNamesSayAndHaveNoSlope) {
  EXPECT_THAT(at(-2.5, OP(floor)), Is(Slopes{-3, 0}));
  EXPECT_THAT(at(-2.5, OP(ceil)), Is(Slopes{-2, 0}));
  EXPECT_THAT(at(-2.5, OP(trunc)), Is(Slopes{-2, 0}));
  EXPECT_THAT(at(-2.5, OP(round)), Is(Slopes{-3, 0}));  // A half is rounded away from 0.
  EXPECT_THAT(at(2.5, OP(round)), Is(Slopes{3, 0}));
  EXPECT_THAT(at(0.49999999999999994, OP(round)), Is(Slopes{0, 0}));
  EXPECT_THAT(at(infinity, OP(floor)), Is(Slopes{infinity, 0}));
  EXPECT_TRUE(std::signbit(at(-0.25, OP(ceil)).data));
}

TEST(RoundingOps, AreEvaluatedAgain) {
  Value x = 1.25;
  const Value step = x - floor(x), whole = x * round(x);
  whole.backward();
  EXPECT_EQ(x.grad(), 1);
  x.data() = 7.75;
  recompute(step);
  recompute(whole);
  EXPECT_EQ(step.data(), 0.75);
  EXPECT_EQ(whole.data(), 62);
}

TEST(Gelu, IsTheExactOneAndKeepsItsDigitsFarBelowZero) {
  EXPECT_THAT(at(0, OP(gelu)), Is(Slopes{0, 0.5}));
  EXPECT_THAT(at(40, OP(gelu)), Is(Slopes{40, 1}));
  EXPECT_DOUBLE_EQ(at(-10, OP(gelu)).data, -5 * std::erfc(0.7071067811865476 * 10));
  EXPECT_DOUBLE_EQ(at(1, OP(gelu)).data, 0.8413447460685429);
  EXPECT_DOUBLE_EQ(at(1, OP(gelu)).dx, 0.8413447460685429 + 0.24197072451914337);
}

TEST(InverseOps, HaveTheirSlopesUpToTheEdgesOfTheirDomains) {
  EXPECT_THAT(at(0, OP(cbrt)), Is(Slopes{0, infinity}));
  EXPECT_THAT(at(-8, OP(cbrt)), Is(Slopes{-2, 1.0 / 12}));
  EXPECT_THAT(at(1, OP(acosh)), Is(Slopes{0, infinity}));
  EXPECT_THAT(at(0.5, OP(acosh)), Is(Slopes{nan, nan}));
  EXPECT_THAT(at(-2, OP(acosh)), Is(Slopes{nan, nan}));
  EXPECT_DOUBLE_EQ(at(1 + 0x1p-40, OP(acosh)).dx, 1 / std::sqrt(0x1p-40 * (2 + 0x1p-40)));
  EXPECT_THAT(at(1, OP(atanh)), Is(Slopes{infinity, infinity}));
  EXPECT_DOUBLE_EQ(at(1 - 0x1p-40, OP(atanh)).dx, 1 / (0x1p-40 * (2 - 0x1p-40)));
  EXPECT_THAT(at(0, OP(log2)), Is(Slopes{-infinity, infinity}));
  EXPECT_THAT(at(0, OP(log10)), Is(Slopes{-infinity, infinity}));
  EXPECT_THAT(at(1024, OP(exp2)), Is(Slopes{infinity, infinity}));
  EXPECT_THAT(at(1000, OP(erfc)), Is(Slopes{0, 0}));
  EXPECT_THAT(at(-1000, OP(erfc)), Is(Slopes{2, 0}));
}

TEST(Lgamma, HasItsPolesAtZeroAndTheNegativeWholeNumbers) {
  EXPECT_EQ(at(1, OP(lgamma)).data, 0);
  EXPECT_NEAR(at(1, OP(lgamma)).dx, -0.57721566490153287, 1e-15);
  EXPECT_THAT(at(0, OP(lgamma)), Is(Slopes{infinity, -infinity}));
  EXPECT_THAT(at(-2, OP(lgamma)), Is(Slopes{infinity, nan}));
  EXPECT_THAT(at(-2, OP(digamma)), Is(Slopes{nan, infinity}));
  EXPECT_THAT(at(infinity, OP(lgamma)), Is(Slopes{infinity, infinity}));
}

TEST(Lgamma, HasExactDerivativesOfEveryOrder) {
  for (const double shift : {0.0, -4.0}) {  // Below 0.5 the derivatives are reflected.
    const Value x{2.5 + shift}, first = derivatives(lgamma(x), {x})[0], second = derivatives(first, {x})[0],
                                third = derivatives(second, {x})[0], fourth = derivatives(third, {x})[0];
    if (shift == 0) {
      EXPECT_DOUBLE_EQ(first.data(), 0.7031566406452432);
      EXPECT_DOUBLE_EQ(second.data(), 0.4903577561002349);
      EXPECT_NEAR(third.data(), -0.23620405164172736, 1e-15);
      EXPECT_NEAR(fourth.data(), 0.2239058488172521, 1e-14);
    } else {
      EXPECT_DOUBLE_EQ(first.data(), 0.7031566406452432);  // digamma(-1.5) equals digamma(2.5)
      EXPECT_NEAR(second.data(), 2 * 4.934802200544679 - 0.4903577561002349, 1e-14);
      EXPECT_NEAR(third.data(), -0.23620405164172736, 1e-12);
    }
  }
}

TEST(FindNonfinite, FindsNothingInAFiniteGraph) {
  const Value a{1};
  EXPECT_FALSE(find_nonfinite(a * a + exp(a)));
}

TEST(FindNonfinite, NamesTheOpItsInputsAndItsDomain) {
  const Value a = Value(0).label("a"), b = Value(1).label("b");
  const Value bad = log(a), root = bad * b + 1;
  const auto found = find_nonfinite(root);
  ASSERT_TRUE(found);
  EXPECT_TRUE(same_node(found->node, bad));
  EXPECT_EQ(found->message, "a node is -inf: log(a=0); log needs x > 0");
}

TEST(FindNonfinite, NamesALabelAndEveryInput) {
  const Value a = Value(3).label("a"), zero{0};
  EXPECT_EQ(find_nonfinite((a / zero).label("ratio") * a)->message, "'ratio' is inf: /(a=3, 0); div needs y != 0");
  EXPECT_EQ(find_nonfinite(pow(-a, 0.5))->message, "a node is nan: **(-3, 0.5); pow needs x >= 0 || y == floor(y)");
  EXPECT_EQ(find_nonfinite(exp(a * 1000))->message, "a node is inf: exp(3000)");
  EXPECT_EQ(find_nonfinite(custom(nan, {{a, 1.0}, {zero, 2.0}}, "mine"))->message, "a node is nan: mine(a=3, 0)");
}

TEST(FindNonfinite, NamesALeaf) {
  const Value a = Value(nan).label("a"), b{infinity}, one{1};
  EXPECT_EQ(find_nonfinite(a * one)->message, "'a' is nan, and it is a leaf: set its data");
  EXPECT_EQ(find_nonfinite(b)->message, "a node is inf, and it is a leaf: set its data");
}

TEST(FindNonfinite, FindsPartsOfFusedSums) {
  const Value huge = Value(1e200).label("huge"), one{1};
  const Value root = one + huge * huge;
  const auto found = find_nonfinite(root);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->message, "a node is inf: *(huge=1e+200, huge=1e+200)");
  EXPECT_TRUE(same_node(found->node, root.inputs()[1]));
}

TEST(FindNonfinite, NamesTheFirstInTopologicalOrder) {
  const Value x = Value(infinity).label("x"), y{1}, z = Value(infinity).label("z");
  EXPECT_EQ(find_nonfinite(x * y + z)->node.label(), "x");
  EXPECT_EQ(find_nonfinite(z + x * y)->node.label(), "z");
  Value sum = x * y;
  sum += z * y;
  sum += z;
  EXPECT_EQ(find_nonfinite(sum)->node.label(), "x");
}

TEST(FindNonfinite, FindsAPartOfAFusedSumBeforeALaterOperandThatIsNotFinite) {
  const Value huge = Value(1e200).label("huge"), z = Value(infinity).label("z");
  EXPECT_EQ(find_nonfinite(huge * huge + z)->message, "a node is inf: *(huge=1e+200, huge=1e+200)");
  EXPECT_EQ(find_nonfinite(z + huge * huge)->node.label(), "z");
  Value sum = huge * huge;
  sum += huge * exp(z);
  EXPECT_EQ(find_nonfinite(sum)->message, "a node is inf: *(huge=1e+200, huge=1e+200)");
}

TEST(HypotAndAtan2, HaveTheirDerivativesOnTheAxesAndNoneAtTheOrigin) {
  const auto hypotenuse = [](const Value& x, const Value& y) { return hypot(x, y); };
  EXPECT_THAT(at(0, 0, hypotenuse), Is(Slopes{0, 0, 0}));
  EXPECT_THAT(at(1, 0, hypotenuse), Is(Slopes{1, 1, 0}));
  EXPECT_THAT(at(0, 1, hypotenuse), Is(Slopes{1, 0, 1}));
  const auto angle = [](const Value& x, const Value& y) { return atan2(x, y); };
  EXPECT_THAT(at(0, 0, angle), Is(Slopes{0, 0, 0}));
  EXPECT_THAT(at(0, 1, angle), Is(Slopes{0, 1, 0}));
  EXPECT_THAT(at(1, 0, angle), Is(Slopes{std::atan2(1.0, 0.0), 0, -1}));
}

TEST(Comparisons, AreExactlyOneOrZero) {
  const Value x = 1, y = 2;
  const auto data = [](const Condition& condition) { return Value(condition).data(); };
  EXPECT_EQ(data(x < y), 1);
  EXPECT_EQ(data(x <= y), 1);
  EXPECT_EQ(data(x != y), 1);
  EXPECT_EQ(data(x == x), 1);
  EXPECT_EQ(data(y < x), 0);
  EXPECT_EQ(data(y <= x), 0);
  EXPECT_EQ(data(x != x), 0);
  EXPECT_EQ(data(x == y), 0);
}

// (r - x) / y is -2.9999999999999996 here, because of rounding.
TEST(Fmod, HasAWholeDerivativeByItsDivisor) {
  const auto remainder = [](const Value& x, const Value& y) { return fmod(x, y); };
  EXPECT_EQ(at(7.431532021663774, 1.9, remainder).dy, -3);
}

}  // namespace
}  // namespace gradwalk::ops_edges_test
