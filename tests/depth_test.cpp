// SPDX-License-Identifier: MIT
// Depth costs no stack: chains of ten million nodes are built, differentiated and freed on a stack of 8 MB and on one
// of 64 KB. Everything else that follows a graph works there, too.
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>

#include <algorithm>
#include <climits>
#include <functional>

#include "support.hpp"

namespace gradwalk::tests {
namespace {

// The frames of sanitizers are large, and each system has its own minimum stack size: on aarch64, 128 KB.
const std::size_t small_stack =
    std::max<std::size_t>(sanitized ? 512 * 1024 : 64 * 1024, static_cast<std::size_t>(PTHREAD_STACK_MIN));
constexpr std::size_t usual_stack = 8 * 1024 * 1024;
constexpr std::size_t deep = sized(10000000, 300000);

void on_a_stack_of(std::size_t bytes, std::function<void()> job) {
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, bytes), 0);
  pthread_t thread;
  const auto run = [](void* it) -> void* { return (*static_cast<std::function<void()>*>(it))(), nullptr; };
  ASSERT_EQ(pthread_create(&thread, &attributes, run, &job), 0);
  ASSERT_EQ(pthread_join(thread, nullptr), 0);
  pthread_attr_destroy(&attributes);
}

void build_differentiate_and_free(std::function<Value(const Value&, const Value&)> step, double gradient) {
  Value x{1}, one{1};
  Value chain = x;
  for (std::size_t i = 0; i < deep; ++i) chain = step(chain, one);
  chain.backward();
  EXPECT_EQ(x.grad(), gradient);
  chain.backward();  // The nodes now have gradients, so this pass searches.
  EXPECT_EQ(x.grad(), 2 * gradient);
  chain = 0;
  EXPECT_EQ((x * 3).data(), 3);
}

Value product(const Value& x, const Value& one) { return x * one; }
Value fused(const Value& x, const Value& one) { return x * one + one; }
Value negated(const Value& x, const Value&) { return -x; }
Value with_number(const Value& x, const Value&) { return x + 1.0; }

TEST(AChainOfTenMillionNodes, LivesAndDiesOnTheMainStack) {
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_STACK, &limit), 0);
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, usual_stack);
  ASSERT_EQ(setrlimit(RLIMIT_STACK, &limit), 0);
  build_differentiate_and_free(product, 1);
}

TEST(AChainOfTenMillionNodes, LivesAndDiesOnAStackOf8Megabytes) {
  on_a_stack_of(usual_stack, [] { build_differentiate_and_free(negated, 1); });
}

TEST(AChainOfTenMillionNodes, LivesAndDiesOnAStackOf64Kilobytes) {
  on_a_stack_of(small_stack, [] { build_differentiate_and_free(product, 1); });
}

TEST(AChainOfTenMillionNodes, OfFusedSumsLivesAndDiesOnAStackOf64Kilobytes) {
  on_a_stack_of(small_stack, [] { build_differentiate_and_free(fused, 1); });
}

TEST(AChainOfTenMillionNodes, WithNumbersLivesAndDiesOnAStackOf64Kilobytes) {
  on_a_stack_of(small_stack, [] { build_differentiate_and_free(with_number, 1); });
}

TEST(ADeepChain, IsOrderedRecomputedSearchedAndDifferentiatedOnAStackOf64Kilobytes) {
  on_a_stack_of(small_stack, [] {
    constexpr std::size_t length = sized(300000, 30000);
    Value x{1}, one{1};
    Value chain = x;
    for (std::size_t i = 0; i < length; ++i) chain = chain * one + one;
    EXPECT_EQ(topological_order(chain).size(), 2 * length + 2);
    x.data() = 2;
    recompute(chain);
    EXPECT_EQ(chain.data(), static_cast<double>(length + 2));
    EXPECT_FALSE(find_nonfinite(chain));
    const std::vector<Value> slope = derivatives(chain, std::vector{x});
    EXPECT_EQ(slope[0].data(), 1);
    chain.backward();
    EXPECT_EQ(x.grad(), 1);
  });
}

TEST(ADeepChain, HeldAtEveryNodeIsFreedInAnyOrder) {
  on_a_stack_of(small_stack, [] {
    constexpr std::size_t length = sized(1000000, 100000);
    for (const bool from_the_leaf : {false, true}) {
      std::vector<Value> chain{1};
      for (std::size_t i = 0; i < length; ++i) chain.push_back(-chain.back());
      if (from_the_leaf)
        for (Value& node : chain) node = Value();
      while (!chain.empty()) chain.pop_back();
    }
  });
}

}  // namespace
}  // namespace gradwalk::tests
