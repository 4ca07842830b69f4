// SPDX-License-Identifier: MIT
// Training runs with gpu_step() against those with eager_step(). They need a GPU, or fake_cuda.cpp.
#include "gradwalk/gpu_step.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>

#include "gradwalk/training.hpp"
#include "of_fake_driver.hpp"
#include "support.hpp"

namespace gradwalk::gpu_step_test {

using testing::HasSubstr;
using tests::error_of, tests::of_fake_driver;

class OnAGpuStep : public testing::Test {
 protected:
  void SetUp() override {
    if (gpu::devices().empty()) GTEST_SKIP() << "this machine has no GPU";
  }
};

MakeStep on_gpu(Precision precision = Precision::float64) {
  return [=](const Model& model) { return gpu_step(model, {.precision = precision}); };
}

std::vector<double> numbers_of(const TrainingRun& run) {
  std::vector<double> result;
  for (const Value& parameter : run.network().parameters()) result.push_back(parameter.data());
  return result;
}

Dataset three_classes() {
  Dataset data = make_spiral(15, 3, 0.1, 7);
  data.weights.assign(data.rows(), 1);
  for (std::size_t i = 0; i < data.rows(); i += 2) data.weights[i] = 1.5;
  return data;
}
Dataset numbers() {
  Dataset data = make_moons(40, 0.1, 7);
  const std::size_t rows = data.rows();
  for (std::size_t i = 0; i < rows; ++i) data.targets.push_back(3 * data.row(i)[0] - data.row(i)[1]);
  data.labels.clear();
  data.label_names.clear();
  data.target_name = "y";
  return data;
}

void expect_near(double found, double wanted, const char* what) {
  EXPECT_NEAR(found, wanted, 1e-9 * std::max(1.0, std::abs(wanted))) << what;
}

// Makes steps of a run on a GPU and of one with Values, and compares everything that they report.
void expect_same_run(const Dataset& data, const Recipe& recipe, int steps = 12) {
  TrainingRun run(data, recipe, on_gpu()), wanted(data, recipe);
  for (int i = 0; i < steps; ++i) {
    const TrainingRun::Report report = run.step(), other = wanted.step();
    EXPECT_EQ(report.step, other.step);
    expect_near(report.loss, other.loss, "loss");
    expect_near(report.accuracy, other.accuracy, "accuracy");
    EXPECT_EQ(report.learning_rate, other.learning_rate);
    expect_near(report.gradient_norm, other.gradient_norm, "gradient_norm");
    expect_near(report.penalty, other.penalty, "penalty");
    ASSERT_EQ(report.validation.has_value(), other.validation.has_value());
    if (report.validation) expect_near(*report.validation, *other.validation, "validation");
  }
  const std::vector<double> found = numbers_of(run), expected = numbers_of(wanted);
  for (std::size_t i = 0; i < found.size(); ++i) expect_near(found[i], expected[i], "parameter");
  const TrainingState state = run.state(), other = wanted.state();
  EXPECT_EQ(state.optimizer.steps, other.optimizer.steps);
  ASSERT_EQ(state.optimizer.first.size(), other.optimizer.first.size());
  ASSERT_EQ(state.optimizer.second.size(), other.optimizer.second.size());
  for (std::size_t i = 0; i < state.optimizer.first.size(); ++i)
    expect_near(state.optimizer.first[i], other.optimizer.first[i], "first moment");
  for (std::size_t i = 0; i < state.optimizer.second.size(); ++i)
    expect_near(state.optimizer.second[i], other.optimizer.second[i], "second moment");
  EXPECT_EQ(state.best.step, other.best.step);
  ASSERT_EQ(state.best.parameters.size(), other.best.parameters.size());
  for (std::size_t i = 0; i < state.best.parameters.size(); ++i)
    expect_near(state.best.parameters[i], other.best.parameters[i], "best parameter");
}

TEST_F(OnAGpuStep, TrainsAsTheCpuWithEveryOptimizer) {
  Recipe recipe{.hidden = {4}, .loss = LossKind::softmax, .rate = {.steps = 20, .warm_up = 3}, .batch = 7, .l2 = 0.01};
  for (const OptimizerConfig& optimizer :
       std::vector<OptimizerConfig>{SGD{.lr = 0.1, .weight_decay = 0.01}, SGD{.lr = 0.1, .momentum = 0.9}, Adam{},
                                    AdamW{}, RMSprop{}, Adagrad{}}) {
    SCOPED_TRACE(name(optimizer));
    recipe.optimizer = optimizer;
    expect_same_run(three_classes(), recipe);
  }
}

TEST_F(OnAGpuStep, TrainsAsTheCpuWithEveryLoss) {
  for (const LossKind loss : all_losses) {
    SCOPED_TRACE(name(loss));
    Recipe recipe{.hidden = {3}, .loss = loss, .rate = {.steps = 20}, .batch = 16, .validation = 0.2};
    if (is_for_numbers(loss)) expect_same_run(numbers(), recipe);
    if (!is_for_classes(loss)) continue;
    if (loss != LossKind::hinge && loss != LossKind::bce) expect_same_run(three_classes(), recipe);
    if (loss != LossKind::softmax) expect_same_run(make_moons(40, 0.1, 7), recipe);
  }
}

TEST_F(OnAGpuStep, TrainsAsTheCpuWithPenaltiesAndClipping) {
  Recipe recipe{.hidden = {4}, .loss = LossKind::bce, .rate = {.steps = 20}, .batch = 0, .l1 = 0.02, .l2 = 0};
  expect_same_run(make_moons(50, 0.1, 7), recipe);  // all rows in each step
  recipe.l2 = 0.1;
  recipe.clip = 0.05;
  recipe.validation = 0.3;
  expect_same_run(make_moons(50, 0.1, 7), recipe);
  recipe.l1 = recipe.l2 = 0;
  recipe.balance = true;
  expect_same_run(make_moons(50, 0.1, 7), recipe);
}

// 1,381 parameters take several blocks of the kernels of an update, and 1,300 rows several of those that count.
TEST_F(OnAGpuStep, TrainsAsTheCpuWithSeveralBlocksInAnyOrder) {
  Dataset data = make_moons(1500, 0.1, 7);
  const Recipe recipe{.hidden = {40, 30},
                      .loss = LossKind::bce,
                      .rate = {.steps = 20},
                      .batch = 1300,
                      .l1 = 0.001,
                      .l2 = 0.01,
                      .clip = 0.1};
  expect_same_run(data, recipe, 3);
  TrainingRun run(data, recipe, on_gpu(Precision::float32)), reversed(data, recipe, on_gpu(Precision::float32));
  for (int i = 0; i < 3; ++i) run.step();
  setenv("SHIM_LAST_BLOCK_FIRST", "1", 1);
  for (int i = 0; i < 3; ++i) reversed.step();
  unsetenv("SHIM_LAST_BLOCK_FIRST");
  EXPECT_EQ(numbers_of(reversed), numbers_of(run));
  EXPECT_EQ(reversed.state().optimizer, run.state().optimizer);
}

Recipe small() { return {.hidden = {3}, .loss = LossKind::bce, .rate = {.steps = 40}, .batch = 8}; }

TEST_F(OnAGpuStep, ContinuesWithTheSameBits) {
  const Dataset data = make_moons(40, 0.1, 7);
  TrainingRun whole(data, small(), on_gpu(Precision::float32)), part(data, small(), on_gpu(Precision::float32));
  for (int i = 0; i < 16; ++i) whole.step();
  for (int i = 0; i < 7; ++i) part.step();
  const TrainingRun copy = part;  // as part goes on, the copy does not
  const std::vector<double> middle = numbers_of(part);
  part.step();
  EXPECT_NE(numbers_of(part), middle);
  EXPECT_EQ(numbers_of(copy), middle);
  TrainingRun moved = copy;
  for (int i = 0; i < 9; ++i) moved.step();
  EXPECT_EQ(numbers_of(moved), numbers_of(whole));
  EXPECT_EQ(moved.state().optimizer, whole.state().optimizer);

  TrainingRun resumed(data, small(), on_gpu(Precision::float32));  // as resume() of model_file.hpp does it
  resumed.step();
  resumed.set_state(copy.state());
  std::vector<Value> parameters = resumed.network().parameters();
  for (std::size_t i = 0; i < middle.size(); ++i) parameters[i].data() = middle[i];
  for (int i = 0; i < 9; ++i) resumed.step();
  EXPECT_EQ(numbers_of(resumed), numbers_of(whole));
  EXPECT_EQ(resumed.history().loss, whole.history().loss);
}

TEST_F(OnAGpuStep, TakesOtherRowsAndRates) {
  const Dataset data = make_moons(40, 0.1, 7), others = make_moons(90, 0.2, 8);
  TrainingRun run(data, small(), on_gpu()), wanted(data, small());
  const auto expect_same_step = [&] {
    expect_near(run.step().loss, wanted.step().loss, "loss");
    const std::vector<double> found = numbers_of(run), expected = numbers_of(wanted);
    for (std::size_t i = 0; i < found.size(); ++i) expect_near(found[i], expected[i], "parameter");
  };
  for (int i = 0; i < 3; ++i) expect_same_step();
  run.set_data(others);
  wanted.set_data(others);
  for (int i = 0; i < 8; ++i) expect_same_step();
  run.set_learning_rate(0.05);
  wanted.set_learning_rate(0.05);
  for (int i = 0; i < 8; ++i) expect_same_step();
}

TEST_F(OnAGpuStep, LeavesTheRunUnchangedWhereANumberIsNotFinite) {
  const Dataset data = make_moons(40, 0.1, 7);
  Recipe recipe = small();
  recipe.optimizer = SGD{.lr = 0.1};
  TrainingRun run(data, recipe, on_gpu()), wanted(data, recipe);
  for (int i = 0; i < 3; ++i) run.step(), wanted.step();
  const std::vector<double> before = numbers_of(run);
  std::vector<Value> parameters = run.network().parameters(), others = wanted.network().parameters();
  for (const double number : {std::numeric_limits<double>::infinity(), std::nan(""), 1e200}) {
    parameters[0].data() = others[0].data() = number;
    const std::string message = error_of([&] { wanted.step(); });
    EXPECT_THAT(message, HasSubstr("finite, got"));
    EXPECT_EQ(error_of([&] { run.step(); }), message);
    EXPECT_EQ(run.steps(), 3);
    std::vector<double> found = numbers_of(run);
    found[0] = before[0];
    EXPECT_EQ(found, before);
  }
  parameters[0].data() = others[0].data() = before[0];
  run.network();
  expect_near(run.step().loss, wanted.step().loss, "loss");
}

TEST_F(OnAGpuStep, CopiesNoParametersFromStepToStep) {
  const auto copied = of_fake_driver<std::size_t()>("fake_cuda_copied_bytes");
  if (copied == nullptr) GTEST_SKIP() << "a GPU does not count copies";
  Recipe recipe = small();
  recipe.hidden = {40};
  recipe.l2 = 0;
  TrainingRun run(make_moons(40, 0.1, 7), recipe, on_gpu(Precision::float32));
  run.step();
  std::size_t before = copied();
  run.step();
  const std::size_t bytes = copied() - before;
  const std::size_t of_parameters = sizeof(float) * run.network().parameter_count();
  EXPECT_EQ(of_parameters, 4u * 161);
  EXPECT_EQ(bytes, 1216);  // a plan, the numbers of 8 rows, and figures
  before = copied();
  for (int i = 0; i < 3; ++i) run.step();
  EXPECT_EQ(copied() - before, 3 * bytes + of_parameters);  // read once, after network()
}

// A team shares the rows of a step, so each member only computes sums.
TEST_F(OnAGpuStep, ComputesTheSumsOfATeam) {
  const Dataset data = make_moons(40, 0.1, 7);
  const Team alone{.add_up = [](std::span<double>) {}};
  TrainingRun run(data, small(), on_gpu(), alone), wanted(data, small());
  for (int i = 0; i < 4; ++i) expect_near(run.step().loss, wanted.step().loss, "loss");
  EXPECT_EQ(run.step_kind(), "GPU, float64");
  Recipe recipe = small();
  recipe.dropout = 0.5;
  TrainingRun with_dropout(data, recipe, on_gpu());
  EXPECT_EQ(error_of([&] { with_dropout.step(); }),
            "gpu_step: needs a recipe without dropout, got one with dropout; use compiled_step()");
}

}  // namespace gradwalk::gpu_step_test
