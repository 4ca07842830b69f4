// SPDX-License-Identifier: MIT
// Failing allocations: each allocation of a session fails once, and everything that existed before still works.
#include <gtest/gtest.h>

#include <optional>
#include <thread>

#include "failing_allocations.hpp"
#include "support.hpp"

namespace gradwalk::failures_test {
namespace {

using tests::allocations_left, tests::has_failed;

// Uses everything that allocates. The result must be the same every time.
Numbers session() {
  Value a = 0.3, b = -0.7;
  a.label("a");
  std::vector<Value> kept;
  Value x = a;
  for (int i = 0; i < 3'000; ++i) x = sin(x) * b + a * x;
  kept.push_back(x);
  const std::vector<Value> many(70'000, x);
  Value sum = a * b;
  for (int i = 0; i < 20; ++i) sum += x * a;
  const std::vector<Value> order = topological_order(sum);
  const Value own = custom(2, {{sum, 0.5}, {b, 2.0}}, "own");
  const Value step = custom(3, std::vector{own, a}, [a](const Value& node) mutable { a.grad() += node.grad(); });
  Value root = select(a < b, own, step * own) + max(a, b);
  root.backward();
  Numbers result{a.grad(), b.grad(), static_cast<double>(order.size())};
  const Value y = sqrt(a * a + b * b) * a;
  for (const Value& slope : derivatives(y, std::vector{a, b})) result.push_back(slope.data());
  result.push_back(pass(y).of(b));
  result.push_back(static_cast<double>(snapshot(y).nodes.size() + Reading(y).size()));
  {
    const NoGrad guard;
    for (int i = 0; i < 2'000; ++i) kept.push_back(a * static_cast<double>(i) + b);
  }
  for (int i = 0; i < 3'000; ++i) kept.emplace_back(0.1 * i);
  const Tape other;
  {
    const UseTape use(other);
    const Value there = 0.1;
    const Value product = there * there;
    product.backward();
    result.push_back(there.grad());
  }
  recompute(y);
  result.push_back(y.data());
  return result;
}

TEST(AnAllocationThatFails, IsAnErrorAndLeavesNothingHalfDone) {
  const Numbers expected = session();
  const long step = tests::long_run() ? 1 : tests::sanitized ? 37 : 5;
  for (long fails_at = 0, is_over = 0; is_over == 0; fails_at += fails_at < 60 ? 1 : step) {
    SCOPED_TRACE(fails_at);
    std::thread([&] {
      const bool on_a_fresh_thread = fails_at % 2 == 0;
      std::optional<Value> before, leaf;
      if (!on_a_fresh_thread) {
        leaf = Value(0.9);
        before = sin(*leaf) * *leaf + cos(*leaf);
      }
      allocations_left = fails_at;
      has_failed = false;
      try {
        session();
      } catch (const std::bad_alloc&) {
      } catch (const Error&) {
      }
      allocations_left = -1;
      if (!has_failed) is_over = 1;
      EXPECT_EQ(session(), expected);
      if (on_a_fresh_thread) return;
      before->backward();
      EXPECT_NEAR(leaf->grad(), 0.9 * std::cos(0.9), 1e-15);
    }).join();
    if (testing::Test::HasFailure()) return;
  }
}

// While a guard lives, allocations fail.
struct NoMemory {
  NoMemory() { allocations_left = 0; }
  ~NoMemory() { allocations_left = -1; }
  NoMemory(const NoMemory&) = delete;
  NoMemory& operator=(const NoMemory&) = delete;
};

TEST(DestroyingAValue, AllocatesNothing) {
  const auto make = [] {
    std::vector<Value> values;
    Value a = 0.3, x = a;
    for (int i = 0; i < 20'000; ++i) {
      x = sin(x) * a + x;
      if (i % 100 == 0) values.push_back(x);
      if (i % 500 == 0) values.push_back(custom(1, std::vector{x}, [x](const Value&) {}));
      if (i % 700 == 0) values.emplace_back(x * 2 + a).label("a label that is longer than a small string");
    }
    const std::vector<Value> order = topological_order(values[20]);
    values.insert(values.end(), order.begin(), order.end());
    values.insert(values.end(), 70'000, values[3]);
    const NoGrad guard;
    for (int i = 0; i < 3'000; ++i) values.push_back(a * static_cast<double>(i));
    return values;
  };
  std::optional here(make());
  {
    const NoMemory guard;
    here.reset();
  }
  std::optional elsewhere(make());
  std::thread([&] {
    const NoMemory guard;
    elsewhere.reset();
  }).join();
  const Value a = 2, y = a * a;
  y.backward();
  EXPECT_EQ(a.grad(), 4);
}

}  // namespace
}  // namespace gradwalk::failures_test
