// SPDX-License-Identifier: MIT
// Long random sessions beside the small engine (session.hpp), with many seeds. They find bugs of freeing memory.
// GRADWALK_SEED=n runs only that seed; GRADWALK_LONG runs many more.
#include "session.hpp"

#include <gtest/gtest.h>
#ifndef _WIN32
#include <sys/wait.h>
#include <unistd.h>
#endif

#include <cstdlib>
#include <optional>

namespace gradwalk::tests {
namespace {

void expect_equal_sessions(std::uint64_t first_seed, std::uint64_t seeds, std::size_t nodes) {
  if (const char* seed = std::getenv("GRADWALK_SEED")) first_seed = std::strtoull(seed, nullptr, 10), seeds = 1;
  for (std::uint64_t seed = first_seed; seed < first_seed + seeds; ++seed) {
    SCOPED_TRACE("GRADWALK_SEED=" + std::to_string(seed));
    Session(seed).run(nodes);
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(Session, OfAnyActionsInAnyOrderAgreesWithTheSmallEngine) {
  expect_equal_sessions(1, long_run() ? 8000 : sized(400, 40), 3000);
}

TEST(Session, OfGreatLengthAgreesWithTheSmallEngineWhileChunksAreReused) {
  expect_equal_sessions(1000000, long_run() ? 400 : sized(12, 2), sized(150000, 60000));
}

TEST(Session, DoesNotDisturbSessionsOnOtherThreads) {
  std::vector<std::thread> threads;
  for (std::uint64_t i = 0; i < 4; ++i)
    threads.emplace_back([i] { expect_equal_sessions(2000000 + 1000 * i, sized(3, 1), sized(60000, 20000)); });
  for (std::thread& thread : threads) thread.join();
}

TEST(Session, OnATapeHandedFromThreadToThreadAgreesWithTheSmallEngine) {
  for (std::uint64_t seed = 0; seed < sized(20, 4); ++seed) {
    SCOPED_TRACE(seed);
    const Tape tape;
    std::optional<Session> session;
    const auto on_a_thread = [&](auto work) {
      std::thread([&] {
        const UseTape use(tape);
        work();
      }).join();
    };
    on_a_thread([&] { session.emplace(3000000 + seed); });
    for (int slice = 0; slice < 20; ++slice) on_a_thread([&] { session->go_on(500); });
    on_a_thread([&] { session->run(11'000); });
    if (seed % 2 == 0)
      on_a_thread([&] { session.reset(); });  // Otherwise its Values die here, where the tape is not mounted.
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(Session, ContinuesInAForkedChildAndInItsParent) {
#ifdef _WIN32
  GTEST_SKIP() << "Windows has no fork()";
#else
  for (std::uint64_t seed = 0; seed < sized(10, 2); ++seed) {
    SCOPED_TRACE(seed);
    Session session(4000000 + seed);
    session.go_on(2000);
    const pid_t child = fork();
    ASSERT_NE(child, -1);
    if (child == 0) {
      session.run(8000);
      std::_Exit(testing::Test::HasFailure() ? 1 : 0);
    }
    session.run(6000);
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    if (testing::Test::HasFatalFailure()) return;
  }
#endif
}

}  // namespace
}  // namespace gradwalk::tests
