// SPDX-License-Identifier: MIT
// Tapes as objects: handed from thread to thread, outliving their threads, compared, under memory limits, and after
// fork().
#include "gradwalk/tapes.hpp"

#include <gtest/gtest.h>
#ifndef _WIN32
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

#include <atomic>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "support.hpp"

namespace gradwalk::tests {
namespace {

template <class F> void elsewhere(F job) { std::thread(job).join(); }

TEST(ATape, IsHandedFromThreadToThread) {
  const Tape tape;
  Value a{0.1}, root;
  elsewhere([&] {
    const UseTape use(tape);
    a = Value(2.5);
    root = a * a;
  });
  EXPECT_NE(error_of([&] { root.backward(); }), "no error");
  elsewhere([&] {
    const UseTape use(tape);
    root = root * a + 1;
  });
  const UseTape use(tape);
  root.backward();
  EXPECT_EQ(root.data(), 2.5 * 2.5 * 2.5 + 1);
  EXPECT_EQ(a.grad(), 3 * 2.5 * 2.5);
  a = root = 0;
}

TEST(ATape, OutlivesItsThreadIfValuesDo) {
  Value a, root;
  elsewhere([&] {
    a = 0.1;
    root = a * a + tanh(a);
  });
  {
    const UseTape use(Tape::of(root));
    root.backward();
    EXPECT_EQ(root.data(), 0.1 * 0.1 + std::tanh(0.1));
    EXPECT_DOUBLE_EQ(a.grad(), 2 * 0.1 + 1 - std::tanh(0.1) * std::tanh(0.1));
  }
  a = root = 0;
}

TEST(ATape, IsUsedByOneThreadAtATime) {
  const Value mine{0.1};
  const Tape tape = Tape::of(mine);
  EXPECT_EQ(tape, Tape::current());
  elsewhere([&] {
    EXPECT_EQ(error_of([&] { const UseTape use(tape); }),
              "UseTape: needs a tape in nobody's use, got one that is in use; end its use there first");
    EXPECT_NE(Tape::current(), tape);
  });
  const UseTape nested(tape);
  EXPECT_EQ((mine * 2).data(), 0.2);
}

TEST(ATape, IsReplacedByThePreviousOneAfterItsUse) {
  Value mine{0.1};
  {
    const UseTape use((Tape()));
    Value other{0.3};
    (other * other).backward();
    EXPECT_EQ(other.grad(), 0.6);
    EXPECT_NE(error_of([&] { mine.data(); }), "no error");
  }
  (mine * mine).backward();
  EXPECT_EQ(mine.grad(), 0.2);
}

TEST(ATape, IsFreedWithItsLastHandleOnAnyThread) {
  double before = 0;
  for (int i = 0; i < 300; ++i) {
    if (i == 100) before = resident_megabytes();
    std::vector<Value> theirs;
    elsewhere([&] {
      for (int k = 0; k < 5000; ++k) theirs.emplace_back(0.1 * k);
      theirs.push_back(theirs[1] * theirs[2]);
    });
    elsewhere([&] { theirs.resize(2500); });
  }
  if (emulated) GTEST_SKIP() << "the emulator's memory grows with threads";
  expect_resident_below(before + 5);
}

#ifndef _WIN32
[[noreturn]] void run_twelve_threads_in_four_gigabytes() {
  const rlimit limits{std::size_t{4} << 30, std::size_t{4} << 30};
  setrlimit(RLIMIT_AS, &limits);
  std::atomic<int> right = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 12; ++i)
    threads.emplace_back([&] {
      Value a{0.1}, x = a;
      for (int k = 0; k < 200000; ++k) x = x + a;
      x.backward();
      right += a.grad() == 200001;
    });
  for (std::thread& thread : threads) thread.join();
  Value x{0.1};  // One of them can still grow.
  for (int k = 0; k < 10000000; ++k) x = sin(x);
  std::_Exit(right == 12 ? 0 : 1);
}
#endif

TEST(ManyThreads, FitUnderALimitOfTheAddressSpace) {
#ifdef _WIN32
  GTEST_SKIP() << "Windows has no limit of the address space";
#else
  if (sanitized) GTEST_SKIP() << "sanitizers need address space of their own";
  EXPECT_EXIT(run_twelve_threads_in_four_gigabytes(), testing::ExitedWithCode(0), "");
#endif
}

TEST(ASharedTape, IsUsedByThreadsInTurn) {
  SharedTape tape;
  std::mutex lock;
  tape.use();
  Value shared{0.5}, sum{0.0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      const Value own{0.1 * 3};  // on the thread's own tape
      for (int i = 0; i < 500; ++i) {
        {
          const std::lock_guard guard(lock);
          tape.use();
          sum = sum + shared * 2.0;
        }
        if (i % 50 == 0) std::this_thread::yield();
      }
      const std::lock_guard guard(lock);
      tape.use();
      tape.leave();
      EXPECT_EQ((own * 2).data(), 0.1 * 3 * 2);
    });
  for (std::thread& thread : threads) thread.join();
  tape.use();
  sum.backward();
  EXPECT_EQ(sum.data(), 2000);
  EXPECT_EQ(shared.grad(), 4000);
  sum = shared = Value(0.0);
}

TEST(ASharedTape, MountsThePreviousTapeOfAThreadAgain) {
  SharedTape tape;
  Value mine{0.3};
  tape.use();
  EXPECT_TRUE(tape.is_here());
  EXPECT_NE(error_of([&] { mine* mine; }), "no error");
  Value there{0.7};
  elsewhere([&] {  // uses the tape, and ends
    tape.use();
    there = there * there;
  });
  EXPECT_FALSE(tape.is_here());
  EXPECT_EQ((mine * mine).data(), 0.3 * 0.3);
  EXPECT_NE(error_of([&] { there* there; }), "no error");
  tape.use();
  there.backward();
  EXPECT_EQ(there.inputs()[0].grad(), 1.4);
  there = Value(0.0);
}

TEST(ASharedTape, PassesToTheNextThreadWhenAThreadEnds) {
  SharedTape tape;
  std::vector<Value> sums;
  for (int i = 0; i < 20; ++i)
    elsewhere([&] {
      tape.use();
      sums.push_back(sums.empty() ? Value(0.3) : sums.back() + 1);
    });
  tape.use();
  sums.back().backward();
  EXPECT_DOUBLE_EQ(sums.back().data(), 19.3);
  sums.clear();
}

// A thread that repeats its job until its scope ends. libc++ 19 has no std::jthread.
class Repeating {
 public:
  template <class F> explicit Repeating(F job) {
    thread_ = std::thread([this, job] {
      while (!is_over_) job();
    });
  }
  ~Repeating() {
    is_over_ = true;
    thread_.join();
  }
  Repeating(const Repeating&) = delete;
  Repeating& operator=(const Repeating&) = delete;

 private:
  std::atomic<bool> is_over_ = false;
  std::thread thread_;
};

TEST(AFork, WhileAnotherThreadReleasesValuesLeavesTheChildUsable) {
#ifdef _WIN32
  GTEST_SKIP() << "Windows has no fork()";
#else
  if (emulated) GTEST_SKIP() << "qemu does not fork where there are threads";
  const Value kept{0.1};
  const Repeating other([] {
    Value a{0.3};
    std::vector<Value> some(100, a * a);
    std::thread([some = std::move(some)]() mutable { some.clear(); }).join();
  });
  for (int i = 0; i < 50; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      Value root = kept * kept;
      root.backward();
      Value theirs;
      if (!sanitized)
        elsewhere([&] { theirs = Value(0.7) * 2; });  // The thread sanitizer does not allow threads after fork().
      theirs = 0;
      _exit(kept.grad() == 0.2 ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "child " << i;
  }
#endif
}

}  // namespace
}  // namespace gradwalk::tests
