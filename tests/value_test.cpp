// SPDX-License-Identifier: MIT
// A Value as a C++ type: conversions, operands of its operators, data() and grad(), comparisons, identity, printing,
// and moved-from Values.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <sstream>
#include <type_traits>

#include "support.hpp"

namespace gradwalk {
namespace {

using tests::error_of;

static_assert(std::is_same_v<decltype(std::declval<Value&>().data()), double&>);
static_assert(std::is_same_v<decltype(std::declval<Value&>().grad()), double&>);
static_assert(std::is_same_v<decltype(std::declval<const Value&>().data()), double>);
static_assert(std::is_same_v<decltype(std::declval<const Value&>().grad()), double>);
static_assert(std::is_same_v<decltype(std::declval<Value>().data()), double>);
static_assert(std::is_same_v<decltype(std::declval<Value>().grad()), double>);
static_assert(std::is_nothrow_move_constructible_v<Value> && std::is_nothrow_move_assignable_v<Value>);
static_assert(std::is_convertible_v<double, Value> && std::is_convertible_v<int, Value>);
static_assert(!std::is_convertible_v<Value, double> && !std::is_convertible_v<const char*, Value>);

template <class T> class ValueOfAnyNumber : public testing::Test {};
using Numbers =
    testing::Types<bool, char, signed char, unsigned char, short, unsigned short, int, unsigned, long, unsigned long,
                   long long, unsigned long long, std::size_t, std::int8_t, std::uint16_t, float, double, long double>;
TYPED_TEST_SUITE(ValueOfAnyNumber, Numbers);

TYPED_TEST(ValueOfAnyNumber, ConvertsAndMixesOnBothSidesOfEveryOperator) {
  TypeParam n{1};
  const Value braces{n}, copied = n, x{4.0};
  EXPECT_EQ(braces.data(), 1);
  EXPECT_EQ(copied.data(), 1);
  EXPECT_EQ((x + n).data(), 5);
  EXPECT_EQ((n + x).data(), 5);
  EXPECT_EQ((x - n).data(), 3);
  EXPECT_EQ((n - x).data(), -3);
  EXPECT_EQ((x * n).data(), 4);
  EXPECT_EQ((n * x).data(), 4);
  EXPECT_EQ((x / n).data(), 4);
  EXPECT_EQ((n / x).data(), 0.25);
  EXPECT_EQ(pow(x, n).data(), 4);
  EXPECT_EQ(pow(n, x).data(), 1);
  EXPECT_EQ(max(x, n).data(), 4);
  EXPECT_EQ(min(n, x).data(), 1);
  Value y = 2.0;
  y += n;
  y -= n;
  y *= n;
  y /= n;
  EXPECT_EQ(y.data(), 2);
  EXPECT_TRUE(n < x && x > n && n <= x && x >= n && n != x && !(x == n));
}

TEST(ANamedValue, MovedIntoAnOperationTwiceIsConsumedOnce) {
  const Value a{0.5}, other{0.25};
  const Value below = a * other;
  Value x = a * a, y = tanh(a), z = a + other;
  const Value square = std::move(x) * std::move(x);
  const Value twice = std::move(y) + std::as_const(y);
  const Value none = std::as_const(z) - std::move(z);
  EXPECT_EQ(square.data(), 0.0625);
  EXPECT_EQ(twice.data(), 2 * std::tanh(0.5));
  EXPECT_EQ(none.data(), 0);
  (square + twice + none + below).backward();
  EXPECT_DOUBLE_EQ(a.grad(), 4 * 0.125 + 2 * (1 - std::tanh(0.5) * std::tanh(0.5)) + 0.25);
}

TEST(Value, IsALeafWithDataZeroByDefault) {
  const Value x;
  EXPECT_EQ(x.data(), 0);
  EXPECT_EQ(x.grad(), 0);
  EXPECT_EQ(x.op(), Op::leaf);
  EXPECT_THAT(x.inputs(), testing::IsEmpty());
}

// Named Values and several kinds of temporaries on each side: the result and gradients must not depend on the kind.
template <class Operator> void expect_every_way(Operator apply, double result, double dx, double dy) {
  const auto each = [&](auto combine) {
    Value x{6.0}, y{2.0};
    const Value r = combine(x, y);
    r.backward();
    EXPECT_EQ(r.data(), result);
    EXPECT_EQ(x.grad(), dx);
    EXPECT_EQ(y.grad(), dy);
  };
  each([&](Value& x, Value& y) { return apply(x, y); });
  each([&](const Value& x, const Value& y) { return apply(x, y); });
  each([&](Value& x, const Value& y) { return apply(x, Value(y)); });
  each([&](Value& x, Value& y) { return apply(Value(x), y); });
  each([&](Value& x, Value& y) { return apply(Value(x), Value(y)); });
  each([&](Value& x, Value& y) { return apply(x * y / y, y); });
  each([&](Value& x, Value& y) { return apply(x, y * x / x); });
  each([&](Value& x, Value& y) { return apply(x * 1.0, 1.0 * y); });
  each([&](Value& x, Value& y) { return apply(x + 0.0, 0.0 + y); });
}

TEST(Arithmetic, TakesNamedValuesAndTemporariesOnEitherSide) {
  expect_every_way([](auto&& x, auto&& y) { return std::forward<decltype(x)>(x) + std::forward<decltype(y)>(y); }, 8, 1,
                   1);
  expect_every_way([](auto&& x, auto&& y) { return std::forward<decltype(x)>(x) - std::forward<decltype(y)>(y); }, 4, 1,
                   -1);
  expect_every_way([](auto&& x, auto&& y) { return std::forward<decltype(x)>(x) * std::forward<decltype(y)>(y); }, 12,
                   2, 6);
  expect_every_way([](auto&& x, auto&& y) { return std::forward<decltype(x)>(x) / std::forward<decltype(y)>(y); }, 3,
                   0.5, -1.5);
}

TEST(Arithmetic, WithANumberOnEitherSideHasTheRightGradient) {
  const auto slope = [](auto f) {
    const Value x{4.0};
    const Value r = f(x);
    r.backward();
    return std::pair{r.data(), x.grad()};
  };
  using testing::Pair;
  EXPECT_THAT(slope([](auto& x) { return x + 2; }), Pair(6, 1));
  EXPECT_THAT(slope([](auto& x) { return 2 + x; }), Pair(6, 1));
  EXPECT_THAT(slope([](auto& x) { return x - 2; }), Pair(2, 1));
  EXPECT_THAT(slope([](auto& x) { return 2 - x; }), Pair(-2, -1));
  EXPECT_THAT(slope([](auto& x) { return x * 2; }), Pair(8, 2));
  EXPECT_THAT(slope([](auto& x) { return 2 * x; }), Pair(8, 2));
  EXPECT_THAT(slope([](auto& x) { return x / 2.0; }), Pair(2, 0.5));
  EXPECT_THAT(slope([](auto& x) { return 16.0 / x; }), Pair(4, -1));
  EXPECT_THAT(slope([](auto& x) { return pow(x, 2); }), Pair(16, 8));
  EXPECT_THAT(slope([](auto& x) { return pow(2, x); }), Pair(16, 16 * std::log(2.0)));
  EXPECT_THAT(slope([](auto& x) { return -x; }), Pair(-4, -1));
  EXPECT_THAT(slope([](auto& x) { return +x; }), Pair(4, 1));
}

TEST(CompoundAssignment, RebindsItsHandleAndNoOther) {
  const auto rebinds = [](auto assign, double result) {
    Value x{6.0};
    const Value before = x;
    Value& self = assign(x);
    EXPECT_EQ(&self, &x);
    EXPECT_EQ(x.data(), result);
    EXPECT_EQ(before.data(), 6);
    EXPECT_FALSE(same_node(x, before));
    EXPECT_TRUE(same_node(x.inputs()[0], before));
  };
  const Value two{2.0};
  rebinds([&](Value& x) -> Value& { return x += two; }, 8);
  rebinds([&](Value& x) -> Value& { return x -= two; }, 4);
  rebinds([&](Value& x) -> Value& { return x *= two; }, 12);
  rebinds([&](Value& x) -> Value& { return x /= two; }, 3);
  rebinds([&](Value& x) -> Value& { return x += 2; }, 8);
  rebinds([&](Value& x) -> Value& { return x -= 2; }, 4);
  rebinds([&](Value& x) -> Value& { return x *= 2; }, 12);
  rebinds([&](Value& x) -> Value& { return x /= 2; }, 3);
  rebinds([&](Value& x) -> Value& { return x += two * two; }, 10);
  rebinds([&](Value& x) -> Value& { return x += x; }, 12);
  rebinds([&](Value& x) -> Value& { return x -= x; }, 0);
  rebinds([&](Value& x) -> Value& { return x *= x; }, 36);
  rebinds([&](Value& x) -> Value& { return x += x * x; }, 42);
}

TEST(CompoundAssignment, LeavesOtherHandlesToAProductAlone) {
  const Value a{2}, b{3}, c{4};
  Value p = a * b;
  const Value q = p;
  p += c;
  EXPECT_EQ(q.data(), 6);
  EXPECT_EQ(q.op(), Op::mul);
  EXPECT_EQ(p.data(), 10);
}

TEST(DataAndGrad, OfANamedValueCanBeWritten) {
  Value p{1.0};
  p.grad() = 4;
  p.data() -= 0.25 * p.grad();
  EXPECT_EQ(p.data(), 0);
  const Value copy = p;
  p.data() = 7;
  EXPECT_EQ(copy.data(), 7);
}

TEST(DataAndGrad, AreDoublesToTemplatesAndToPrintf) {
  Value p{1.0};
  p.grad() += 0.5;
  auto gradient = p.grad();
  EXPECT_EQ(std::max(gradient, 0.25), 0.5);
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%g %g", p.data(), p.grad());
  EXPECT_STREQ(text.data(), "1 0.5");
  gradient = 3;
  EXPECT_EQ(p.grad(), 0.5);
}

TEST(DataAndGrad, ReferencesStayValidWhenASumUsesTheirNode) {
  Value a{2}, b{3};
  Value p = a * b;
  double &data = p.data(), &grad = p.grad();
  Value s = p + a;
  s += a * b;
  s.backward();
  EXPECT_EQ(data, 6);
  EXPECT_EQ(grad, 1);
  data = 1;
  EXPECT_EQ(std::as_const(p).data(), 1);
}

TEST(Comparisons, CompareTheData) {
  const Value a{1}, b{2}, other_b{2}, nan{std::nan("")};
  EXPECT_TRUE(a < b && a <= b && b > a && b >= a && a != b && b == other_b && b <= other_b && b >= other_b);
  EXPECT_FALSE(a > b || a >= b || b < a || b <= a || a == b || b != other_b);
  EXPECT_TRUE(b == 2.0 && 2.0 == b && a < 1.5 && 1.5 > a && a != 2 && 0 <= a);
  EXPECT_TRUE(nan != nan && !(nan == nan) && !(nan < a) && !(nan >= a));
}

TEST(Identity, ComparesNodesAndNotData) {
  const Value a{1}, b{1};
  const Value copy = a;
  EXPECT_TRUE(same_node(a, copy));
  EXPECT_EQ(a.id(), copy.id());
  EXPECT_FALSE(same_node(a, b));
  EXPECT_NE(a.id(), b.id());
  EXPECT_TRUE(same_node((a + b).inputs()[1], b));
}

TEST(Printing, ShowsDataAndGradientInTheirShortestForm) {
  Value a{2};
  a.grad() = 64;
  std::ostringstream out;
  out << a << ' ' << Value(0.1) << ' ' << Value(-1e300) << ' ' << Value(std::numeric_limits<double>::infinity());
  EXPECT_EQ(out.str(),
            "Value(data=2, grad=64) Value(data=0.1, grad=0) Value(data=-1e+300, grad=0) Value(data=inf, grad=0)");
  EXPECT_EQ(to_string(Value(std::nan(""))), "Value(data=nan, grad=0)");
}

TEST(Labels, BelongToTheNodeAndMayBeReplaced) {
  Value a{2};
  EXPECT_EQ(a.label(), "");
  Value& self = a.label("a");
  EXPECT_EQ(&self, &a);
  const Value copy = a;
  EXPECT_EQ(copy.label(), "a");
  a.label("b");
  EXPECT_EQ(copy.label(), "b");
  const Value product = (a * copy).label("a squared");
  EXPECT_EQ(product.label(), "a squared");
}

TEST(Labels, DoNotPassToTheNextNodeInTheSameMemory) {
  for (int i = 0; i < 3; ++i) {
    Value leaf{1};
    EXPECT_EQ(leaf.label(), "");
    leaf.label("leaf");
    Value node = leaf * leaf;
    EXPECT_EQ(node.label(), "");
    node.label("node");
    EXPECT_EQ((node + leaf).label(), "");
  }
}

TEST(MovedFromValue, IsAnErrorInEveryCall) {
  Value a{1}, empty{2};
  const Value taken = std::move(empty);
  const std::string rest = ": needs a Value, got one that was moved from; assign to it before you use it again";
  EXPECT_EQ(error_of([&] { empty.data(); }), "data" + rest);
  EXPECT_EQ(error_of([&] { (void)std::as_const(empty).data(); }), "data" + rest);
  EXPECT_EQ(error_of([&] { empty.grad(); }), "grad" + rest);
  EXPECT_EQ(error_of([&] { (void)std::as_const(empty).grad(); }), "grad" + rest);
  EXPECT_EQ(error_of([&] { empty.backward(); }), "backward" + rest);
  EXPECT_EQ(error_of([&] { empty.propagate(); }), "propagate" + rest);
  EXPECT_EQ(error_of([&] { (void)empty.detach(); }), "detach" + rest);
  EXPECT_EQ(error_of([&] { (void)empty.op(); }), "op" + rest);
  EXPECT_EQ(error_of([&] { (void)empty.inputs(); }), "inputs" + rest);
  EXPECT_EQ(error_of([&] { empty.label("x"); }), "label" + rest);
  EXPECT_EQ(error_of([&] { (void)empty.label(); }), "label" + rest);
  EXPECT_EQ(error_of([&] { (void)empty.id(); }), "id" + rest);
  EXPECT_EQ(error_of([&] { const Value copy = empty; }), "copy" + rest);
  EXPECT_EQ(error_of([&] { a = empty; }), "copy" + rest);
  EXPECT_EQ(error_of([&] { (void)(a + empty); }), "add" + rest);
  EXPECT_EQ(error_of([&] { (void)(empty - a); }), "sub" + rest);
  EXPECT_EQ(error_of([&] { (void)(2 * empty); }), "mul" + rest);
  EXPECT_EQ(error_of([&] { empty += a; }), "add" + rest);
  EXPECT_EQ(error_of([&] { (void)tanh(empty); }), "tanh" + rest);
  EXPECT_EQ(error_of([&] { (void)topological_order(empty); }), "topological_order" + rest);
  EXPECT_EQ(error_of([&] { recompute(empty); }), "recompute" + rest);
  EXPECT_EQ(error_of([&] { (void)find_nonfinite(empty); }), "find_nonfinite" + rest);
  EXPECT_EQ(error_of([&] { (void)custom(1, {{empty, 1.0}}); }), "custom" + rest);
  EXPECT_EQ(error_of([&] { (void)(empty < a); }), "data" + rest);
  EXPECT_EQ(a.data(), 1);
  empty = a * taken;
  EXPECT_EQ(empty.data(), 2);
}

TEST(Moving, ToItselfAndSwappingKeepsNodes) {
  Value a{1}, b{2};
  Value& same = a;
  a = std::move(same);
  EXPECT_EQ(a.data(), 1);
  std::swap(a, b);
  EXPECT_EQ(a.data(), 2);
  EXPECT_EQ(b.data(), 1);
  b = *&b;
  EXPECT_EQ(b.data(), 1);
}

}  // namespace
}  // namespace gradwalk

// In a program that uses both namespaces, the names of ops must mean for plain numbers what they meant before.
namespace overloads {
using namespace std;
using namespace gradwalk;

static_assert(is_same_v<decltype(max(1.0, 2.0)), const double&>);
static_assert(is_same_v<decltype(min(1, 2)), const int&>);
static_assert(is_same_v<decltype(abs(-2.5)), double>);
static_assert(is_same_v<decltype(abs(-2)), int>);
static_assert(is_same_v<decltype(pow(2.0, 3)), double>);
static_assert(is_same_v<decltype(sqrt(2.0f)), float>);
static_assert(is_same_v<decltype(max(Value(1), 2.0)), Value>);
static_assert(is_same_v<decltype(abs(Value(1))), Value>);
static_assert(is_same_v<decltype(isnan(1.0)), bool> && is_same_v<decltype(fabs(1.0f)), float>);
static_assert(is_same_v<decltype(fma(1.0, 2.0, 3.0)), double> && is_same_v<decltype(hypot(1.0, 2.0, 3.0)), double>);
static_assert(is_same_v<decltype(isnan(Value(1))), Condition> && is_same_v<decltype(fma(1, 2, Value(3))), Value>);

TEST(Overloads, OfPlainNumbersAreTheStandardOnes) {
  EXPECT_EQ(max(1.0, 2.0), 2.0);
  EXPECT_EQ(abs(-2.5), 2.5);
  EXPECT_EQ(max(Value(1), 2.0).data(), 2);
  EXPECT_EQ(max(Value(1), Value(2)).data(), 2);
  EXPECT_EQ(abs(Value(-2.5)).data(), 2.5);
}

}  // namespace overloads
