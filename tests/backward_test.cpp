// SPDX-License-Identifier: MIT
// The effect of backward() on gradients, as in the first table of docs/semantics.md: seeds, repeated passes, shared
// graphs, several graphs on one tape, and products of zero and infinity.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <limits>
#include <random>

#include "support.hpp"

namespace gradwalk {
namespace {

using tests::sized;
constexpr double infinity = std::numeric_limits<double>::infinity();

TEST(Backward, SetsTheRootsGradientToOneOrToTheSeed) {
  const Value a{2};
  Value root = a * a;
  root.backward();
  EXPECT_EQ(root.grad(), 1);
  root.backward(-3);
  EXPECT_EQ(root.grad(), -3);
  EXPECT_EQ(a.grad(), 4 - 12);
}

TEST(Backward, OfALeafSetsItsGradientToTheSeed) {
  Value a{2};
  a.grad() = 7;
  a.backward();
  EXPECT_EQ(a.grad(), 1);
  a.backward(5);
  EXPECT_EQ(a.grad(), 5);
}

TEST(Backward, TwiceAccumulatesInLeavesButNotInside) {
  Value a{2}, b{3};
  Value c = a * b, d = c * c, root = d + c;
  root.backward();
  root.backward();
  EXPECT_EQ(a.grad(), 2 * 39);
  EXPECT_EQ(b.grad(), 2 * 26);
  EXPECT_EQ(c.grad(), 13);
  EXPECT_EQ(d.grad(), 1);
}

// A sum takes over the record of a consumed product, but not of a product that has a gradient from a pass.
TEST(AProduct, KeepsItsGradientAsARootWhenALaterSumUsesIt) {
  const Value a{2}, b{3}, c{5};
  const std::vector<std::function<Value(Value)>> ways{
      [&](Value p) { return std::move(p) + c; },     [&](Value p) { return c + std::move(p); },
      [&](Value p) { return std::move(p) - c; },     [&](Value p) { return c - std::move(p); },
      [&](Value p) { return std::move(p) + a * c; }, [&](Value p) { return a * c + std::move(p); },
      [&](Value p) { return std::move(p) + 7; },     [&](Value p) { return 7 + std::move(p); },
  };
  for (std::size_t way = 0; way < ways.size(); ++way) {
    for (const bool is_sum : {false, true}) {
      Value p = is_sum ? a * b + b * c : a * b;
      const double data = p.data();
      p.backward(4);
      const Value later = ways[way](std::move(p));
      const std::vector<Value> inputs = later.inputs();
      const auto found = std::find_if(inputs.begin(), inputs.end(), [&](const Value& one) { return one == data; });
      ASSERT_NE(found, inputs.end());
      EXPECT_EQ(found->grad(), 4) << "way " << way << (is_sum ? " of a sum" : " of a product");
    }
  }
}

TEST(AProduct, KeepsItsGradientWhenItBecomesTheTopOfTheTapeAgain) {
  const Value a{2}, b{3}, c{5};
  Value p = a * b;
  (p * c).backward();
  const Value later = std::move(p) + c;
  EXPECT_EQ(later.inputs().at(0).grad(), 5);
  later.backward();
  EXPECT_EQ(later.inputs().at(0).grad(), 1);

  Value none = a * 0.0, q = a * b;  // the newer one gets no gradient, the older one 6
  (none * q).backward();
  const Value sum = std::move(none) + std::move(q);
  EXPECT_EQ(sum.inputs().at(0).grad(), 6);
  EXPECT_EQ(sum.inputs().at(1).grad(), 0);
}

TEST(Backward, TwiceOverAFusedSumAccumulatesInLeavesButNotInside) {
  Value a{2}, b{3};
  const Value inner = a * b + a, root = inner * inner + b * 2 + a * inner;
  root.backward();
  const double da = a.grad(), db = b.grad(), d_inner = inner.grad();
  root.backward();
  EXPECT_EQ(a.grad(), 2 * da);
  EXPECT_EQ(b.grad(), 2 * db);
  EXPECT_EQ(inner.grad(), d_inner);
}

TEST(Backward, OfTwoRootsAddsInLeavesAndKeepsTheLastPassInside) {
  Value a{2}, b{3};
  const Value shared = a * b, first = shared * 2, second = shared * shared;
  first.backward();
  EXPECT_EQ(shared.grad(), 2);
  second.backward();
  EXPECT_EQ(shared.grad(), 12);
  EXPECT_EQ(first.grad(), 1);
  EXPECT_EQ(a.grad(), 6 + 36);
  EXPECT_EQ(b.grad(), 4 + 24);
}

TEST(Backward, OfAnInnerNodeAfterItsUserLeavesTheUserAlone) {
  Value a{2};
  const Value inner = a * a, outer = inner * 5;
  outer.backward();
  inner.backward();
  EXPECT_EQ(outer.grad(), 1);
  EXPECT_EQ(inner.grad(), 1);
  EXPECT_EQ(a.grad(), 20 + 4);
}

TEST(Backward, IsRightWhenMoreIsBuiltOnAGraphThatHadAPass) {
  Value a{2};
  Value x = a * a;
  x.backward();
  for (int i = 0; i < 3; ++i) {
    Value y = tanh(x * 0.1);
    a.grad() = 0;
    y.backward();
    const double t = std::tanh(0.4);
    EXPECT_NEAR(a.grad(), (1 - t * t) * 0.1 * 4, 1e-15);
  }
}

TEST(Backward, WithAZeroSeedDepositsNothingAndClearsTheInside) {
  Value a{2};
  const Value inner = a * a, root = inner + a;
  root.backward();
  root.backward(0);
  EXPECT_EQ(a.grad(), 5);
  EXPECT_EQ(inner.grad(), 0);
  EXPECT_EQ(root.grad(), 0);
}

TEST(Backward, NeverTouchesNodesTheRootDoesNotReach) {
  Value a{2};
  Value under = a * a, root = a * 3, beside = a * 5, above = root * 7;
  under.grad() = beside.grad() = above.grad() = 42;
  root.backward();
  EXPECT_EQ(under.grad(), 42);
  EXPECT_EQ(beside.grad(), 42);
  EXPECT_EQ(above.grad(), 42);
}

TEST(Backward, OverwritesAGradientTheUserSetInside) {
  Value a{2};
  Value inner = a * a;
  const Value root = inner * 3;
  inner.grad() = 100;
  root.backward();
  EXPECT_EQ(inner.grad(), 3);
  EXPECT_EQ(a.grad(), 12);
}

TEST(ReadingAGradient, LeavesRecordsAndLaterPassesAsTheyWere) {
  Value a{2}, b{3}, c{4};
  Value sum = a * b + c * a + 1, scaled = sum * 0.5;
  const Value root = tanh(scaled) + sum * b;
  root.backward();
  const Value newer = sum * a;
  const std::size_t records = Reading(root).size();
  const detail::HotTape before = detail::tape;
  EXPECT_NE(sum.grad() + scaled.grad(), 0);
  EXPECT_EQ(Reading(root).size(), records);
  EXPECT_EQ(detail::tape.top, before.top);
  EXPECT_EQ(detail::tape.clean_from, before.clean_from);  // A pass below clean_from has to search.
}

TEST(ReadingAGradient, BeforeAnyPassLeavesRecordsAndTheFirstPassAsTheyWere) {
  Value a{2}, b{3};
  Value sum = a * b + 1, square = sum * sum;
  const std::size_t records = Reading(square).size();
  const detail::HotTape before = detail::tape;
  EXPECT_EQ(sum.grad() + square.grad(), 0);
  EXPECT_EQ(Reading(square).size(), records);
  EXPECT_EQ(detail::tape.clean_from, before.clean_from);
  square.backward();
  EXPECT_EQ(Reading(square).size(), records);
  EXPECT_EQ(sum.grad(), 14);
  EXPECT_EQ(a.grad(), 42);
}

TEST(AGradientWrittenInside, LeavesThePartsOfAFusedRecordTheGradientOfThePass) {
  Value a{2}, b{3}, c{4};
  Value sum = a * b + c;
  const Value root = sum * 2;
  root.backward();
  sum.grad() = 100;
  const Snapshot seen = snapshot(root);
  EXPECT_EQ(seen.nodes[seen.nodes.size() - 1].grad, 1);
  EXPECT_EQ(seen.nodes[2].grad, 2);  // a * b
  EXPECT_EQ(sum.grad(), 100);
  EXPECT_EQ(sum.inputs()[0].grad(), 2);
  EXPECT_EQ(sum.grad(), 100);
}

TEST(AGradientWrittenInside, DoesNotReachTheFusedPartsEvenThroughAnOlderReference) {
  Value a{2}, b{3}, c{4};
  Value sum = a * b + c;
  double& gradient = sum.grad();
  const Value root = sum * 2;
  root.backward();
  EXPECT_EQ(gradient, 2);
  root.backward(5);
  EXPECT_EQ(gradient, 10);
  gradient = 100;
  EXPECT_EQ(sum.inputs()[0].grad(), 10);
}

TEST(AGradientWrittenInside, BeforeThePassLeavesThePartsOfAFusedRecordWithoutOne) {
  Value a{2}, b{3}, c{4};
  Value sum = a * b + c;
  sum.grad() = 100;
  const Value other = a * 3;
  other.backward();
  EXPECT_EQ(sum.grad(), 100);
  EXPECT_EQ(sum.inputs()[0].grad(), 0);
  EXPECT_EQ(a.grad(), 3);
}

TEST(AGradientWrittenInside, OfANodeThatDiesIsForgotten) {
  Value a{2};
  for (int i = 0; i < 3; ++i) {
    Value inner = a * a + a;
    inner.grad() = 100;
    Value root = inner * 3;
    root.grad() = 100;
    root = 0;
    inner = 0;
    const Value fresh = a * a + a, top = fresh * 3;
    a.grad() = 0;
    top.backward();
    EXPECT_EQ(fresh.grad(), 3);
    EXPECT_EQ(a.grad(), 15);
  }
}

TEST(Backward, AddsToAGradientTheUserSetInALeaf) {
  Value a{2};
  a.grad() = 100;
  const Value root = a * 3;
  root.backward();
  EXPECT_EQ(a.grad(), 103);
}

TEST(ANewNode, StartsWithGradientZeroAlsoInReusedMemory) {
  const Value a{2}, b{3}, c{4};
  for (int i = 0; i < 3; ++i) {
    Value product = a * b;
    product.backward();
    const Value sum = std::move(product) + c;
    EXPECT_EQ(sum.grad(), 0);
    Value longer = a * b + c;
    longer.backward();
    longer += a * b;
    EXPECT_EQ(std::as_const(longer).grad(), 0);
  }
}

TEST(GraphsBuiltInLockstep, HaveIndependentBackwardPasses) {
  constexpr int graphs = 50, length = 300;
  std::vector<Value> leaves, heads, inner;
  for (int i = 0; i < graphs; ++i) leaves.emplace_back(1 + i), heads.push_back(leaves.back());
  for (int k = 0; k < length; ++k)
    for (int i = 0; i < graphs; ++i) {
      auto& head = heads[static_cast<std::size_t>(i)];
      head = k % 2 == 0 ? head + 1 : head * 1.0 + leaves[static_cast<std::size_t>(i)];
      if (k == length / 2) inner.push_back(head);
    }
  for (std::size_t walked = 0; walked < graphs; walked += 7) {
    heads[walked].backward();
    for (std::size_t i = 0; i < graphs; ++i) {
      const bool reached = i % 7 == 0 && i <= walked;
      ASSERT_EQ(std::as_const(heads[i]).grad(), reached ? 1 : 0);
      ASSERT_EQ(std::as_const(inner[i]).grad(), reached ? 1 : 0);
      ASSERT_EQ(std::as_const(leaves[i]).grad(), reached ? 1 + length / 2 : 0);
    }
  }
}

TEST(GraphsThatComeAndGoInAnyOrder, HaveRightGradientsWhereverTheyLieOnTheTape) {
  struct Chain {
    Value leaf{1}, head{leaf};
  };
  std::mt19937 random{11};
  std::vector<Chain> chains(60);
  for (std::size_t round = 0; round < sized(6000, 600); ++round) {
    // A new chain with its own leaf. The head of an older chain is added to it on the way.
    const Chain older = chains[random() % chains.size()];
    Chain chain;
    const auto grow = [&] {
      for (std::size_t i = random() % 1500; i > 0; --i) chain.head = -(-chain.head);
    };
    grow();
    chain.head = chain.head - older.head.detach() * 2 + older.leaf;
    if (round % 3 == 0) chain.head = chain.head + older.head;
    grow();
    const double own = chain.leaf.grad(), others = older.leaf.grad();
    chain.head.backward();
    ASSERT_EQ(chain.leaf.grad() - own, 1) << "round " << round;
    ASSERT_GE(older.leaf.grad() - others, 1) << "round " << round;
    chains[random() % chains.size()] = std::move(chain);
    Chain& again = chains[random() % chains.size()];
    if (same_node(again.head, again.leaf)) continue;
    const double before = again.leaf.grad();
    again.head.backward();
    ASSERT_EQ(again.leaf.grad() - before, 1) << "round " << round;
  }
}

TEST(Cost, OfALadderOfSharedLevelsIsLinear) {
  const Value x{1};
  Value level = x;
  for (int i = 0; i < 64; ++i) level = level + level;
  EXPECT_EQ(topological_order(level).size(), 65u);
  level.backward();
  EXPECT_EQ(x.grad(), 0x1p64);
  EXPECT_EQ(level.data(), 0x1p64);
}

TEST(Cost, OfALadderOfFusedLevelsIsLinear) {
  const Value x{1}, one{1};
  Value level = x;
  for (int i = 0; i < 64; ++i) level += level * one;
  level.backward();
  EXPECT_EQ(x.grad(), 0x1p64);
  recompute(level);
  EXPECT_EQ(level.data(), 0x1p64);
  EXPECT_EQ(topological_order(level).size(), 2u + 2 * 64);
  level.backward();
  EXPECT_EQ(x.grad(), 0x1p65);
}

TEST(Cost, OfOneSmallGraphDoesNotDependOnALargeOneBesideIt) {
  const Value a{0.5};
  Value small = tanh(a), large = a;
  for (std::size_t i = 0; i < sized(3000000, 300000); ++i) large = tanh(large);
  Value above = tanh(small);
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 2000; ++i) above.backward();  // 0.2 ms; 2000 passes over the large graph would take ten seconds
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
}

TEST(Cost, OfLookingAtALongSumIsLinear) {
  const Value a{0.5}, b{2};
  Value sum = a;
  for (int i = 0; i < 200000; ++i) sum += a * b;
  sum.backward();
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(topological_order(sum).size(), 400002u);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(sized(2, 20)));
}

TEST(ZeroGradient, TimesAnInfiniteDerivativeDepositsZero) {
  Value x{0};
  Value root = sqrt(x) * 0.0;
  root.backward();
  EXPECT_EQ(x.grad(), 0);
  Value branch = max(sqrt(x) * 1.0, 5.0);
  branch.backward();
  EXPECT_EQ(x.grad(), 0);
}

TEST(ZeroGradient, TimesAnInfiniteDerivativeDepositsZeroInEveryPassAndWhenExpanded) {
  Value x{0};
  const Value root = sqrt(x) * 0.0 + max(sqrt(x), 5.0);
  for (int pass = 0; pass < 2; ++pass) root.backward();
  EXPECT_EQ(x.grad(), 0);
  const std::vector<Value> order = topological_order(root);
  root.backward();
  EXPECT_EQ(x.grad(), 0);
  for (auto node = order.rbegin(); node != order.rend(); ++node) node->propagate();
  EXPECT_EQ(x.grad(), 0);
}

TEST(ZeroGradient, OfASumOfProductsStaysZeroBesideAnInfiniteOperand) {
  const Value x{1}, huge{infinity};
  const Value sum = x * huge + x * 2 + huge * x;
  const Value root = sum * 0.0;
  root.backward();
  EXPECT_EQ(x.grad(), 0);
}

TEST(NonzeroGradient, TimesAnInfiniteDerivativeIsInfinite) {
  const Value x{0};
  sqrt(x).backward();
  EXPECT_EQ(x.grad(), infinity);
  const Value nan{std::nan("")}, y{2};
  (y * nan).backward();
  EXPECT_TRUE(std::isnan(y.grad()));
}

}  // namespace
}  // namespace gradwalk
