// SPDX-License-Identifier: MIT
// gpu::Trainer against the Trainer of compile(). It needs a GPU, or fake_cuda.cpp.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>

#include "gradwalk/gpu.hpp"
#include "of_fake_driver.hpp"
#include "support.hpp"

namespace gradwalk::gpu_trainer_test {

using testing::HasSubstr;
using tests::error_of, tests::of_fake_driver;

// A loss of two inputs and three parameters, with values between rows and parameters that are computed once per run.
struct Fit {
  Value x = 0.0, y = 0.0, w = 0.5, b = -0.25, scale = 1.5;
  Value loss = pow(exp(scale) * tanh(w * x + b) - y, 2.0);
  std::vector<Value> inputs{x, y}, parameters{w, b, scale};
  std::vector<double> numbers() const { return {w.data(), b.data(), scale.data()}; }
  void set(const std::vector<double>& to) {
    for (std::size_t i = 0; i < to.size(); ++i) parameters[i].data() = to[i];
  }
  gpu::Program on_gpu(Precision precision = Precision::float64, bool exact = true) const {
    return gpu::compile(loss, {.inputs = inputs, .parameters = parameters, .precision = precision, .exact = exact});
  }
  Program on_cpu(Precision precision = Precision::float64) const {
    return compile(loss, {.inputs = inputs, .parameters = parameters, .precision = precision});
  }
};

const RunOptions mean{.result = RunOptions::Result::mean};  // of programs on the CPU
constexpr std::size_t count = 100;                          // not a multiple of 32
std::vector<double> rows_of_fit() {
  std::vector<double> rows;
  for (std::size_t i = 0; i < count; ++i) {
    const double x = static_cast<double>(i * 37 % 101) / 32.0 - 1.5625;
    rows.insert(rows.end(), {x, 2.0 * std::tanh(0.75 * x + 0.5)});
  }
  return rows;
}

const std::vector<std::pair<std::string, OptimizerConfig>> optimizers{
    {"sgd", SGD{.lr = 0.05}},
    {"sgd with weight decay", SGD{.lr = 0.05, .weight_decay = 0.01}},
    {"momentum", SGD{.lr = 0.02, .momentum = 0.9}},
    {"adam", Adam{.lr = 0.02}},
    {"adamw", AdamW{.lr = 0.02, .weight_decay = 0.1}},
    {"rmsprop", RMSprop{.lr = 0.01}},
    {"adagrad", Adagrad{.lr = 0.1}}};

class OnAGpuTrainer : public testing::Test {
 protected:
  void SetUp() override {
    if (gpu::devices().empty()) GTEST_SKIP() << "this machine has no GPU";
  }
};

TEST_F(OnAGpuTrainer, MakesTheStepsOfTheCpu) {
  const std::vector<double> rows = rows_of_fit();
  for (const Precision precision : {Precision::float64, Precision::float32}) {
    const double tolerance = precision == Precision::float64 ? 1e-10 : 2e-4;
    const gpu::DeviceRows on_device(rows, 2, precision);
    Fit fit;
    const std::vector<double> start = fit.numbers();
    const gpu::Program program = fit.on_gpu(precision);
    for (const auto& [name, config] : optimizers) {
      SCOPED_TRACE(name);
      fit.set(start);  // after the Trainers of the optimizer before
      const Schedule schedule = cosine_decay(learning_rate(config), 0.1 * learning_rate(config), 25);
      std::vector<double> wanted, losses;
      {
        Trainer trainer(fit.on_cpu(precision), config, schedule);
        for (int i = 0; i < 25; ++i) losses.push_back(trainer.step(rows, mean));
        trainer.write_back();
        wanted = fit.numbers();
      }
      fit.set(start);
      gpu::Trainer trainer(program, config, schedule);
      for (int i = 0; i < 25; ++i)
        EXPECT_NEAR(trainer.step(on_device, {.mean = true}), losses[static_cast<std::size_t>(i)], tolerance);
      EXPECT_EQ(fit.numbers(), start);
      trainer.write_back();
      for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(fit.numbers()[i], wanted[i], tolerance);
      EXPECT_EQ(trainer.steps(), 25);
      EXPECT_LT(losses.back(), 0.8 * losses.front());
    }
  }
}

TEST_F(OnAGpuTrainer, MakesManyStepsAtOnceWithTheSameBits) {
  const gpu::DeviceRows rows(rows_of_fit(), 2);
  Fit fit;
  const std::vector<double> start = fit.numbers();
  const gpu::Program program = fit.on_gpu(Precision::float32, false);
  const auto run = [&](std::uint64_t at_once) {
    std::vector<std::uint64_t> asked;
    double loss = 0;
    {
      gpu::Trainer trainer(program, Adam{}, [&](std::uint64_t step) {
        asked.push_back(step);
        return 0.02 / static_cast<double>(step + 1);
      });
      for (std::uint64_t i = 0; i < 270; i += at_once) loss = trainer.make_steps(rows, at_once);
    }
    EXPECT_EQ(asked.size(), 270);
    for (std::size_t i = 0; i < asked.size(); ++i) EXPECT_EQ(asked[i], i);
    std::vector<double> made = fit.numbers();  // as the destructor wrote them
    made.push_back(loss);
    fit.set(start);
    return made;
  };
  const std::vector<double> wanted = run(270);
  EXPECT_NE(wanted[0], start[0]);
  EXPECT_EQ(run(270), wanted);
  EXPECT_EQ(run(1), wanted);
}

TEST_F(OnAGpuTrainer, TakesTheRowsOfABatchInEachStep) {
  const std::vector<double> rows = rows_of_fit();
  const gpu::DeviceRows on_device(rows, 2, Precision::float64);
  Fit fit;
  Trainer on_cpu(fit.on_cpu(), Adam{.lr = 0.01});
  gpu::Trainer trainer(fit.on_gpu(), Adam{.lr = 0.01}), by_hand(fit.on_gpu(), Adam{.lr = 0.01});
  double wanted = 0, found = 0;
  for (const auto& [first, size] : std::vector<std::pair<std::size_t, std::size_t>>{
           {32, 32}, {64, 32}, {96, 4}, {0, 32}, {32, 32}, {64, 32}, {96, 4}}) {
    wanted = on_cpu.step(std::span(rows).subspan(2 * first, 2 * size), mean);
    found = by_hand.step(on_device, {.mean = true, .first_row = first, .batch = size});
    EXPECT_NEAR(found, wanted, 1e-12);
  }
  EXPECT_EQ(trainer.make_steps(on_device, 7, {.mean = true, .first_row = 32, .batch = 32}), found);
  trainer.write_back();
  const std::vector<double> together = fit.numbers();
  by_hand.write_back();
  EXPECT_EQ(fit.numbers(), together);
  on_cpu.write_back();
  for (std::size_t i = 0; i < together.size(); ++i) EXPECT_NEAR(fit.numbers()[i], together[i], 1e-12);
  EXPECT_EQ(trainer.make_steps(on_device, 2, {.first_row = 96}), by_hand.make_steps(on_device, 2, {.first_row = 96}));
}

// Where x is 0, a gradient of 0 meets an infinite derivative.
TEST_F(OnAGpuTrainer, MakesStepsAgainByTheZeroGradientRule) {
  Value x = 0.0, w = 0.5, c = 0.25;
  const Value loss = pow(relu(sqrt(x * w) - 0.25) - c, 2.0);
  std::vector<double> rows(96);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = i / 32 == 1 ? 0.0 : static_cast<double>(i) / 16;
  const std::vector<Value> parameters{w, c};
  Trainer on_cpu(compile(loss, {.inputs = {x}, .parameters = parameters}), SGD{.lr = 0.01, .momentum = 0.5});
  std::vector<std::uint64_t> asked;
  const auto rate = [&](std::uint64_t step) { return asked.push_back(step), 0.01; };
  gpu::Trainer trainer(gpu::compile(loss, {.inputs = {x}, .parameters = parameters, .precision = Precision::float64}),
                       SGD{.momentum = 0.5}, rate);
  double wanted = 0;
  for (std::size_t i = 0; i < 11; ++i) wanted = on_cpu.step(std::span(rows).subspan(i % 3 * 32, 32), mean);
  const gpu::DeviceRows on_device(rows, 1, Precision::float64);
  EXPECT_NEAR(trainer.make_steps(on_device, 11, {.mean = true, .batch = 32}), wanted, 1e-12);
  EXPECT_EQ(trainer.steps(), 11);
  EXPECT_EQ(asked.size(), 11);
  on_cpu.write_back();
  const std::vector<double> numbers{w.data(), c.data()};
  trainer.write_back();
  EXPECT_NEAR(w.data(), numbers[0], 1e-12);
  EXPECT_NEAR(c.data(), numbers[1], 1e-12);
  EXPECT_NE(w.data(), 0.5);
}

TEST_F(OnAGpuTrainer, ContinuesFromAState) {
  const gpu::DeviceRows rows(rows_of_fit(), 2);
  Fit fit;
  const gpu::Program program = fit.on_gpu(Precision::float32);
  gpu::Trainer whole(program, AdamW{}), first(program, AdamW{});
  const double wanted = whole.make_steps(rows, 20);
  first.make_steps(rows, 12);
  const OptimizerState state = first.optimizer_state();
  EXPECT_EQ(state.steps, 12);
  EXPECT_EQ(state.first.size(), 3);
  EXPECT_NE(state.second[0], 0);
  first.write_back();
  gpu::Trainer second(program, AdamW{});
  second.set_optimizer_state(state);
  EXPECT_EQ(second.make_steps(rows, 8), wanted);
  EXPECT_EQ(second.optimizer_state(), whole.optimizer_state());
  fit.w.data() = 3.0;
  second.read_again();
  EXPECT_NE(second.step(rows), wanted);
  EXPECT_THAT(error_of([&] { second.set_optimizer_state({}); }), HasSubstr("needs moments of 3 and 3 numbers"));
}

TEST_F(OnAGpuTrainer, ClipsTheGradient) {
  const std::vector<double> rows = rows_of_fit();
  Fit fit;
  Trainer on_cpu(fit.on_cpu(), SGD{.lr = 0.1});
  gpu::Trainer trainer(fit.on_gpu(), SGD{.lr = 0.1});
  on_cpu.clip_norm(0.5);
  trainer.clip_norm(0.5);
  const gpu::DeviceRows on_device(rows, 2, Precision::float64);
  for (int i = 0; i < 5; ++i) EXPECT_NEAR(trainer.step(on_device), on_cpu.step(rows), 1e-9);
  EXPECT_THAT(error_of([&] { trainer.clip_norm(-1); }), HasSubstr("needs a bound >= 0, got -1"));
}

TEST_F(OnAGpuTrainer, RefusesWhatDoesNotFit) {
  Fit fit;
  const std::vector<double> numbers = rows_of_fit();
  const gpu::DeviceRows rows(numbers, 2, Precision::float64);
  gpu::Trainer trainer(fit.on_gpu(), SGD{});
  EXPECT_EQ(error_of([&] { trainer.step(gpu::DeviceRows(numbers, 4, Precision::float64)); }),
            "gpu::Trainer::step: needs rows of 2 numbers, got 4; give one number per input");
  EXPECT_THAT(error_of([&] { trainer.step(gpu::DeviceRows(numbers, 2)); }),
              HasSubstr("needs rows of the program's precision and device"));
  EXPECT_EQ(
      error_of([&] { trainer.step(rows, {.first_row = 16}); }),
      "gpu::Trainer::step: needs first_row as a multiple of 32 up to 100, got 16; rows are stored in tiles of 32");
  EXPECT_EQ(
      error_of([&] { trainer.make_steps(rows, 2, {.batch = 20}); }),
      "gpu::Trainer::make_steps: needs a batch that is a multiple of 32 rows, got 20; rows are stored in tiles of "
      "32; the last batch can be smaller");
  EXPECT_EQ(trainer.step(gpu::DeviceRows(std::vector<double>{}, 2, Precision::float64)), 0);
  EXPECT_EQ(trainer.make_steps(rows, 0), 0);
  EXPECT_EQ(trainer.steps(), 0);
  const gpu::Program none = gpu::compile(fit.loss, {.inputs = {fit.x, fit.y, fit.w, fit.b, fit.scale}});
  EXPECT_EQ(error_of([&] { gpu::Trainer(none, SGD{}); }),
            "gpu::Trainer: needs a program with parameters, got one without; name them in .parameters");
  const gpu::Program both =
      gpu::compile(fit.loss, {.inputs = fit.inputs, .parameters = fit.parameters, .input_gradients = true});
  EXPECT_EQ(error_of([&] { gpu::Trainer(both, SGD{}); }),
            "gpu::Trainer: needs a program without input gradients, got one with them; compile it without "
            ".input_gradients");
  EXPECT_EQ(error_of([&] { gpu::Trainer(fit.on_gpu(), SGD{.lr = -1}); }),
            "SGD: needs lr >= 0, got -1; give a finite number that is not negative");
  gpu::Trainer moved = std::move(trainer);
  EXPECT_EQ(error_of([&] { trainer.steps(); }),  // NOLINT(bugprone-use-after-move)
            "gpu::Trainer::steps: needs a trainer, got one that was moved from; use the one it was moved to");
  // A schedule that fails leaves the steps before it as they are.
  gpu::Trainer failing(fit.on_gpu(), SGD{}, [](std::uint64_t step) -> double {
    return step < 2 ? 0.1 : throw Error("schedule", "two steps", "more", "stop");
  });
  failing.make_steps(rows, 2);
  const OptimizerState before = failing.optimizer_state();
  EXPECT_THAT(error_of([&] { failing.make_steps(rows, 2); }), HasSubstr("schedule: needs two steps"));
  EXPECT_EQ(failing.optimizer_state(), before);
}

// The numbers of a Trainer after some steps, and how often something was launched for them.
struct Made {
  std::vector<double> numbers;
  std::size_t launches = 0;
};

TEST_F(OnAGpuTrainer, RunsStepsAsGraphsWithTheSameBits) {
  const auto launches = of_fake_driver<std::size_t()>("fake_cuda_launches");
  if (launches == nullptr) GTEST_SKIP() << "a GPU does not count launches";
  const std::vector<double> numbers = rows_of_fit();
  const auto first = [&](std::size_t size) {
    return gpu::DeviceRows(
        std::vector<double>(numbers.begin(), numbers.begin() + static_cast<std::ptrdiff_t>(2 * size)), 2);
  };
  const gpu::DeviceRows rows = first(count), few = first(40), others(std::vector<double>(2 * count, 0.5), 2);
  Fit fit;
  const std::vector<double> start = fit.numbers();
  const gpu::Program program = fit.on_gpu(Precision::float32);
  const auto run = [&](const char* failing, const std::function<double(gpu::Trainer&)>& make) {
    setenv("FAKE_CUDA_GRAPHS", failing, 1);
    Made made;
    {
      gpu::Trainer trainer(program, Adam{}, cosine_decay(0.02, 0.001, 90));
      const std::size_t before = launches();
      made.numbers.push_back(make(trainer));
      made.launches = launches() - before;
      EXPECT_NE(trainer.steps(), 0);
    }
    unsetenv("FAKE_CUDA_GRAPHS");
    for (const double number : fit.numbers()) made.numbers.push_back(number);
    fit.set(start);
    return made;
  };
  const auto whole = [&](gpu::Trainer& trainer) { return trainer.make_steps(rows, 90); };
  const Made by_kernels = run("capture", whole), by_graphs = run("", whole);
  EXPECT_EQ(by_graphs.numbers, by_kernels.numbers);
  EXPECT_EQ(by_kernels.launches % 90, 0);
  const std::size_t kernels = by_kernels.launches / 90;
  EXPECT_EQ(by_graphs.launches, 4 * kernels + 86);
  const Made not_instantiated = run("instantiate", whole);
  EXPECT_EQ(not_instantiated.numbers, by_kernels.numbers);
  EXPECT_EQ(not_instantiated.launches, by_kernels.launches);

  const auto in_batches = [&](gpu::Trainer& trainer) {
    return trainer.make_steps(rows, 90, {.first_row = 32, .batch = 32});
  };
  const Made batches_by_kernels = run("capture", in_batches), batches_by_graphs = run("", in_batches);
  EXPECT_NE(batches_by_kernels.numbers, by_kernels.numbers);
  EXPECT_EQ(batches_by_graphs.numbers, batches_by_kernels.numbers);
  // Two graphs, because the last batch of the rows is smaller. They have one kernel more, which copies the batch.
  EXPECT_EQ(batches_by_graphs.launches, 2 * 4 * (kernels + 1) + 82);

  // Other rows, a bound on the norm and more memory each need another graph.
  const auto mixed = [&](gpu::Trainer& trainer) {
    double loss = trainer.make_steps(few, 7);
    loss += trainer.make_steps(rows, 7) + trainer.make_steps(others, 7);
    trainer.clip_norm(0.01);
    loss += trainer.make_steps(few, 7) + trainer.make_steps(rows, 7);
    trainer.clip_norm(std::numeric_limits<double>::infinity());
    const gpu::DeviceRows many(std::vector<double>(2 * 5000, 0.25), 2);
    for (int i = 0; i < 7; ++i) loss += trainer.step(many) + trainer.step(rows);
    for (std::size_t size = 1; size <= 20; ++size) loss += trainer.step(first(size));
    return loss + trainer.make_steps(rows, 7);
  };
  const Made mixed_by_kernels = run("capture", mixed), mixed_by_graphs = run("", mixed);
  EXPECT_EQ(mixed_by_graphs.numbers, mixed_by_kernels.numbers);
  EXPECT_LT(mixed_by_graphs.launches, mixed_by_kernels.launches);
}

// Returns how much memory the driver of the tests has given away, or nothing on a GPU.
std::optional<std::size_t> used_bytes() {
  const auto ask = of_fake_driver<int(std::size_t*, std::size_t*)>("cuMemGetInfo_v2");
  if (ask == nullptr) return std::nullopt;
  std::size_t free_bytes = 0, all = 0;
  ask(&free_bytes, &all);
  return all - free_bytes;
}

TEST_F(OnAGpuTrainer, FreesItsMemory) {
  const std::optional<std::size_t> before = used_bytes();
  if (!before) GTEST_SKIP() << "a GPU does not say how much memory a program has";
  {
    Fit fit;
    const gpu::DeviceRows rows(rows_of_fit(), 2, Precision::float64);
    gpu::Trainer trainer(fit.on_gpu(), Adam{});
    trainer.make_steps(rows, 3);
    gpu::Trainer moved = std::move(trainer);
    EXPECT_GT(used_bytes(), before);
  }
  EXPECT_EQ(used_bytes(), before);
}

}  // namespace gradwalk::gpu_trainer_test
