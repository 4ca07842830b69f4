// SPDX-License-Identifier: MIT
// Comparisons, recorded choices, stop(), and WatchRecording.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

#include "support.hpp"

namespace gradwalk::choice_test {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// The derivative of f, recorded at one point and evaluated at another.
template <class F> double replayed(F f, double recorded_at, double at) {
  Value x = recorded_at;
  const Value slope = derivatives(f(x), std::vector{x})[0];
  x.data() = at;
  recompute(slope);
  return slope.data();
}

TEST(ARecordedDerivative, IsRightPastTheKinkOfRelu) {
  const auto f = [](const Value& x) { return relu(x) * x; };
  EXPECT_EQ(replayed(f, 1, -1), 0);
  EXPECT_EQ(replayed(f, -1, 3), 6);
}

TEST(ARecordedDerivative, IsRightPastTheKinksOfEveryOp) {
  EXPECT_EQ(replayed([](const Value& x) { return abs(x); }, 1, -1), -1);
  EXPECT_EQ(replayed([](const Value& x) { return abs(x); }, 1, 0), 0);
  EXPECT_EQ(replayed([](const Value& x) { return max(x, 2) * 3; }, 5, 1), 0);
  EXPECT_EQ(replayed([](const Value& x) { return max(x, 2) * 3; }, 1, 2), 1.5);
  EXPECT_EQ(replayed([](const Value& x) { return min(x, 2) * 3; }, 5, 1), 3);
  EXPECT_EQ(replayed([](const Value& x) { return pow(x, 2); }, 0, 3), 6);
  EXPECT_EQ(replayed([](const Value& x) { return hypot(x, 0.0); }, 0, -2), -1);
  EXPECT_EQ(replayed([](const Value& x) { return atan2(x, 0.0); }, 0, 4), 0);
  EXPECT_EQ(replayed([](const Value& x) { return select(x < 1, x * x, 5 * x); }, 0, 2), 5);
}

TEST(ARecordedDerivative, IsRightWhereAZeroGradientMeetsAnInfiniteDerivative) {
  const auto f = [](const Value& x) { return x * sqrt(x); };  // x times the infinite derivative of sqrt at 0
  EXPECT_EQ(replayed(f, 0, 4), 3);
}

TEST(Select, ChoosesAgainOnReplay) {
  Value x = 1, y = 2;
  const Value larger = select(x < y, y, x), number = select(x < y, 10, 20);
  EXPECT_EQ(larger.data(), 2);
  EXPECT_EQ(number.data(), 10);
  x.data() = 5;
  recompute(larger);
  recompute(number);
  EXPECT_EQ(larger.data(), 5);
  EXPECT_EQ(number.data(), 20);
}

TEST(Select, GivesAGradientOnlyToTheChosenOperand) {
  Value x = 0, a = 2, b = 3;
  const Value result = select(x == 0, a * a, 1 / x * b);  // The other branch divides by 0.
  result.backward();
  EXPECT_EQ(a.grad(), 4);
  EXPECT_EQ(b.grad(), 0);
  EXPECT_EQ(x.grad(), 0);
  const Value hard = select(x == 0, 0.0 * a, infinity * b) * infinity;  // an infinite gradient at the choice
  hard.backward();
  EXPECT_EQ(b.grad(), 0);
}

TEST(Select, TakesNumbersOnEitherSideAndEveryComparison) {
  Value x = 1, y = 2;
  const auto both = [](const Value& one, double expected) {
    EXPECT_EQ(one.data(), expected);
    recompute(one);
    EXPECT_EQ(one.data(), expected);
  };
  both(select(x < y, x, 7), 1);
  both(select(x > y, x, 7), 7);
  both(select(x <= 1, 7, y), 7);
  both(select(1 >= x, y, 7), 2);
  both(select(x == y, 1, 2), 2);
  both(select(x != y, 1, 2), 1);
  both(select(0.1 < x, y + 1, x), 3);
  both(select(x, y, 7), 2);  // A Value as a condition holds if it is not 0.
  both(select(true, x, y), 1);
}

TEST(Select, HasThreeInputs) {
  const Value a = 1, b = 2;
  const Value result = select(a < b, a, 4);
  EXPECT_EQ(result.op(), Op::select);
  const std::vector<Value> inputs = result.inputs();
  ASSERT_EQ(inputs.size(), 3u);
  EXPECT_EQ(inputs[0].op(), Op::less);
  EXPECT_EQ(inputs[0].data(), 1);
  EXPECT_TRUE(same_node(inputs[1], a));
  EXPECT_EQ(inputs[2].op(), Op::constant);
  EXPECT_EQ(inputs[2].data(), 4);
  result.backward();
  EXPECT_EQ(a.grad(), 1);
}

TEST(Select, IsANumberUnderNoGrad) {
  const Value a = 1, b = 2;
  const NoGrad guard;
  const Value result = select(a < b, a, b);
  EXPECT_EQ(result.op(), Op::leaf);
  EXPECT_EQ(result.data(), 1);
}

TEST(Select, CanBeDifferentiatedTwice) {
  const ScalarFunction huber = [](const std::vector<Value>& x) {
    return select(abs(x[0]) < 1, 0.5 * x[0] * x[0], abs(x[0]) - 0.5);
  };
  for (const double at : {-2.0, -0.5, 0.25, 3.0}) {
    EXPECT_TRUE(check_gradient(huber, {at}));
    EXPECT_EQ(hessian(huber, {at})[0][0], std::abs(at) < 1 ? 1 : 0);
  }
}

TEST(Select, CanBeWalkedNamedAndWrittenAsCode) {
  const Expression expression = parse("a = 3; b = 2; c = select(less(a, b), a * b, b)");
  const Snapshot graph = snapshot(expression.root);
  const std::size_t root = graph.root();
  EXPECT_EQ(graph.nodes[root].locals, (std::vector<double>{0, 0, 1}));
  EXPECT_EQ(graph.nodes[graph.nodes[root].operands[0]].name, "a < b");
  EXPECT_EQ(local_formula(graph, root, 1), "select((a < b) != 0, 1, 0)");
  EXPECT_THAT(to_string(to_code(graph, Language::cpp)), testing::HasSubstr("Value c = select(t1, t2, b);"));
  EXPECT_THAT(to_string(to_code(graph, Language::pytorch)), testing::HasSubstr("c = torch.where(t1 != 0, t2, b)"));
}

TEST(ACondition, ConvertsToBool) {
  const Value a = 1, b = 2;
  const bool less = a < b;
  EXPECT_TRUE(less);
  EXPECT_TRUE(a < b && !(b < a));
  EXPECT_EQ((a < b) ? 1 : 2, 1);
  EXPECT_TRUE(same_node(std::max(a, b), b));
  std::vector<Value> values{3, 1, 2};
  std::sort(values.begin(), values.end());
  EXPECT_EQ(values[0].data(), 1);
  EXPECT_EQ((a < b) == (b > a), true);
  static_assert(std::totally_ordered<Value>);
}

TEST(ACondition, OwnsItsOperands) {
  Value x = 1;
  const Condition kept = x * 2 < x + 5;
  x = 100;
  for (int i = 0; i < 100; ++i) x = sin(x);
  const Value result = select(kept, 1, 2);
  recompute(result);
  EXPECT_EQ(result.data(), 1);
}

TEST(ACondition, IsRecordedWhenItIsAFactor) {
  Value x = 3;
  const Value masked = (x > 0) * x;
  masked.backward();
  EXPECT_EQ(masked.data(), 3);
  EXPECT_EQ(x.grad(), 1);
  x.data() = -3;
  recompute(masked);
  EXPECT_EQ(masked.data(), 0);
}

TEST(Stop, PassesTheValueAndNoGradient) {
  Value x = 3;
  const Value y = x * stop(x);
  y.backward();
  EXPECT_EQ(x.grad(), 3);
  x.data() = 5;
  recompute(y);
  EXPECT_EQ(y.data(), 25);
  EXPECT_EQ(x.stop().op(), Op::stop);
  EXPECT_EQ(replayed([](const Value& at) { return at * stop(at); }, 3, 5), 5);
  const Value endless = stop(x) * infinity;  // no gradient, not 0 times infinity
  x.grad() = 0;
  endless.backward(infinity);
  EXPECT_EQ(x.grad(), 0);
}

TEST(Stop, KeepsTheGraphWhileDetachDoesNot) {
  Value x = 2;
  const Value fixed = x.detach();
  EXPECT_EQ(fixed.op(), Op::leaf);
  x.data() = 5;
  EXPECT_EQ(fixed.data(), 2);
}

TEST(AWatchedRecording, ReportsDecisionsAndNumbersThatLeaveTheGraph) {
  std::vector<bool> decisions;
  std::vector<double> left;
  const Value a = 1, b = 2;
  {
    const WatchRecording watch([&](const Condition& one) { decisions.push_back(one.holds() && (a < b)); },
                               [&](const Value& one) { left.push_back(one.data()); });
    const Value chosen = select(a < b, a, b);
    EXPECT_TRUE(decisions.empty());
    if (a < b && b != a) decisions.push_back(false);
    const Value fixed = (a + b).detach();
    EXPECT_THAT(left, testing::ElementsAre(3));
    Value c, d;
    const NoGrad guard;
    c = a * 10;
    d = c + 1;
  }
  EXPECT_THAT(decisions, testing::ElementsAre(true, true, false));
  EXPECT_THAT(left, testing::ElementsAre(3, 10, 11));
  if (a > b) decisions.push_back(true);
  EXPECT_EQ(decisions.size(), 3u);
}

TEST(AWatchedRecording, NestsAndMayThrow) {
  int outer = 0;
  const Value a = 1;
  const WatchRecording watch([&](const Condition&) { ++outer; }, nullptr);
  {
    const WatchRecording inner([](const Condition&) { throw Error("record", "no branch", "one", "use select()"); },
                               nullptr);
    EXPECT_THROW(static_cast<void>(a < 2 ? 1 : 0), Error);
  }
  EXPECT_TRUE(a < 2);
  EXPECT_EQ(outer, 1);
}

// On a tape of its own, where no comparison of another test comes just before a graph.
class Decisions : public testing::Test {
  Tape tape_;
  UseTape use_{tape_};
};

TEST_F(Decisions, AreListedAgainWhereARecordWasPopped) {
  const Value a = 1, b = 2;
  {
    const Value popped = a * b;
    EXPECT_TRUE(a < b);
  }
  const Value product = a * b;
  EXPECT_TRUE(Reading(product).decisions().empty());
  EXPECT_FALSE(b < a);
  const Value result = product * b;
  ASSERT_EQ(Reading(result).decisions().size(), 1u);
  EXPECT_FALSE(Reading(result).decisions()[0].holds);
}

TEST_F(Decisions, AtOnePlaceAreOneEntry) {
  const Value a = 1, b = 2, product = a * b;
  for (int k = 0; k < 3; ++k) EXPECT_TRUE(a < b);
  EXPECT_TRUE(product < 3);
  const Value sum = product + b;
  EXPECT_TRUE(a < sum);
  const Value result = sum * b;
  EXPECT_EQ(Reading(result).decisions().size(), 2u);
}

TEST_F(Decisions, OfATemporaryAreListedBeforeIt) {
  const Value a = 1, b = 2, first = a * b;
  EXPECT_TRUE(a < b);
  EXPECT_TRUE(a + b < 4);
  EXPECT_TRUE(a < b);
  const Value result = first * b;
  EXPECT_EQ(Reading(result).decisions().size(), 1u);
}

TEST(SoftmaxCrossEntropy, DoesNotKeepTheLargestScoreOfItsRecording) {
  std::vector<Value> scores{0, 0};
  const Value loss = softmax_cross_entropy(scores, 0);
  EXPECT_NEAR(loss.data(), std::log(2.0), 1e-15);
  scores[0].data() = 1000;
  recompute(loss);
  EXPECT_EQ(loss.data(), 0);
  scores[0].data() = -1000;
  recompute(loss);
  EXPECT_EQ(loss.data(), 1000);
  loss.backward();
  EXPECT_EQ(scores[0].grad(), -1);
  EXPECT_EQ(scores[1].grad(), 1);
}

TEST(SoftmaxCrossEntropy, TakesALabelThatIsAValue) {
  std::vector<Value> scores{0.5, -1, 2};
  Value label = 1;
  const Value loss = softmax_cross_entropy(scores, label);
  for (const std::size_t now : {0u, 1u, 2u}) {
    label.data() = static_cast<double>(now);
    recompute(loss);
    for (Value& score : scores) score.grad() = 0;
    loss.backward();
    std::vector<Value> again{0.5, -1, 2};
    const Value expected = softmax_cross_entropy(again, now);
    expected.backward();
    EXPECT_EQ(loss.data(), expected.data());
    for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(scores[i].grad(), again[i].grad(), 1e-15);
  }
}

}  // namespace
TEST(Condition, OfANumberCanBeCopied) {
  const Value a{1.0};
  const Condition first = a < 2.0;
  Condition second = first;
  second = a < 0.0;
  second = first;
  EXPECT_TRUE(second);
  EXPECT_EQ(select(second, a, 5.0).data(), 1);
}

}  // namespace gradwalk::choice_test
