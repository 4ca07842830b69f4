// SPDX-License-Identifier: MIT
// A training run that is changed between steps: other rows, another learning rate.
#include <gtest/gtest.h>

#include "gradwalk/training.hpp"
#include "support.hpp"

namespace gradwalk::training_changes_test {
namespace {

TEST(ATrainingRun, TrainsTheSameNetworkOnOtherRows) {
  const Dataset all = make_moons(40, 0.1, 1);
  const std::vector<std::size_t> few{3, 1, 4};
  TrainingRun run(all, micrograd_recipe());
  run.step();
  run.set_data(select_rows(all, few));
  const double expected = run.classifier().evaluate(select_rows(all, few)).accuracy();
  const TrainingRun::Report report = run.step();
  EXPECT_EQ(report.step, 2u);
  EXPECT_EQ(report.accuracy, expected);
}

TEST(ATrainingRun, KeepsANewLearningRate) {
  TrainingRun run(make_moons(40, 0.1, 1), micrograd_recipe());
  EXPECT_EQ(run.step().learning_rate, 1);
  run.set_learning_rate(0.25);
  EXPECT_EQ(run.step().learning_rate, 0.25);
  EXPECT_EQ(run.step().learning_rate, 0.25);
  EXPECT_EQ(learning_rate(run.recipe().optimizer), 0.25);
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
TEST(ATrainingRun, StillHasItsOldNames) {
  const Dataset data = make_moons(40, 0.1, 1);
  Recipe recipe = micrograd_recipe();
  recipe.validation = 0.25;
  const LearningSplit parts = learning_split(data, recipe);
  EXPECT_EQ(parts.learned.x, training_split(data, recipe).training.x);
  EXPECT_EQ(parts.validation.x, training_split(data, recipe).validation.x);
  TrainingRun run(data, recipe);
  run.set_rate(0.25);
  const TrainingRun::Report report = run.step();
  EXPECT_EQ(report.learning_rate, 0.25);
  EXPECT_EQ(report.rate, 0.25);
  EXPECT_EQ(&run.model(), &run.classifier());
  EXPECT_EQ(model_of(run.kept_model()).scores(data.row(0)), model_of(run.best_model()).scores(data.row(0)));
  EXPECT_TRUE(run.history().is_of(1));
  EXPECT_FALSE(run.history().is_of(2));
  EXPECT_EQ(History::most, History::max_steps);
}
#pragma GCC diagnostic pop

TEST(ATrainingRun, BeginsANewScheduleAtItsCurrentStep) {
  Recipe recipe = micrograd_recipe();
  recipe.rate = {.kind = LearningRateSchedule::Kind::linear, .final = 0, .steps = 2};
  TrainingRun run(make_moons(40, 0.1, 1), recipe);
  for (const double expected : {1.0, 0.5, 0.0}) EXPECT_EQ(run.step().learning_rate, expected);
  run.begin_schedule({.kind = LearningRateSchedule::Kind::linear, .final = 0.5, .steps = 4, .warm_up = 1}, 0.25);
  EXPECT_EQ(run.recipe().rate.begin, 3u);
  EXPECT_EQ(end_of(run.recipe().rate), 8u);
  for (const double expected : {0.25, 0.25, 0.21875, 0.1875, 0.15625, 0.125, 0.125})
    EXPECT_EQ(run.step().learning_rate, expected);
  EXPECT_EQ(end_of({.kind = LearningRateSchedule::Kind::constant}), std::nullopt);
  EXPECT_EQ(tests::error_of([&] { run.begin_schedule({.steps = 0}, 1); }),
            "cosine_decay: needs at least one step, got 0; give the number of steps in which the rate changes");
  EXPECT_EQ(tests::error_of([&] { run.begin_schedule({.warm_up = std::uint64_t{1} << 62}, 1); }),
            "train: needs a schedule of fewer than 2^62 steps, got 4611686018427387904; give fewer steps");
  EXPECT_EQ(run.step().learning_rate, 0.125);
}

TEST(ATrainingRun, ReportsAnAccuracyOfOneWhenAllRowsAreRight) {
  TrainingRun run(make_moons(100, 0, 1), micrograd_recipe());
  for (int i = 0; i < 100; ++i) run.step();
  EXPECT_EQ(run.step().accuracy, 1);
}

TEST(ATrainingRun, RejectsIncompleteRowsWithoutReadingThem) {
  const Dataset moons = make_moons(40, 0.1, 1);
  Dataset torn = moons;
  torn.x.resize(3);
  for (const Recipe& recipe : {micrograd_recipe(), default_recipe(2)}) {  // with and without standardisation
    TrainingRun run(moons, recipe), untouched(moons, recipe);
    EXPECT_EQ(tests::error_of([&] { run.set_data(torn); }),
              "set_data: needs 80 numbers: rows times columns, got 3; give each row its features");
    EXPECT_EQ(run.step().loss, untouched.step().loss);
    EXPECT_EQ(tests::error_of([&] { run.classifier().evaluate(torn); }),
              "evaluate: needs 80 numbers: rows times columns, got 3; give each row its features");
  }
}

TEST(ATrainingRun, RejectsDataThatDoesNotFitItsNetwork) {
  const Dataset moons = make_moons(40, 0.1, 1);
  Dataset empty, narrow;
  narrow.columns = 1, narrow.x = {1}, narrow.labels = {0};
  TrainingRun run(moons, micrograd_recipe());
  EXPECT_EQ(tests::error_of([&] { run.set_data(empty); }), "set_data: needs at least one row, got none; add rows");
  EXPECT_EQ(tests::error_of([&] { run.set_data(narrow); }),
            "set_data: needs rows of 2 features, got 1; give the features that the model was made for");
  EXPECT_EQ(tests::error_of([&] { run.set_data(make_spiral(30, 3, 0, 1)); }),
            "set_data: needs labels below 2, got 2; give the classes that the model was made for");
  EXPECT_EQ(tests::error_of([&] { run.set_learning_rate(-1); }),
            "SGD: needs lr >= 0, got -1; give a finite number that is not negative");
}

}  // namespace
}  // namespace gradwalk::training_changes_test
