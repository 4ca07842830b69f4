// SPDX-License-Identifier: MIT
// Regression: losses, units, and training runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "gradwalk/loss.hpp"
#include "gradwalk/training.hpp"
#include "support.hpp"

namespace gradwalk::regression_test {
namespace {

using testing::ElementsAre;
using tests::error_of;

// y = 30 + 5 x0 - 2 x1^2, which is far from mean 0 and deviation 1.
Dataset numbers(std::size_t rows = 60) {
  Dataset data{2, {}, {}, {"a", "b"}, {}, {}, "price"};
  Random random(3);
  for (std::size_t i = 0; i < rows; ++i) {
    const double a = random.uniform(100, 110), b = random.uniform(-3, 3);
    data.x.insert(data.x.end(), {a, b});
    data.targets.push_back(30 + 5 * a - 2 * b * b);
  }
  return data;
}

Recipe small(LossKind loss = LossKind::mse) {
  return {.hidden = {8}, .activation = Activation::tanh, .loss = loss, .rate = {.steps = 300}, .batch = 7};
}

TEST(Regression, ComputesItsLossesFromTheErrorInDeviations) {
  const Value output = 0.25;
  const auto number_loss = [&](LossKind kind, double target) {
    return Loss(kind, 1)({&output, 1}, std::span<const double>(&target, 1)).data();
  };
  EXPECT_DOUBLE_EQ(number_loss(LossKind::mse, 1.0), 0.5625);
  EXPECT_DOUBLE_EQ(number_loss(LossKind::mae, 1.0), 0.75);
  EXPECT_DOUBLE_EQ(number_loss(LossKind::huber, 1.0), 0.28125);
  EXPECT_DOUBLE_EQ(number_loss(LossKind::huber, -3.0), 2.75);
  const std::vector<Value> outputs{0.25, 0.25};
  const std::vector<double> targets{1, -3};
  EXPECT_DOUBLE_EQ(mean_absolute_error(outputs, targets).data(), 2);
  EXPECT_DOUBLE_EQ(huber(outputs, targets).data(), (0.28125 + 2.75) / 2);
  EXPECT_EQ(error_of([&] { Loss(LossKind::bce, 1).targets(numbers(), 0); }),
            "Loss: needs a loss for numbers, got bce; use the loss mse, mae or huber");
  EXPECT_EQ(error_of([] { outputs_for(LossKind::huber, 3); }),
            "train: needs a loss for classes, got huber; use the loss softmax, bce, hinge or mse");
}

TEST(Regression, LearnsNumbersInTheirOwnUnits) {
  const Dataset data = numbers();
  for (const LossKind loss : {LossKind::mse, LossKind::mae, LossKind::huber}) {
    TrainingRun run(data, small(loss));
    const Regressor::Result before = run.regressor().evaluate(data);
    TrainingRun::Report last{};
    for (int i = 0; i < 300; ++i) last = run.step();
    const Regressor::Result after = run.regressor().evaluate(data);
    EXPECT_GT(after.r2, 0.9) << name(loss);
    EXPECT_LT(after.loss, before.loss);
    EXPECT_GT(last.accuracy, 0.8);
    double squares = 0, sizes = 0;
    for (std::size_t i = 0; i < data.rows(); ++i) {
      const double off = run.regressor().predict(data.row(i)) - data.targets[i];
      squares += off * off / 60, sizes += std::abs(off) / 60;
    }
    EXPECT_DOUBLE_EQ(after.rmse, std::sqrt(squares));
    EXPECT_DOUBLE_EQ(after.mae, sizes);
    EXPECT_EQ(after.rows, 60u);
    EXPECT_EQ(run.regressor().target_name, "price");
  }
}

TEST(Regression, ContinuesFromASavedStateBitForBit) {
  const Dataset data = numbers(20);
  TrainingRun straight(data, small());
  for (int i = 0; i < 12; ++i) straight.step();
  for (int at = 0; at <= 12; at += 3) {
    TrainingRun first(data, small());
    for (int i = 0; i < at; ++i) first.step();
    TrainingRun second = first;
    second.set_state(first.state());
    for (int i = at; i < 12; ++i) second.step();
    for (std::size_t i = 0; i < data.rows(); ++i)
      EXPECT_EQ(second.regressor().predict(data.row(i)), straight.regressor().predict(data.row(i)));
    EXPECT_EQ(second.history().loss, straight.history().loss);
  }
}

TEST(Regression, RejectsTargetsThatCannotBeLearned) {
  const auto with = [](auto change, Recipe recipe = small()) {
    Dataset data = numbers(5);
    change(data);
    return error_of([&] { TrainingRun(data, recipe); });
  };
  EXPECT_EQ(with([](Dataset&) {}), "no error");
  EXPECT_EQ(with([](Dataset& d) { d.targets.assign(5, 2); }),
            "train: needs targets that differ, got 2 in every row; add rows, or choose another column");
  EXPECT_EQ(with([](Dataset& d) { d.targets[3] = std::numeric_limits<double>::quiet_NaN(); }),
            "train: needs finite targets, got nan; correct it or delete the row");
  EXPECT_EQ(with([](Dataset& d) { d.target_name = "\x01"; }).substr(0, 19), "train: needs a name");
  EXPECT_EQ(with([](Dataset& d) { d.labels = {1}; }),
            "train: needs labels or targets, got both; leave out one of them");
  EXPECT_EQ(with([](Dataset&) {}, small(LossKind::softmax)),
            "train: needs a loss for numbers, got softmax; use the loss mse, mae or huber");
  TrainingRun run(numbers(), small());
  EXPECT_EQ(error_of([&] { run.classifier(); }), "model: needs a classifier, got a regressor; ask for the regressor");
  EXPECT_EQ(error_of([&] { run.set_data(make_moons(9, 0.1, 1)); }),
            "set_data: needs targets that are numbers, got classes; give data of the kind that the model was made for");
  EXPECT_EQ(error_of([&] { run.regressor().evaluate(make_moons(9, 0.1, 1)); }),
            "evaluate: needs targets that are numbers, got classes; give data of the kind that the model was made for");
  TrainingRun classes(make_moons(9, 0.1, 1), micrograd_recipe());
  EXPECT_EQ(error_of([&] { classes.regressor(); }),
            "model: needs a regressor, got a classifier; ask for the classifier");
  EXPECT_EQ(error_of([&] { classes.set_data(numbers()); }),
            "set_data: needs classes, got numbers; give data of the kind that the model was made for");
}

TEST(Regression, KeepsEachRowsTargetWithItWhenSplit) {
  const Dataset data = numbers(10);
  const Split parts = split(data, 0.3, 1);
  EXPECT_EQ(parts.train.rows(), 7u);
  EXPECT_EQ(parts.test.rows(), 3u);
  for (const Dataset* part : {&parts.train, &parts.test})
    for (std::size_t i = 0; i < part->rows(); ++i) {
      EXPECT_EQ(part->targets[i], 30 + 5 * part->row(i)[0] - 2 * part->row(i)[1] * part->row(i)[1]);
      EXPECT_EQ(part->target_name, "price");
    }
}

TEST(Regression, HasAnR2OfZeroOrOneWhereAllTargetsAreEqual) {
  TrainingRun run(numbers(), small());
  Dataset same = numbers(3);
  same.targets.assign(3, 7);
  EXPECT_EQ(run.regressor().evaluate(same).r2, 0);
  const std::vector<double> exact(3, run.regressor().in_deviations(7));
  EXPECT_NEAR(run.regressor().evaluate(same, exact).rmse, 0, 1e-12);
  same.targets.assign(3, run.regressor().in_units(0));
  EXPECT_EQ(run.regressor().evaluate(same, std::vector<double>(3, 0)).r2, 1);
}

}  // namespace
}  // namespace gradwalk::regression_test
