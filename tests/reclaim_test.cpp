// SPDX-License-Identifier: MIT
// Special cases of freeing memory: ranges that are freed at once, chunks that are reused, and a full tape.
#include <gtest/gtest.h>
#ifndef _WIN32
#include <sys/resource.h>
#endif

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <string>
#include <thread>

#include "gradwalk/gradwalk.hpp"
#include "support.hpp"

namespace gradwalk {
namespace {

TEST(ASweptRoot, FreesOnlyItsOwnGraphAfterItJoinedASum) {
  Value a{2.0}, b{3.0};
  {
    Value s = a * b, p = a * b;
    p.backward();
    s += std::move(p);
    for (int i = 0; i < 3; ++i) s += a * b;
    EXPECT_EQ(s.data(), 30);
  }
  Value x = tanh(a);
  for (int i = 0; i < 100'000; ++i) x = tanh(x);
  EXPECT_EQ(topological_order(x).size(), 100'002u);
}

TEST(ASweptRange, IsForgottenWhenTheTapeIsCollectedUnderNoGrad) {
  Value w{0.5};
  Value loss = tanh(sin(cos(w)));
  loss.backward();
  const NoGrad guard;
  loss = w.detach();
  for (int i = 0; i < 20'000; ++i) const Value row{1.0};
  const Value p = sin(w), q = cos(w);
  {
    const Value temporary = tan(w);
  }
  const Value r = exp(w), s = exp(w);
  EXPECT_EQ(p.data(), std::sin(0.5));
  EXPECT_EQ(q.data(), std::cos(0.5));
}

TEST(ASweptRange, IsForgottenWhenItsChunkIsReused) {
  Value a{0.5}, r = a;
  for (int i = 0; i < 100; ++i) r = sin(r);
  r.backward();
  const std::uint64_t end = r.id() + 4;
  for (int i = 0; i < 4'000; ++i) r = cos(r);
  Value x = sin(a);
  r = a;
  for (int i = 0; i < 100'000; ++i) {  // enough to collect, and to reuse the first chunk
    x = x * 1.0;
    if (x.id() + 8 == end) const Value t = exp(x);  // popped exactly where the old range ended
    if (x.id() + 9 == end) const Value t = x * 2.0;
  }
  a.grad() = 0;
  x.backward();
  EXPECT_EQ(a.grad(), std::cos(0.5));
}

// Returns `count` products.
std::vector<Value> products(const Value& a, const Value& b, int count) {
  std::vector<Value> all;
  for (int i = 0; i < count; ++i) all.push_back(a * b);
  return all;
}
void make_leaves_until_the_dead_are_looked_for() {
  for (int i = 0; i < 40'000; ++i) const Value leaf{0.1};
}

TEST(ADeadChunk, FreesNoLiveChunkThoughAPassEndedInIt) {
  const Value a{1.5}, b{0.25};
  const std::vector<Value> kept = products(a, b, 4090);  // two chunks
  std::vector<Value> passing = products(a, b, 100);
  Value r = sin(a);
  r.backward();  // in the middle of the third
  for (int i = 0; i < 2'000; ++i) passing.push_back(a * b);
  Value x = sin(b);  // in the fourth
  passing.clear();
  r = 0;
  make_leaves_until_the_dead_are_looked_for();
  x.backward();
  x = 1;
  const std::vector<Value> more = products(a, a, 3'000);
  for (const Value& one : kept) ASSERT_EQ(one.data(), 1.5 * 0.25);
}

TEST(ADeadChunk, BelowALongGraphIsNotSwept) {
  Value a{1.5}, b{0.25};
  for (const int length : {200'000, 4'000}) {
    Value c = sin(a);
    for (int i = 0; i < length; ++i) c = sin(c);
  }
  std::vector<Value> passing = products(a, b, 2'500);
  Value x = sin(a);
  passing.clear();
  for (int i = 0; i < 100'000; ++i) x = sin(x);
  x.backward();
  x = 1;
  b.grad() = 0;
  const Value y = sin(a * b);
  y.backward();
  EXPECT_EQ(b.grad(), std::cos(1.5 * 0.25) * 1.5);
}

TEST(APass, ThatEndsWithItsChunkLeavesTheNextChunkIntact) {
  Value a{1.5}, b{0.25};
  const std::vector<Value> kept = products(a, b, 2046);
  const Value r = sin(a);  // the last record that fits into the chunk
  r.backward();
  {
    const Value x = sin(b);
    x.backward();
  }
  const Value product = a * Value(0.3);
  a.grad() = 0;
  make_leaves_until_the_dead_are_looked_for();
  const std::vector<Value> others(20'000, Value(7.1)), more = products(a, b, 10);
  std::vector<Value> leaves;
  for (int i = 0; i < 20'000; ++i) leaves.emplace_back(7.1);
  product.backward();
  EXPECT_EQ(a.grad(), 0.3);
}

TEST(AGradient, OfAFunctionOfAnOlderValueAboveItLeavesNoTrace) {
  const Value a{1.5}, b{0.25};
  std::vector<Value> passing = products(a, b, 2'500);
  const Value captured = sin(a);
  Value x = sin(b);
  passing.clear();
  while (x.id() > captured.id()) x = sin(x);  // until the tape goes round
  const auto times_captured = [&](const std::vector<Value>& v) { return v[0] * captured; };
  EXPECT_EQ(gradient(times_captured, std::vector{2.0}), std::vector{std::sin(1.5)});
  EXPECT_EQ(captured.grad(), 0);
}

TEST(ACustomName, SurvivesTheTapeBecomingEmptyWhileItIsMade) {
  Value a{2.0};
  std::vector<Value> many(4'000, a);
  const std::vector<double> ones(many.size(), 1.0);
  Value kept = sin(a);
  std::thread([gone = std::move(kept)] {
  }).join();  // Its handle dies elsewhere and is released when a record needs room.
  const Value made = custom(1.0, many, ones, "a name that is too long for the small string buffer");
  EXPECT_EQ(made.op_name(), "a name that is too long for the small string buffer");
}

TEST(AGuard, MayOutliveItsThreadsTape) {
  EXPECT_EXIT(
      {
        static const NoGrad guard;
        const Value a{2.0};
        std::exit(static_cast<int>((a * a).data()));
      },
      testing::ExitedWithCode(4), "");
}

#ifndef _WIN32
[[noreturn]] void run_with_little_memory(std::size_t megabytes, const std::function<bool()>& body) {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  rlimit limits{};
  limits.rlim_cur = limits.rlim_max = pages * 4096 + (megabytes << 20);
  setrlimit(RLIMIT_AS, &limits);
  bool ok = false;
  std::thread([&] { ok = body(); }).join();
  std::_Exit(ok ? 0 : 1);
}
#endif

// Runs the body in a process with at most `megabytes` MB of address space. The body returns whether it succeeded.
void with_little_memory(std::size_t megabytes, const std::function<bool()>& body) {
  if (tests::sanitized) GTEST_SKIP() << "sanitizers need address space of their own";
  if (tests::emulated) GTEST_SKIP() << "qemu sets no limit to the address space";
#ifdef _WIN32
  GTEST_SKIP() << "Windows has no limit of the address space, for " << megabytes << " MB";
  body();
#else
  EXPECT_EXIT(run_with_little_memory(megabytes, body), testing::ExitedWithCode(0), "");
#endif
}

#ifdef GRADWALK_POISON
TEST(AFreedNode, IsReportedByTheAddressSanitizer) {
  const auto read_after_end = [](bool is_leaf) {
    const Value a = 0.1;
    Value pin = sin(a);
    const double* data = nullptr;
    {
      Value x = is_leaf ? Value(0.3) : cos(a);
      data = &x.data();
    }
    pin = a;  // Now the tape is empty, and dead leaves are freed.
    return *static_cast<const volatile double*>(data);
  };
  EXPECT_DEATH(read_after_end(true), "use-after-poison");
  EXPECT_DEATH(read_after_end(false), "use-after-poison");
}
#endif

TEST(AFullTape, IsAnErrorThatLeavesTheThreadUsable) {
  with_little_memory(400, [] {
    Value a{0.5}, x = a;
    std::string message;
    try {
      for (;;) x = sin(x);
    } catch (const Error& error) {
      message = error.what();
    }
    double unrecorded = 0;
    {
      const NoGrad guard;  // An unrecorded result takes no space in the chunks.
      unrecorded = (x * 0 + a * 4).data();
    }
    x = a;
    const Value y = a * a;
    y.backward();
    return message.starts_with("record: needs a graph that fits its tape of ") && unrecorded == 2 && a.grad() == 1;
  });
}

TEST(AFullTape, IsCollectedBeforeAnErrorIsThrown) {
  with_little_memory(200, [] {
    Value a{0.5};
    constexpr int chunk = 2047;
    Value live = a, junk = a;
    for (int i = 0; i < 130 * chunk; ++i) live = sin(live);
    for (int i = 0; i < 100 * chunk; ++i) junk = sin(junk);
    Value pin = sin(a);
    junk = a;
    for (int i = 0; i < 500 * chunk; ++i) live = sin(live);
    for (int k = 0; k < 2'000; ++k) {  // Each round leaves a chunk of dead records below a live one.
      Value y = a;
      for (int i = 0; i < chunk; ++i) y = cos(y);
      pin = sin(a);
    }
    return true;
  });
}

TEST(ASearchThatFails, LeavesNoMarks) {
  with_little_memory(200, [] {
    Value a{0.5};
    Value s = a * 2.0;
    for (int i = 0; i < 3; ++i) s = tanh(s * 2.0);
    std::vector<Value> all;
    all.reserve(4'000'000);
    std::string message;
    try {
      for (;;) all.emplace_back(0.1);
    } catch (const Error& error) {
      message = error.what();
    }
    bool refused = false;
    try {
      topological_order(s);  // needs leaves for the constants, and memory
    } catch (const std::exception&) {
      refused = true;
    }
    a.grad() = 0;
    s.backward();
    return refused && message.starts_with("Value: needs at most ") && std::abs(a.grad() - 0.00759798) < 1e-8;
  });
}

}  // namespace
}  // namespace gradwalk
