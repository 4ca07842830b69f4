// SPDX-License-Identifier: MIT
// NoGrad and detach: results without a graph, however guards and graphs are interleaved.
#include <gtest/gtest.h>

#include <algorithm>

#include <thread>

#include "support.hpp"

namespace gradwalk {
namespace {

TEST(NoGrad, RecordsNothingWhileItLives) {
  const Value a{2}, b{3};
  Value inside, outside;
  {
    const NoGrad guard;
    inside = tanh(a * b + 1) / b;
    EXPECT_EQ(inside.op(), Op::leaf);
    EXPECT_EQ(custom(1, {{a, 1.0}}).op(), Op::leaf);
  }
  outside = a * b + inside;
  outside.backward();
  EXPECT_EQ(inside.data(), std::tanh(7.0) / 3);
  EXPECT_EQ(inside.grad(), 1);
  EXPECT_EQ(a.grad(), 3);
}

TEST(NoGrad, ReturnsValuesWithoutBackward) {
  const Value a{2};
  Value inside;
  const std::string message =
      "backward: needs a Value that was recorded, got a number made under NoGrad; compute it where no NoGrad guard "
      "lives";
  {
    const NoGrad guard;
    inside = a * a;
    EXPECT_EQ(tests::error_of([&] { inside.backward(); }), message);
  }
  EXPECT_EQ(tests::error_of([&] { inside.backward(); }), message);
  EXPECT_EQ(a.grad(), 0);
}

TEST(NoGrad, NestsAndEndsWithTheOutermost) {
  const Value a{2};
  {
    const NoGrad outer;
    {
      const NoGrad inner;
      EXPECT_EQ((a * a).op(), Op::leaf);
    }
    EXPECT_EQ((a * a).op(), Op::leaf);
  }
  EXPECT_EQ((a * a).op(), Op::mul);
}

TEST(NoGrad, DoesNotFuseWithAProductMadeBeforeIt) {
  const Value a{2}, b{3}, c{4};
  Value product = a * b, sum = a * b + c, kept = product;
  {
    const NoGrad guard;
    EXPECT_EQ((std::move(product) + c).op(), Op::leaf);
    EXPECT_EQ((c + a * b).op(), Op::leaf);
    sum += c;
    EXPECT_EQ(sum.op(), Op::leaf);
    EXPECT_EQ(sum.data(), 14);
    sum += a * b;
    EXPECT_EQ(sum.op(), Op::leaf);
    EXPECT_EQ(sum.data(), 20);
  }
  EXPECT_EQ(kept.op(), Op::mul);
  kept.backward();
  EXPECT_EQ(a.grad(), 3);
}

TEST(NoGrad, HoldsAcrossChunksOfTheTapeAndTheDeathOfGraphs) {
  const Value a{0.5};
  Value chain = a;
  for (int i = 0; i < 10000; ++i) chain = tanh(chain);
  const NoGrad guard;
  chain = 1;
  for (int i = 0; i < 10000; ++i) ASSERT_EQ((a * a).op(), Op::leaf);
}

TEST(NoGrad, LeavesBackwardOfEarlierGraphsAsItWas) {
  const Value a{2};
  const Value root = a * a + a;
  const NoGrad guard;
  root.backward();
  EXPECT_EQ(a.grad(), 5);
}

TEST(Detach, ReturnsALeafWithTheSameData) {
  const Value a{2}, b = a * a;
  const Value root = b * b.detach();
  EXPECT_EQ(b.detach().op(), Op::leaf);
  root.backward();
  EXPECT_EQ(a.grad(), 16);
}

TEST(NoGrad, ReturnsLeavesThatAccumulateAndCanBeChanged) {
  const Value a{2};
  Value inside = 0;
  {
    const NoGrad guard;
    inside = a * a + a;
    EXPECT_TRUE(inside.inputs().empty());
    inside.label("inside");
  }
  const Value root = inside * 3;
  root.backward();
  root.backward();
  EXPECT_EQ(inside.grad(), 6);
  EXPECT_EQ(inside.label(), "inside");
  inside.data() = 1;
  recompute(root);
  EXPECT_EQ(inside.data(), 1);
  EXPECT_EQ(root.data(), 3);
  EXPECT_EQ(a.grad(), 0);
}

TEST(NoGrad, EndsWhenAnErrorLeavesItsScope) {
  const Value a{2};
  try {
    const NoGrad guard;
    throw Error("test", "nothing", "nothing", "go on");
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "test: needs nothing, got nothing; go on");
  }
  EXPECT_EQ((a * a).op(), Op::mul);
}

TEST(NoGrad, AffectsOnlyItsThread) {
  const NoGrad guard;
  std::thread([] {
    const Value a{2};
    EXPECT_EQ((a * a).op(), Op::mul);
  }).join();
}

TEST(NoGrad, MayBeTheFirstThingAThreadMakes) {
  std::thread([] {
    const NoGrad guard;
    const Value a{2};
    EXPECT_EQ((a * a + a).op(), Op::leaf);
  }).join();
}

TEST(NoGrad, RunsForEverInConstantMemory) {
  const NoGrad guard;
  Value x{0.5}, kept;
  double before = 0;
  for (std::size_t i = 0; i < tests::sized(3000000, 100000); ++i) {
    if (i == 100000) before = tests::resident_megabytes();
    x = tanh(x * 1.5 + x * x);
    if (i % 1000 == 0) kept = x;
  }
  tests::expect_resident_below(before + 1);
}

TEST(NoGrad, StoresAResultAtTheCostOfALeaf) {
  const Value a{0.5};
  std::vector<Value> kept;
  kept.reserve(300'000);
  const double before = tests::resident_megabytes();
  for (int i = 0; i < 300'000; ++i) {  // more than the tape has chunks
    const NoGrad guard;
    Value x = a + i;
    for (int k = 0; k < 20; ++k) x = sin(x) * 2.0 + x * a;
    kept.push_back(std::move(x));
  }
  tests::expect_resident_below(before + 300'000 * 40e-6 + 4.2);
  EXPECT_EQ(kept[17].op(), Op::leaf);
  const Value recorded = kept[0] * a + kept[299'999];
  recorded.backward();
  EXPECT_EQ(kept[0].grad(), 0.5);
  EXPECT_EQ(kept[1].grad(), 0);
}

TEST(NoGrad, ReusesTheMemoryOfDroppedResults) {
  const Value a{0.5};
  const Value recorded = a * a;  // keeps the tape from being empty
  std::vector<std::uint64_t> ids;
  for (int i = 0; i < 100'000; ++i) {
    const NoGrad guard;
    const Value x = sin(a * 3.0 + i) * a;
    if (i % 10'000 == 0) ids.push_back(x.id());
  }
  std::sort(ids.begin(), ids.end());
  EXPECT_LT(ids.back() - ids.front(), std::uint64_t{1} << 16);
  recorded.backward();
  EXPECT_EQ(a.grad(), 1);
}

TEST(NoGrad, LeavesARecordThatIsAddedToUnchanged) {
  Value a{2.0}, b{3.0}, sum = a * b;
  const Value same = sum;
  {
    const NoGrad guard;
    Value product = a * b;
    product += a;
    EXPECT_EQ(product.data(), 8);
    sum += a;
  }
  EXPECT_EQ(sum.data(), 8);
  same.backward();
  EXPECT_EQ(a.grad(), 3);
}

}  // namespace
}  // namespace gradwalk
