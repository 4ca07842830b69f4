// SPDX-License-Identifier: MIT
// Programs and threads: the threads of a program, and the threads of its user. The thread sanitizer checks the data
// that threads share.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#ifndef _WIN32
#include <sys/wait.h>
#include <unistd.h>
#endif

#include <atomic>
#include <cmath>
#include <optional>
#include <thread>

#include "gradwalk/compile.hpp"
#include "support.hpp"

namespace gradwalk::compile_threads_test {

using testing::HasSubstr;
using tests::error_of;

template <class F> void elsewhere(F job) { std::thread(job).join(); }

// A network with layers, functions and sums. It has so much work per row that a thousand rows occupy all threads.
struct Network {
  MLP model{4, {40, 40, 1}};
  std::vector<Value> inputs = std::vector<Value>(5), parameters = model.parameters();
  Value scale{0.5};

  Network() { parameters.push_back(scale); }
  Value loss() const {
    const Value out = model(std::vector<Value>(inputs.begin(), inputs.begin() + 4))[0];
    return pow(tanh(scale * out) - inputs[4], 2) + sin(scale * inputs[0]);
  }
  Program compiled(std::size_t threads, Precision precision = Precision::float64) const {
    return compile(loss(), {.inputs = inputs, .parameters = parameters, .precision = precision, .threads = threads});
  }
};

std::vector<double> rows_of(std::size_t count) {
  std::vector<double> rows(5 * count);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = std::sin(static_cast<double>(7 * i + count));
  return rows;
}

struct Result {
  double sum;
  std::vector<double> gradient;
  bool operator==(const Result&) const = default;
};
Result run(Program& program, std::size_t rows) {
  Result result{0, std::vector<double>(program.parameters())};
  result.sum = program.gradients(rows_of(rows), result.gradient);
  return result;
}

constexpr std::size_t many = 1000;  // rows

TEST(AProgramWithThreads, GivesTheSameBitsInEveryRun) {
  const Network network;
  for (const Precision precision : {Precision::float64, Precision::float32}) {
    Program alone = network.compiled(1, precision);
    for (const std::size_t threads : {2u, 3u, 8u}) {
      Program program = network.compiled(threads, precision);
      for (std::size_t i = 0; i < tests::sized(20, 4); ++i)  // the sizes occupy few threads, then all, then few
        for (const std::size_t rows : {many, many + 1, std::size_t{9}})
          ASSERT_EQ(run(program, rows), run(alone, rows)) << rows << " rows, " << threads << " threads";
    }
  }
}

TEST(AProgramWithThreads, WorksAfterAnErrorInOneThread) {
  const Network network;
  const RowFunction guarded = [&](const std::vector<Value>& in) {
    const Value out = network.model(std::vector<Value>(in.begin(), in.begin() + 4))[0];
    return in[4] < 2 ? tanh(out) * in[4] : out;
  };
  Program program =
      compile(guarded, {{1, 2, 3, 4, 0}, {0, 0, 0, 0, 1}}, {.parameters = network.parameters, .threads = 3});
  const Result before = run(program, many);
  for (const std::size_t bad : {std::size_t{3}, many / 2, many - 1}) {
    std::vector<double> rows = rows_of(many), gradient(program.parameters());
    rows[5 * bad + 4] = 3;
    EXPECT_THAT(error_of([&] { program.gradients(rows, gradient); }), HasSubstr("row " + std::to_string(bad)));
    EXPECT_EQ(run(program, many), before);
  }
}

TEST(AProgramWithThreads, CanBeMovedAndReplaced) {
  const Network network;
  Program first = network.compiled(3);
  const Result wanted = run(first, many);
  Program second = std::move(first);
  EXPECT_EQ(run(second, many), wanted);
  first = std::move(second);
  EXPECT_EQ(run(first, many), wanted);
  first = network.compiled(2);
  EXPECT_EQ(run(first, many), wanted);
  EXPECT_THAT(error_of([&] { run(second, many); }), HasSubstr("moved from"));
}

TEST(Threads, RunProgramsOfTheirOwnAtTheSameTime) {
  std::atomic<int> right = 0;
  const auto job = [&] {
    const Network network;
    Program alone = network.compiled(1), program = network.compiled(2);
    const Result wanted = run(alone, many);
    bool same = true;
    for (std::size_t i = 0; i < tests::sized(20, 4); ++i) same = same && run(program, many) == wanted;
    right += same ? 1 : 0;
  };
  std::thread one(job), two(job);
  one.join();
  two.join();
  EXPECT_EQ(right, 2);
}

TEST(Threads, RunClonesOfAProgramAtTheSameTime) {
  const Network network;
  Program program = network.compiled(1), clone = program.clone();
  const std::vector<double> parameters(program.parameters(), 0.25);
  const auto gradients_of = [&](Program& of) {
    std::vector<double> gradients(of.parameters());
    of.gradients_at(parameters, rows_of(many), gradients);
    return gradients;
  };
  const std::vector<double> wanted = gradients_of(program);
  std::atomic<int> wrong = 0;
  const auto job = [&](Program& of) {
    for (std::size_t i = 0; i < tests::sized(20, 4); ++i) wrong += gradients_of(of) == wanted ? 0 : 1;
  };
  std::thread one(job, std::ref(program)), two(job, std::ref(clone));
  one.join();
  two.join();
  EXPECT_EQ(wrong, 0);
}

// A call that reads Values must be on their thread. A call that only computes can be on any thread.
TEST(AProgramOfAnotherThread, ThrowsIfItWouldReadValues) {
  Value w{2.0}, x{0.0};
  Program program = compile(w * x, {.inputs = {x}, .parameters = {w}});
  elsewhere([&] {
    const std::vector rows{3.0};
    std::vector<double> one(1);
    const std::string wanted = "needs a Value of this thread";
    EXPECT_THAT(error_of([&] { program.run(rows); }), HasSubstr(wanted));
    EXPECT_THAT(error_of([&] { program.gradients(rows, one); }), HasSubstr(wanted));
    EXPECT_THAT(error_of([&] { program.evaluate(rows, one); }), HasSubstr(wanted));
  });
  EXPECT_EQ(program.run(std::vector{3.0}), 6);
  EXPECT_EQ(w.grad(), 3);
}

TEST(AProgramOfAnotherThread, ComputesWithNumbersOnAnyThread) {
  std::optional<Program> program;
  elsewhere([&] {
    const std::vector<Value> p{1.0, 2.0};
    program.emplace(compile(p[0] * p[0] * p[1], {.parameters = p, .threads = 2}));
  });
  std::vector<double> gradient(2);
  EXPECT_EQ(program->gradient_at(std::vector{3.0, 5.0}, gradient), 45);
  EXPECT_THAT(gradient, testing::ElementsAre(30, 9));
  elsewhere([&] {
    EXPECT_EQ(program->value_at(std::vector{3.0, 5.0}), 45);
    program.reset();
  });
}

TEST(AProgramOfAnotherThread, RunsAfterItsTapeWasHandedOver) {
  const Tape tape;
  std::optional<Program> program;
  Value w{0.1}, x{0.1};
  {
    const UseTape use(tape);
    w = Value(2.0), x = Value(0.0);
    program.emplace(compile(w * x, {.inputs = {x}, .parameters = {w}}));
  }
  elsewhere([&] {
    const UseTape use(tape);
    EXPECT_EQ(program->run(std::vector{3.0, 4.0}), 14);
    EXPECT_EQ(w.grad(), 7);
  });
  program.reset();
}

TEST(ARootOfAnotherThread, IsRefused) {
  Value w{2.0}, x{0.0};
  const Value root = w * x;
  elsewhere([&] {
    Value own{1.0};
    const std::string wanted = "needs a Value of this thread, got one of another thread";
    EXPECT_THAT(error_of([&] { compile(root, {}); }),
                testing::AllOf(testing::StartsWith("compile: "), HasSubstr(wanted)));
    EXPECT_THAT(error_of([&] { compile(own * 2, {.parameters = {w}}); }), HasSubstr(wanted));
  });
}

TEST(ATrainerWithThreads, StepsOnAnyThread) {
  const Network network;
  Trainer trainer(network.compiled(2), SGD{.lr = 1e-5});
  const std::vector<double> rows = rows_of(many);
  const double first = trainer.step(rows);
  elsewhere([&] { EXPECT_LT(trainer.step(rows), first); });
  EXPECT_LT(trainer.step(rows), first);
}

#ifdef _WIN32
TEST(AFork, IsNotOfWindows) { GTEST_SKIP() << "Windows has no fork()"; }
#else
TEST(AFork, LetsTheChildRunItsPrograms) {
  if (tests::sanitized) GTEST_SKIP() << "the thread sanitizer wants no threads in a child";
  const Network network;
  Program program = network.compiled(3);
  const Result wanted = run(program, many);
  for (int i = 0; i < 3; ++i) {
    const pid_t child = fork();
    ASSERT_NE(child, -1);
    if (child == 0) {
      alarm(20);
      Program own = i == 0 ? network.compiled(3) : std::move(program);
      bool right = run(own, many) == wanted && run(own, 9).gradient.size() == wanted.gradient.size();
      if (i == 2)
        own = network.compiled(2);  // destroys a program whose threads exist only in the parent, or one of the child
      right = right && run(own, many) == wanted;
      _exit(right ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "child " << i << ": " << status;
  }
  EXPECT_EQ(run(program, many), wanted);
}

TEST(AFork, LetsTheChildDestroyProgramsThatItHasNotUsed) {
  const Network network;
  std::optional<Program> program(network.compiled(3));
  run(*program, many);
  const pid_t child = fork();
  ASSERT_NE(child, -1);
  if (child == 0) {
    alarm(20);
    program.reset();
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}
#endif

}  // namespace gradwalk::compile_threads_test
