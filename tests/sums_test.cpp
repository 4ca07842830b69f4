// SPDX-License-Identifier: MIT
// Sums of products, constants and plain terms, which the tape may fuse into one record. Every kind of term, added in
// every way and order, expanded before or after backward(), must be the graph that was written.
#include <gtest/gtest.h>

#include <array>

#include "support.hpp"
#include "twin.hpp"

namespace gradwalk::tests {
namespace {

struct Leaves {
  Twin a = leaf(1.25), b = leaf(-0.75), c = leaf(0.5);
  static Twin leaf(double data) { return {Value(data), reference::leaf(data)}; }
};

using reference::constant;

// The terms that are added to the sum s.
constexpr std::array<Twin (*)(const Leaves&, const Twin&), 10> terms{
    +[](const Leaves& l, const Twin&) { return Twin{l.a.value * l.b.value, mul(l.a.node, l.b.node)}; },
    +[](const Leaves& l, const Twin&) { return Twin{l.a.value * l.a.value, mul(l.a.node, l.a.node)}; },
    +[](const Leaves& l, const Twin&) { return Twin{l.c.value * 1.5, mul(l.c.node, constant(1.5))}; },
    +[](const Leaves& l, const Twin&) { return Twin{0.3 * l.c.value, mul(constant(0.3), l.c.node)}; },
    +[](const Leaves& l, const Twin&) { return l.b; },
    +[](const Leaves& l, const Twin&) { return Twin{tanh(l.b.value), tanh(l.b.node)}; },
    +[](const Leaves& l, const Twin&) {
      return Twin{l.a.value * l.b.value + l.c.value, add(mul(l.a.node, l.b.node), l.c.node)};
    },
    +[](const Leaves& l, const Twin& s) { return Twin{s.value * l.a.value, mul(s.node, l.a.node)}; },
    +[](const Leaves&, const Twin& s) { return Twin{s.value * s.value, mul(s.node, s.node)}; },
    +[](const Leaves&, const Twin& s) { return s; },
};

// The ways to add a term. Handles that live on go to `others`.
using Others = std::vector<Twin>;
constexpr std::array<void (*)(Twin&, Twin&&, Others&), 12> ways{
    +[](Twin& s, Twin&& t, Others&) { s = {s.value += std::move(t.value), add(s.node, t.node)}; },
    +[](Twin& s, Twin&& t, Others&) { s.value += std::move(t.value), s.node = add(s.node, t.node); },
    +[](Twin& s, Twin&& t, Others&) { s.value += t.value, s.node = add(s.node, t.node); },
    +[](Twin& s, Twin&& t, Others&) { s = {std::move(s.value) + std::move(t.value), add(s.node, t.node)}; },
    +[](Twin& s, Twin&& t, Others&) { s = {std::move(t.value) + std::move(s.value), add(t.node, s.node)}; },
    +[](Twin& s, Twin&& t, Others&) { s = {s.value + std::move(t.value), add(s.node, t.node)}; },
    +[](Twin& s, Twin&& t, Others&) { s = {t.value + std::move(s.value), add(t.node, s.node)}; },
    +[](Twin& s, Twin&& t, Others&) { s = {t.value + s.value, add(t.node, s.node)}; },
    +[](Twin& s, Twin&& t, Others& others) {
      others.push_back(s);
      s.value += std::move(t.value), s.node = add(s.node, t.node);
    },
    +[](Twin& s, Twin&& t, Others& others) {
      others.push_back(t);
      s.value += std::move(t.value), s.node = add(s.node, t.node);
    },
    +[](Twin& s, Twin&& t, Others& others) {  // The sum is expanded, and its parts are held and labelled.
      for (std::size_t i = 0; i < s.node->inputs.size(); ++i) {
        others.push_back({s.value.inputs()[i], s.node->inputs[i]});
        others.back().value.label("part"), others.back().node->label = "part";
      }
      s.value += std::move(t.value), s.node = add(s.node, t.node);
    },
    +[](Twin& s, Twin&& t, Others&) {  // adds constants, and a number instead of t
      const double k = t.node->data;
      s = {k + (std::move(s.value) + 0.5), add(constant(k), add(s.node, constant(0.5)))};
    },
};

void expect_same(const Twin& s, const Others& others, bool look_first) {
  if (look_first) expect_same_graph(s);
  s.value.backward(), reference::backward(s.node);
  expect_same_graph(s);
  s.value.backward(0.5), reference::backward(s.node, 0.5);
  expect_same_graph(s);
  for (const Twin& other : others) expect_same_graph(other);
}

void each_sum(std::size_t length, bool look_first) {
  const std::size_t choices = terms.size() * ways.size();
  std::size_t sums = terms.size() - 3;  // The terms that need no sum before them start one.
  for (std::size_t i = 0; i < length; ++i) sums *= choices;
  for (std::size_t sum = 0; sum < sums; ++sum) {
    const Leaves leaves;
    Others others;
    std::size_t code = sum;
    Twin s = terms[code % (terms.size() - 3)](leaves, leaves.a);
    code /= terms.size() - 3;
    for (std::size_t i = 0; i < length; ++i, code /= choices)
      ways[code % choices / terms.size()](s, terms[code % terms.size()](leaves, s), others);
    expect_same(s, others, look_first);
    ASSERT_FALSE(testing::Test::HasFailure()) << "sum " << sum << " of length " << length;
  }
}

TEST(Sums, OfTwoTermsAreTheGraphThatWasWritten) { each_sum(1, false); }
TEST(Sums, OfTwoTermsLookedAtBeforeBackwardAreTheGraphThatWasWritten) { each_sum(1, true); }
TEST(Sums, OfThreeTermsAreTheGraphThatWasWritten) { each_sum(2, false); }
TEST(Sums, OfThreeTermsLookedAtBeforeBackwardAreTheGraphThatWasWritten) { each_sum(2, true); }

TEST(Sums, OfThousandsOfTermsInAnyOrderAreTheGraphThatWasWritten) {
  std::uint64_t random = 1;
  const auto below = [&](std::size_t n) { return ((random = random * 6364136223846793005u + 1) >> 33) % n; };
  for (int round = 0; round < 4; ++round) {
    const Leaves leaves;
    Others others;
    Twin s = leaves.c;
    for (int i = 0; i < 20000; ++i) {
      const std::size_t way = below(100) == 0 ? below(ways.size()) : below(8);
      ways[way](s, terms[below(7)](leaves, s), others);
    }
    expect_same(s, others.size() > 20 ? Others(others.end() - 20, others.end()) : others, round % 2 == 0);
  }
}

TEST(Sums, PropagatedInReverseOrderGiveTheGradientsOfBackward) {
  for (std::size_t way = 0; way < ways.size(); ++way) {
    const Leaves leaves;
    Others others;
    Twin s = leaves.c;
    for (std::size_t i = 0; i < 30; ++i) ways[way](s, terms[(i * 7 + way) % 7](leaves, s), others);
    const std::vector<Value> order = topological_order(s.value);
    s.value.grad() = 1;
    for (auto node = order.rbegin(); node != order.rend(); ++node) node->propagate();
    reference::backward(s.node);
    expect_same_graph(s);
  }
}

TEST(Sums, OfAProductWithItselfMovedCountItTwice) {
  const Value a{2}, b{3};
  Value p = a * b;
  const Value sum = p + std::move(p);
  EXPECT_EQ(sum.data(), 12);
  sum.backward();
  EXPECT_EQ(a.grad(), 6);
  EXPECT_EQ(sum.inputs().size(), 2u);
  Value q = a * b;
  const Value copy = q;
  const Value other = std::move(q) + std::move(q);
  EXPECT_EQ(other.data(), 12);
  EXPECT_EQ(copy.data(), 6);
}

TEST(ExpandedParts, OutliveTheirSum) {
  const Value a{2}, b{3};
  Value product, constant;
  {
    const Value sum = a * b + 5 * b + a;
    const std::vector<Value> order = topological_order(sum);
    product = order[2].inputs().empty() ? order[3] : order[2];
    constant = (b * 7).inputs()[1];
  }
  product.label("product");
  for (int i = 0; i < 100000; ++i) (void)(a * b + tanh(a) * 3.0);
  std::vector<Value> later;
  for (int i = 0; i < 100000; ++i) later.push_back(tanh(a));
  EXPECT_EQ(product.data(), 6);
  EXPECT_EQ(product.op(), Op::mul);
  EXPECT_EQ(product.label(), "product");
  EXPECT_EQ(constant.data(), 7);
  EXPECT_EQ(constant.op(), Op::constant);
  later.clear();
  const Value root = product * 2;
  root.backward();
  EXPECT_EQ(a.grad(), 6);
}

}  // namespace
}  // namespace gradwalk::tests
