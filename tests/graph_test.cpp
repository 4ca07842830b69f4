// SPDX-License-Identifier: MIT
// Looking at a graph and changing it by hand: op, inputs, topological_order, propagate, recompute, custom nodes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>

#include "support.hpp"

namespace gradwalk {
namespace {

using testing::ElementsAre;
using tests::error_of;

std::vector<std::string> labels(const std::vector<Value>& values) {
  std::vector<std::string> result;
  for (const Value& value : values) result.push_back(value.label());
  return result;
}

std::string text_of(double number) { return (std::ostringstream() << number).str(); }

std::vector<double> data(const std::vector<Value>& values) {
  std::vector<double> result;
  for (const Value& value : values) result.push_back(value.data());
  return result;
}

TEST(Op, IsTheOperationThatMadeTheNode) {
  const Value a{2}, b{3};
  EXPECT_EQ(a.op(), Op::leaf);
  EXPECT_EQ(a.op_name(), "");
  EXPECT_EQ((a + b).op(), Op::add);
  EXPECT_EQ((a + b).op_name(), "+");
  EXPECT_EQ((a * b).op(), Op::mul);
  EXPECT_EQ((a - 1).op_name(), "-");
  EXPECT_EQ((1 / a).op_name(), "/");
  EXPECT_EQ(pow(a, 3).op_name(), "**");
  EXPECT_EQ(tanh(a).op_name(), "tanh");
  EXPECT_EQ((-a).op_name(), "neg");
}

TEST(Op, OfAFusedSumIsAdd) {
  const Value a{2}, b{3};
  EXPECT_EQ((a * b + a).op(), Op::add);
  EXPECT_EQ((a + a * b).op(), Op::add);
  EXPECT_EQ((a * b + a * b + a * 2).op(), Op::add);
  EXPECT_EQ((a * b + a).op_name(), "+");
}

TEST(Inputs, AreInOperandOrder) {
  const Value a{2}, b{3};
  EXPECT_THAT(data((a - b).inputs()), ElementsAre(2, 3));
  EXPECT_THAT(data((b - a).inputs()), ElementsAre(3, 2));
  EXPECT_THAT(data((5 - a).inputs()), ElementsAre(5, 2));
  EXPECT_THAT(data((a / 5).inputs()), ElementsAre(2, 5));
  EXPECT_THAT(data(pow(a, 3).inputs()), ElementsAre(2, 3));
  EXPECT_THAT(data(exp(a).inputs()), ElementsAre(2));
}

TEST(Inputs, OfANodeUsedTwiceAreTwo) {
  const Value a{2};
  const std::vector<Value> inputs = (a * a).inputs();
  ASSERT_EQ(inputs.size(), 2u);
  EXPECT_TRUE(same_node(inputs[0], a) && same_node(inputs[1], a));
}

TEST(Inputs, OfASumOfProductsAreTheNodesThatWereWritten) {
  const Value a{2}, b{3}, c{4};
  EXPECT_THAT(data((a * b + c).inputs()), ElementsAre(6, 4));
  EXPECT_THAT(data((c + a * b).inputs()), ElementsAre(4, 6));
  EXPECT_THAT(data((c + 5 * b).inputs()), ElementsAre(4, 15));
  EXPECT_THAT(data((b * 5 + c).inputs()), ElementsAre(15, 4));
  EXPECT_THAT(data((a * b + b * c + a).inputs()), ElementsAre(18, 2));
  EXPECT_THAT(data((a * b + b * c).inputs()), ElementsAre(6, 12));
}

TEST(Inputs, AreTheSameNodesEveryTime) {
  const Value a{2}, b{3};
  const Value sum = a * b + 5 * b;
  const std::vector<Value> once = sum.inputs(), again = sum.inputs();
  ASSERT_EQ(once.size(), 2u);
  EXPECT_TRUE(same_node(once[0], again[0]) && same_node(once[1], again[1]));
}

TEST(TopologicalOrder, IsMicrogradsDepthFirstOrder) {
  Value a{2}, b{3}, c{4};
  a.label("a"), b.label("b"), c.label("c");
  const Value ab = (a * b).label("ab"), ca = (c - a).label("ca"), bc = (b / c).label("bc");
  const Value left = (ca * ab).label("left"), root = (left - bc).label("root");
  EXPECT_THAT(labels(topological_order(root)), ElementsAre("c", "a", "ca", "b", "ab", "left", "bc", "root"));
}

TEST(TopologicalOrder, VisitsASharedNodeOnceBeforeItsFirstUser) {
  Value a{2};
  a.label("a");
  const Value twice = (a + a).label("twice"), square = (twice * twice).label("square");
  EXPECT_THAT(labels(topological_order(square)), ElementsAre("a", "twice", "square"));
  EXPECT_THAT(labels(topological_order(a)), ElementsAre("a"));
}

TEST(TopologicalOrder, ShowsEveryPartOfALongSum) {
  const Value a{2}, b{3};
  const Value sum = a * b + 5 * b + a + 7;
  EXPECT_THAT(data(topological_order(sum)), ElementsAre(2, 3, 6, 5, 15, 21, 23, 7, 30));
}

TEST(Propagate, OverTheReversedOrderEqualsBackward) {
  const Value a{2}, b{3};
  const Value root = tanh(a * b * 0.1 + b * 0.2 + a) * a + b;
  root.backward();
  const double da = a.grad(), db = b.grad();
  std::vector<Value> order = topological_order(root);
  for (Value& node : order) node.grad() = 0;
  order.back().grad() = 1;
  for (auto node = order.rbegin(); node != order.rend(); ++node) node->propagate();
  EXPECT_DOUBLE_EQ(a.grad(), da);
  EXPECT_DOUBLE_EQ(b.grad(), db);
}

TEST(Propagate, MayBeSeededBeforeTopologicalOrderIsCalled) {
  Value a{2}, b{3}, c{4};
  Value sum = a * b + c;
  sum.grad() = 1;
  const std::vector<Value> order = topological_order(sum);
  for (auto node = order.rbegin(); node != order.rend(); ++node) node->propagate();
  EXPECT_EQ(a.grad(), 3);
  EXPECT_EQ(b.grad(), 2);
  EXPECT_EQ(c.grad(), 1);
}

TEST(Propagate, OfASumReachesItsTermsAndNoFurther) {
  Value a{2}, b{3}, c{4};
  Value sum = a * b + c;
  sum.grad() = 5;
  sum.propagate();
  EXPECT_EQ(sum.inputs()[0].grad(), 5);
  EXPECT_EQ(c.grad(), 5);
  EXPECT_EQ(a.grad(), 0);
  EXPECT_EQ(b.grad(), 0);
}

TEST(Propagate, NodeByNodeAsInTheLectureGivesTheGradientsOfBackward) {
  Value x1{2}, x2{5}, w1{-3}, w2{1}, b{6};
  Value n = x1 * w1 + x2 * w2 + b, o = n * n;
  o.grad() = 1;
  o.propagate();
  n.propagate();
  EXPECT_EQ(n.grad(), 10);
  const Value products = n.inputs()[0];
  EXPECT_EQ(products.grad(), 10);
  products.propagate();
  for (const Value& product : products.inputs()) {
    EXPECT_EQ(product.grad(), 10);
    product.propagate();
  }
  EXPECT_EQ(x1.grad(), -30);
  EXPECT_EQ(w2.grad(), 50);
  EXPECT_EQ(b.grad(), 10);
}

TEST(Propagate, OfALeafDoesNothing) {
  Value a{2};
  a.grad() = 3;
  a.propagate();
  EXPECT_EQ(a.grad(), 3);
}

TEST(Recompute, EvaluatesTheSameGraphFromItsLeavesPresentData) {
  Value a{2}, b{3};
  const Value c = a * b, root = tanh(c) + a * 10 + b * a + 1;
  a.data() = 0;
  b.data() = 7;
  recompute(root);
  EXPECT_EQ(c.data(), 0);
  EXPECT_EQ(root.data(), 1);
  root.backward();
  EXPECT_EQ(a.grad(), 7 + 10 + 7);
  EXPECT_EQ(b.grad(), 0);
}

TEST(Recompute, OfAnExpandedGraphGivesTheSameNumbers) {
  Value a{2}, b{3};
  const Value root = a * b + b * 5 + a;
  EXPECT_EQ(topological_order(root).size(), 7u);
  a.data() = 10;
  recompute(root);
  EXPECT_EQ(root.data(), 55);
  EXPECT_THAT(data(root.inputs()), ElementsAre(45, 10));
}

TEST(Recompute, ThrowsForACustomNode) {
  const Value a{2};
  const Value root = custom(1, {{a, 1.0}}, "mine") + 1;
  EXPECT_EQ(
      error_of([&] { recompute(root); }),
      "recompute: needs ops with a rule of their own, got the custom node 'mine'; record the graph again instead");
}

TEST(Custom, DepositsTheUsersDerivatives) {
  const Value a{2}, b{3};
  const Value node = custom(10, {{a, 0.5}, {b, -2.0}, {a, 1.0}}, "mine");
  const Value root = node * 3;
  root.backward();
  EXPECT_EQ(node.data(), 10);
  EXPECT_EQ(node.op(), Op::custom);
  EXPECT_EQ(node.op_name(), "mine");
  EXPECT_THAT(data(node.inputs()), ElementsAre(2, 3, 2));
  EXPECT_EQ(a.grad(), 4.5);
  EXPECT_EQ(b.grad(), -6);
}

TEST(Custom, TakesVectorsAndIsNamedCustomByDefault) {
  const std::vector<Value> inputs{1, 2, 3};
  const std::vector<double> derivatives{4, 5, 6};
  const Value node = custom(7, inputs, derivatives);
  EXPECT_EQ(node.op_name(), "custom");
  node.backward(2);
  EXPECT_EQ(inputs[0].grad(), 8);
  EXPECT_EQ(inputs[2].grad(), 12);
}

TEST(AStepBack, IsCalledWhenTheGradientOfItsNodeIsComplete) {
  Value a = 2, b = 3;
  const Value product = a * b;
  std::vector<std::string> calls;
  const StepBack square = [&calls, x = product](const Value& node) mutable {
    calls.push_back("square of " + text_of(x.data()) + " with " + text_of(node.grad()));
    x.grad() += 2 * x.data() * node.grad();
  };
  const Value squared = custom(36, std::vector{product}, square, "square");
  const Value root = squared * 0.5 + squared + a;  // It is used twice, and called once, when its gradient is complete.
  root.backward();
  EXPECT_THAT(calls, testing::ElementsAre("square of 6 with 1.5"));
  EXPECT_EQ(product.grad(), 18);
  EXPECT_EQ(a.grad(), 55);
  EXPECT_EQ(b.grad(), 36);
  root.backward();
  EXPECT_EQ(a.grad(), 110);
  EXPECT_EQ(squared.inputs().size(), 1u);
  EXPECT_EQ(squared.op_name(), "square");
}

TEST(AStepBack, MayBeTheOnlyKindOfNode) {  // as in a Python program with its own _backward
  Value a = 2, b = 3;
  const auto multiply = [](const Value& x, const Value& y) {
    return custom(x.data() * y.data(), std::vector{x, y}, [x = x, y = y](const Value& node) mutable {
      x.grad() += y.data() * node.grad();
      y.grad() += x.data() * node.grad();
    });
  };
  Value x = a;
  for (int i = 0; i < 1000; ++i) x = multiply(x, i % 2 == 0 ? b : Value(1 / 3.0));
  x.backward();
  EXPECT_NEAR(a.grad(), 1, 1e-12);
  EXPECT_NEAR(b.grad(), 1000.0 / 3, 1e-9);
}

TEST(AStepBack, MayRecordDropAndDifferentiateOtherGraphs) {
  Value a = 2;
  std::optional<Value> dropped = sin(a) * 3;
  Value root = custom(1, std::vector{a, *dropped}, [&](const Value& node) {
    dropped.reset();
    Value own = 5;
    Value graph = own;
    for (int i = 0; i < 10'000; ++i) graph = graph * own;
    (own * own + own).backward();
    a.grad() += own.grad() * node.grad();
  });
  root += a * a;
  root.backward();
  EXPECT_EQ(a.grad(), 4 + 11);
}

TEST(AStepBack, IsDestroyedWithItsNodeAndMayHoldTheLastHandlesOfOthers) {
  const auto counter = std::make_shared<int>(0);
  const Value a = 2, newest_before = sin(a);
  {
    Value x = a;
    for (int i = 0; i < 10'000; ++i) {
      Value next = custom(1, std::vector{x}, [counter, x](const Value&) {});
      x = std::move(next);
    }
    EXPECT_EQ(counter.use_count(), 10'001);
  }
  EXPECT_EQ(counter.use_count(), 1);
  const Value newest = sin(a);
  EXPECT_EQ(newest.id() - newest_before.id(), 4u);  // Everything between was freed.
}

TEST(AStepBack, IsAnErrorInPassesThatNeedDerivatives) {
  const Value a = 2;
  const Value node = custom(4, std::vector{a}, [](const Value&) {}, "own");
  EXPECT_THAT(
      [&] { pass(node * 2); },
      testing::ThrowsMessage<Error>("pass: needs nodes whose derivatives are known, got 'own', whose backward step is "
                                    "a function; use backward(), or give the node derivatives"));
  EXPECT_THROW(derivatives(node, std::vector{a}), Error);
  EXPECT_THROW(recompute(node), Error);
  EXPECT_THROW(custom(1, std::vector{a}, StepBack{}), Error);
  EXPECT_EQ(a.grad(), 0);
}

TEST(AStepBack, ThatThrowsLeavesTheEngineUsable) {
  Value a = 2;
  const Value node = custom(4, std::vector{a}, [](const Value&) { throw std::runtime_error("no"); });
  const Value root = node + a * a;
  EXPECT_THROW(root.backward(), std::runtime_error);
  a.grad() = 0;
  const Value other = a * a;
  other.backward();
  EXPECT_EQ(a.grad(), 4);
}

TEST(AStepBack, ThatThrowsLeavesLaterPassesRight) {
  Value a = 0.5;
  const Value p = sin(a);
  {
    const Value node = custom(3, std::vector{p}, [](const Value&) { throw std::runtime_error("no"); });
    EXPECT_THROW((node * p).backward(), std::runtime_error);
  }
  a.grad() = 0;
  (p * 2).backward();
  EXPECT_EQ(p.grad(), 2);
  EXPECT_EQ(a.grad(), 2 * std::cos(0.5));
}

TEST(AStepBack, ThatReleasesTheRootLosesNoGradient) {
  const Value a = 2, b = 3, c = 5;
  Value p = a * b;
  std::optional<Value> root;
  root = p * custom(1, std::vector{c}, [&](const Value&) { root.reset(); });
  root->backward();
  const Value later = std::move(p) + c;
  EXPECT_EQ(later.inputs().at(0).grad(), 1);
}

TEST(Custom, OfNoInputsIsALeaf) { EXPECT_EQ(custom(7, {}).op(), Op::leaf); }

TEST(Custom, NeedsOneDerivativePerInput) {
  const std::vector<Value> inputs{1, 2, 3};
  const std::vector<double> derivatives{4, 5};
  EXPECT_EQ(error_of([&] { (void)custom(7, inputs, derivatives); }),
            "custom: needs one derivative per input, got 2 for 3 inputs; give each input its own");
}

TEST(Custom, MayHaveThousandsOfInputsButNotAnyNumber) {
  const std::vector<Value> inputs(4088, Value(1));
  const std::vector<double> derivatives(inputs.size(), 0.5);
  for (int i = 0; i < 20; ++i) {
    Value root = custom(7, inputs, derivatives);
    root = root + custom(7, inputs, derivatives);
    root.backward();
  }
  EXPECT_EQ(inputs[0].grad(), 20 * 4088);
  const std::vector<Value> too_many(100000, Value(1));
  EXPECT_EQ(error_of([&] { (void)custom(7, too_many, std::vector<double>(100000)); }),
            "custom: needs at most 4088 inputs, got 100000; add up groups of inputs first");
}

}  // namespace
}  // namespace gradwalk
