// SPDX-License-Identifier: MIT
// Values and threads: each thread has its own tape. Using a Value on another thread is an Error. Destroying it is
// allowed anywhere: on another thread, after its thread has ended, and after main.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <mutex>
#include <thread>

#include "support.hpp"

namespace gradwalk::tests {
namespace {

const std::string another_thread =
    ": needs a Value of this thread, got one of another thread; build and use a graph on one thread, hand numbers "
    "between threads, or hand its Tape over";
const std::string ended_thread =
    ": needs a Value of this thread, got one whose thread has ended; build and use a graph on one thread, hand numbers "
    "between threads, or hand its Tape over";

// Values that outlive main: made before it, and used and destroyed after it.
Value global{1.0};
struct AfterMain {
  Value value = global * 2;
#ifdef _WIN32
  std::string wanted = "no error";  // global objects end before the main thread
#else
  std::string wanted = "data" + ended_thread;
#endif
  ~AfterMain() {
    const std::string got = error_of([&] { value.data(); });
    if (got == wanted) return;
    std::fprintf(stderr, "after main: wanted %s\ngot %s\n", wanted.c_str(), got.c_str());
    std::_Exit(1);
  }
} after_main;

template <class F> void elsewhere(F job) { std::thread(job).join(); }

void expect_refused(Value& foreign, const std::string& rest) {
  Value own{1};
  EXPECT_EQ(error_of([&] { foreign.data(); }), "data" + rest);
  EXPECT_EQ(error_of([&] { (void)std::as_const(foreign).grad(); }), "grad" + rest);
  EXPECT_EQ(error_of([&] { foreign.data() = 1; }), "data" + rest);
  EXPECT_EQ(error_of([&] { foreign.grad() = 1; }), "grad" + rest);
  EXPECT_EQ(error_of([&] { foreign.backward(); }), "backward" + rest);
  EXPECT_EQ(error_of([&] { foreign.propagate(); }), "propagate" + rest);
  EXPECT_EQ(error_of([&] { const Value copy = foreign; }), "copy" + rest);
  EXPECT_EQ(error_of([&] { own = foreign; }), "copy" + rest);
  EXPECT_EQ(error_of([&] { (void)(own + foreign); }), "add" + rest);
  EXPECT_EQ(error_of([&] { (void)(foreign + own); }), "add" + rest);
  EXPECT_EQ(error_of([&] { (void)(foreign + foreign); }), "add" + rest);
  EXPECT_EQ(error_of([&] { (void)(foreign + 1); }), "add" + rest);
  EXPECT_EQ(error_of([&] { own += foreign; }), "add" + rest);
  EXPECT_EQ(error_of([&] { foreign += own * own; }), "add" + rest);
  EXPECT_EQ(error_of([&] { foreign *= 2; }), "mul" + rest);
  EXPECT_EQ(error_of([&] { (void)(own / foreign); }), "div" + rest);
  EXPECT_EQ(error_of([&] { (void)pow(foreign, 2); }), "pow" + rest);
  EXPECT_EQ(error_of([&] { (void)pow(2, foreign); }), "pow" + rest);
  EXPECT_EQ(error_of([&] { (void)tanh(foreign); }), "tanh" + rest);
  EXPECT_EQ(error_of([&] { (void)-foreign; }), "neg" + rest);
  EXPECT_EQ(error_of([&] { (void)(foreign < own); }), "data" + rest);
  EXPECT_EQ(error_of([&] { (void)same_node(own, foreign); }), "id" + rest);
  EXPECT_EQ(error_of([&] { (void)foreign.label(); }), "label" + rest);
  EXPECT_EQ(error_of([&] { foreign.label("x"); }), "label" + rest);
  EXPECT_EQ(error_of([&] { (void)foreign.op(); }), "op" + rest);
  EXPECT_EQ(error_of([&] { (void)foreign.op_name(); }), "op" + rest);
  EXPECT_EQ(error_of([&] { (void)foreign.inputs(); }), "inputs" + rest);
  EXPECT_EQ(error_of([&] { (void)foreign.detach(); }), "detach" + rest);
  EXPECT_EQ(error_of([&] { (void)topological_order(foreign); }), "topological_order" + rest);
  EXPECT_EQ(error_of([&] { recompute(foreign); }), "recompute" + rest);
  EXPECT_EQ(error_of([&] { (void)find_nonfinite(foreign); }), "find_nonfinite" + rest);
  EXPECT_NE(error_of([&] { (void)to_string(foreign); }).find(rest), std::string::npos);
  EXPECT_EQ(error_of([&] { (void)custom(1, {{foreign, 1.0}}); }), "custom" + rest);
  EXPECT_EQ(own.data(), 1);
}

TEST(AForeignValue, IsAnErrorInEveryCall) {
  Value a{2};
  Value mine = a * a;
  elsewhere([&] { expect_refused(mine, another_thread); });
  mine.backward();
  EXPECT_EQ(a.grad(), 4);
}

TEST(AForeignValue, IsAnErrorAlsoWhileItHoldsANumber) {
  Value number = 2;
  elsewhere([&] {
    const Value x = 0.1;
    const Value y = x * x;
    EXPECT_EQ(error_of([&] { number += y; }), "add" + another_thread);
    EXPECT_EQ(error_of([&] { (void)(std::move(number) + y); }), "add" + another_thread);
    EXPECT_EQ(error_of([&] { (void)(y - number); }), "sub" + another_thread);
    EXPECT_EQ(error_of([&] { (void)(x * y + number); }), "add" + another_thread);
  });
  EXPECT_EQ(number.data(), 2);
}

TEST(AForeignValue, IsAnErrorAlsoOnAThreadWithoutATape) {
  Value mine{2};
  elsewhere([&] { EXPECT_EQ(error_of([&] { mine.data(); }), "data" + another_thread); });
  elsewhere([&] { EXPECT_EQ(error_of([&] { (void)(mine * mine); }), "mul" + another_thread); });
  elsewhere([&] { EXPECT_EQ(error_of([&] { const Value copy = mine; }), "copy" + another_thread); });
}

TEST(AValueWhoseThreadHasEnded, IsAnErrorInEveryCall) {
  Value theirs;
  elsewhere([&] {
    const Value a{2};
    theirs = a * a;
  });
  expect_refused(theirs, ended_thread);
}

TEST(AValueWhoseThreadHasEnded, IsNotMistakenForOneOfTheNextThread) {
  std::vector<Value> theirs;
  for (int i = 0; i < 20; ++i)
    elsewhere([&] {
      Value own{0.1};
      if (!theirs.empty()) {
        EXPECT_EQ(error_of([&] { theirs.back().data(); }), "data" + ended_thread);
        theirs.clear();
      }
      theirs.push_back(std::move(own));
    });
}

TEST(ANumberOfAThreadThatHasEnded, IsAnErrorThoughItsTapeIsFreed) {
  Value theirs{0.1};
  elsewhere([&] { theirs = Value(2); });
  EXPECT_EQ(error_of([&] { (void)(theirs * 2); }), "mul" + another_thread);
  EXPECT_EQ(error_of([&] { theirs.data(); }), "data" + another_thread);
}

TEST(AValue, MayBeDestroyedAndReplacedOnAnyThread) {
  Value theirs, replaced{1};
  elsewhere([&] { theirs = Value(3) * Value(4); });
  theirs = 5;
  EXPECT_EQ(theirs.data(), 5);
  elsewhere([&] { replaced = Value(2); });
  replaced = Value();
  EXPECT_EQ(replaced.data(), 0);
}

TEST(AValue, MayBeThreadLocalAndStatic) {
  thread_local Value here{1};
  static Value kept = global + here;
  elsewhere([] {
    thread_local Value first{2};
    thread_local Value second = first * first;
    second.backward();
    EXPECT_EQ(first.grad(), 4);
  });
  EXPECT_EQ(kept.data(), 2);
}

TEST(AValue, MayFirstBeMadeWhileItsThreadEnds) {
  struct AtEnd {
    ~AtEnd() {
      const Value a{2};
      const Value b = a * a + a;
      b.backward();
      if (a.grad() != 5) std::abort();
    }
  };
  elsewhere([] {
    thread_local AtEnd at_end;
    (void)&at_end;
    const Value before{1};
  });
}

TEST(ValuesDestroyedElsewhere, ReturnTheirMemoryToTheirTape) {
  const auto round = [] {
    std::vector<Value> graph;
    for (int i = 0; i < 5000; ++i) graph.push_back(i % 2 == 0 ? Value(i) : graph.back() * 2 + 1);
    elsewhere([gone = std::move(graph)] {});
  };
  for (int i = 0; i < 50; ++i) round();
  const double before = resident_megabytes();
  for (std::size_t i = 0; i < sized(2000, 50); ++i) round();
  if (emulated) GTEST_SKIP() << "the emulator's memory grows with threads";
  expect_resident_below(before + 4.3);  // two huge pages; a leak would take 300
}

TEST(ValuesDestroyedElsewhere, WhileTheirThreadWorksDisturbNothing) {
  std::mutex mutex;
  std::vector<Value> dying;
  std::atomic<bool> done = false;
  std::thread other([&] {
    while (!done) {
      std::vector<Value> gone;
      const std::lock_guard lock(mutex);
      gone.swap(dying);
    }
  });
  const Value x{3};
  for (std::size_t i = 0; i < sized(30000, 3000); ++i) {
    Value root = x;
    for (int k = 0; k < 20; ++k) {
      root = root * 1.0 + x;
      if (k % 5 != 0) continue;
      const std::lock_guard lock(mutex);
      dying.push_back(root);
      dying.emplace_back(k);
    }
    root.backward();
    ASSERT_TRUE(i % 100 != 0 || topological_order(root).size() == 61);
  }
  done = true;
  other.join();
  EXPECT_EQ(x.grad(), static_cast<double>(21 * sized(30000, 3000)));
}

TEST(ValuesDestroyedElsewhere, AreReleasedWhileAGraphIsLookedAt) {
  const Value a{2}, b{3}, c{4};
  const Value below = a * b;
  for (int round = 0; round < 3; ++round) {
    std::vector<Value> leaves;
    for (int i = 0; i < 40000; ++i) leaves.emplace_back(i);
    Value root = a * b + c;
    for (int i = 0; i < 5000; ++i) root = tanh(root * b + c);
    elsewhere([gone = std::move(leaves)] {});
    EXPECT_EQ(topological_order(root).size(), 15005u);
    root.backward();
  }
}

TEST(Threads, BuildAndDifferentiateTheirGraphsAtTheSameTime) {
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([t, &right] {
      const Value x{1.0 + t};
      Value sum = 0;
      for (std::size_t i = 0; i < sized(100000, 10000); ++i) sum += x * x;
      sum.backward();
      right += x.grad() == 2.0 * (1 + t) * static_cast<double>(sized(100000, 10000));
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 8);
}

TEST(Threads, StartAndEndInConstantMemory) {
  const auto round = [] {
    elsewhere([] {
      const Value x{1};
      (x * x + x).backward();
    });
  };
  for (int i = 0; i < 100; ++i) round();
  const double before = resident_megabytes();
  for (std::size_t i = 0; i < sized(3000, 100); ++i) round();
  if (emulated) GTEST_SKIP() << "the emulator's memory grows with threads";
  expect_resident_below(before + 1);
}

}  // namespace
}  // namespace gradwalk::tests
