// SPDX-License-Identifier: MIT
// Memory is given back as handles die: training loops of every kind run for ever in constant memory, and a node with a
// handle never moves.
#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <random>

#include "support.hpp"

namespace gradwalk::tests {
namespace {

// A network of 2-4-1 on four rows, with one loss per step.
class Training {
 public:
  Training() {
    for (int i = 0; i < 17; ++i) parameters.emplace_back(std::uniform_real_distribution<double>(-1, 1)(random));
  }

  Value step() {
    Value loss = 0;
    for (int row = 0; row < 4; ++row) {
      const double x = row & 1, y = row >> 1, wanted = (row == 1 || row == 2) ? 1 : -1;
      Value out = parameters[16];
      for (std::size_t i = 0; i < 4; ++i)
        out += relu(parameters[3 * i] * x + parameters[3 * i + 1] * y + parameters[3 * i + 2]) * parameters[12 + i];
      loss += relu(1 - wanted * out);
    }
    for (const Value& p : parameters) loss += p * p * 1e-4;
    for (Value& p : parameters) p.grad() = 0;
    loss.backward();
    for (Value& p : parameters) p.data() -= 0.001 * p.grad();
    return loss;
  }

  std::mt19937 random{42};
  std::vector<Value> parameters;
};

constexpr std::size_t steps = sized(100000, 5000);

// Expects that 100,000 steps take less than `megabytes` beyond what the first few thousand took.
void expect_growth_below(double megabytes, const std::function<void(std::size_t)>& step) {
  const std::size_t warm_up = steps / 10;
  for (std::size_t i = 0; i < warm_up; ++i) step(i);
  const double before = resident_megabytes();
  for (std::size_t i = warm_up; i < warm_up + steps; ++i) step(i);
  expect_resident_below(before + megabytes);
}

TEST(MemoryOfTraining, IsFlat) {
  Training training;
  expect_growth_below(1, [&](std::size_t) { training.step(); });
}

TEST(MemoryOfTraining, IsFlatWhileTheBestLossIsKept) {
  Training training;
  Value best = 1e9;
  expect_growth_below(1, [&](std::size_t) {
    Value loss = training.step();
    if (loss < best) best = loss;
  });
  best.backward();
}

TEST(MemoryOfTraining, IsFlatWhileALossThatImprovesEveryStepIsKept) {
  Training training;
  Value best = 1e9;
  expect_growth_below(1, [&](std::size_t i) {
    const Value loss = training.step() - static_cast<double>(i);
    if (loss < best) best = loss;
  });
}

TEST(MemoryOfTraining, IsFlatWhileAHistoryOfTheLastThousandLossesIsKeptAsLeaves) {
  Training training;
  std::deque<Value> history;
  expect_growth_below(1, [&](std::size_t) {
    history.push_back(training.step().detach());
    if (history.size() > 1000) history.pop_front();
  });
}

TEST(MemoryOfTraining, GrowsOnlyByTheLeavesOfAHistory) {
  Training training;
  std::vector<Value> history;
  history.resize(2 * steps);  // Allocate its memory before measuring.
  const double leaves = 32e-6 * static_cast<double>(steps), huge_page = 2.1;
  expect_growth_below(leaves + huge_page, [&](std::size_t i) { history[i] = Value(training.step().detach()); });
}

TEST(MemoryOfTraining, IsFlatWhenParametersAreReplacedHalfway) {
  Training training;
  expect_growth_below(1, [&](std::size_t i) {
    training.step();
    if (i == steps / 2)
      for (int k = 0; k < 17; ++k) training.parameters.emplace_back(0.5);
  });
}

TEST(MemoryOfTraining, IsFlatWhileTwentyLossesAreKeptAndARandomOneDropped) {
  Training training;
  std::vector<Value> losses(20);
  expect_growth_below(1, [&](std::size_t) { losses[training.random() % 20] = training.step(); });
  for (const Value& loss : losses) loss.backward();
}

TEST(MemoryOfTraining, IsFlatWhileTheGraphIsExpandedLabelledAndCopied) {
  Training training;
  Value kept;
  expect_growth_below(1, [&](std::size_t i) {
    Value loss = training.step();
    if (i % 10 != 0) return;
    std::vector<Value> order = topological_order(loss);
    order[i % order.size()].label("one of many");
    kept = order[(i * 7) % order.size()];
  });
}

TEST(MemoryOfTraining, IsFlatWithCustomNodesAndNoGrad) {
  Training training;
  Value best = 0;
  expect_growth_below(1, [&](std::size_t) {
    Value loss = training.step();
    best = custom(std::sin(loss.data()), {{loss, std::cos(loss.data())}}, "sin");
    best.backward();
    const NoGrad guard;
    EXPECT_THROW(training.step(), Error);  // Results of NoGrad have no graph.
  });
}

TEST(Memory, IsFlatWhileLeavesAreReachedThroughTheirUsers) {
  const Value a{2}, pin = a * a;  // While a record lives, dead leaves wait.
  std::vector<Value> leaves;
  expect_growth_below(1, [&](std::size_t) {
    leaves.push_back((a * Value(1)).inputs()[1]);
    if (leaves.size() == 1000) leaves.clear();
  });
}

TEST(TheTape, DoesNotRunOutWhileAnEverImprovingLossIsKept) {
  const double nodes = long_run() ? 5e9 : static_cast<double>(sized(100000000, 1000000));
  Value x{1}, best{1e300};
  const double before = resident_megabytes();
  constexpr int length = 5000;
  for (double made = 0; made < nodes; made += length) {
    Value loss = x;
    for (int i = 0; i < length; ++i) loss = -loss;
    x.data() -= 1e-9;
    if (loss < best) best = loss;
  }
  EXPECT_LT(resident_megabytes() - before, sanitized ? 1000 : 10);
  best.backward();
  EXPECT_EQ(x.grad(), 1);
}

TEST(MemoryOfALargeGraph, GoesBackToTheSystemOnceStepsAreSmallAgain) {
  if (sanitized) GTEST_SKIP() << "a sanitizer keeps freed memory";
  Training training;
  training.step();
  const double before = resident_megabytes();
  {
    Value chain = training.parameters[0];
    for (int i = 0; i < 10000000; ++i) chain = -chain;
    EXPECT_GT(resident_megabytes() - before, 200);
  }
  for (int i = 0; i < 100; ++i) training.step();
  EXPECT_LT(resident_megabytes() - before, 100);
}

TEST(MemoryOfManyLeaves, GoesBackToTheSystemOnceStepsAreSmallAgain) {
  if (sanitized) GTEST_SKIP() << "a sanitizer keeps freed memory";
  Training training;
  training.step();
  const double before = resident_megabytes();
  {
    std::vector<Value> leaves;
    leaves.reserve(5'000'000);
    for (int i = 0; i < 5'000'000; ++i) leaves.emplace_back(0.1 * i);
    EXPECT_GT(resident_megabytes() - before, 150);
  }
  for (int i = 0; i < 100; ++i) training.step();
  EXPECT_LT(resident_megabytes() - before, 20);
  std::vector<Value> again;
  for (int i = 0; i < 2'000'000; ++i) again.emplace_back(0.1 * i);
  for (std::size_t i = 0; i < again.size(); ++i)
    ASSERT_EQ(std::as_const(again[i]).data(), 0.1 * static_cast<double>(i));
}

TEST(References, ToDataAndGradStayValidWhileMillionsOfNodesComeAndGo) {
  Value leaf{3}, node = leaf * leaf, part = (leaf * leaf + node).inputs()[0];
  double *const leaf_data = &leaf.data(), *const leaf_grad = &leaf.grad();
  double *const node_data = &node.data(), *const node_grad = &node.grad();
  double *const part_data = &part.data(), *const part_grad = &part.grad();
  std::vector<Value> others;
  for (std::size_t i = 0; i < sized(5000000, 200000); ++i) {
    others.push_back(i % 3 == 0 ? Value(1) : node * leaf + 1);
    if (others.size() > 100000) others.clear();
  }
  EXPECT_EQ(&leaf.data(), leaf_data);
  EXPECT_EQ(&node.data(), node_data);
  EXPECT_EQ(&part.data(), part_data);
  EXPECT_EQ(*leaf_data, 3);
  EXPECT_EQ(*node_data, 9);
  EXPECT_EQ(*part_data, 9);
  const Value root = node * 2 + part;
  root.backward();
  EXPECT_EQ(*node_grad, 2);
  EXPECT_EQ(*part_grad, 1);
  EXPECT_EQ(*leaf_grad, 18);
}

class ManyHandles : public testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(Counts, ManyHandles, testing::Values(65534u, 65535u, 65536u, 98304u, 131072u, 250000u));

TEST_P(ManyHandles, ToOneNodeAreCounted) {
  const Value a{2}, b{3};
  std::mt19937 random{7};
  for (int round = 0; round < 3; ++round) {
    Value leaf{5}, product = a * b, sum = a * b + leaf;
    Value part = sum.inputs()[0];
    for (Value* node : {&leaf, &product, &sum, &part}) {
      const double data = node->data();
      const std::uint64_t id = node->id();
      std::vector<Value> handles(GetParam(), *node);
      *node = Value();
      std::shuffle(handles.begin(), handles.end(), random);
      while (handles.size() > 1) handles.pop_back();
      handles.resize(70000, handles[0]);
      handles.resize(1, a);
      for (int i = 0; i < 20000; ++i) (void)(a * b + 1);
      ASSERT_EQ(handles[0].id(), id);
      ASSERT_EQ(handles[0].data(), data);
      handles[0].backward();
    }
  }
}

TEST(ManyHandles, FreeTheirNodeWithTheLastOne) {
  const Value a{2};
  std::uint64_t first = 0;
  for (int round = 0; round < 5; ++round) {
    const Value node = a * a;
    if (round == 0) first = node.id();
    EXPECT_EQ(node.id(), first);
    const std::vector<Value> handles(200000, node);
  }
}

TEST(ManyHandles, LeaveNoMemoryBehind) {
  const Value a{2};
  expect_growth_below(1, [&](std::size_t i) {
    const Value node = a * a;
    if (i % 100 == 0) const std::vector<Value> handles(70000, node);
  });
}

}  // namespace
}  // namespace gradwalk::tests
