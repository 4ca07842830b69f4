// SPDX-License-Identifier: MIT
// Validation: rows are held out, the best parameters are kept, patience ends a run, and runs continue from any state.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "gradwalk/training.hpp"
#include "support.hpp"

namespace gradwalk::validation_test {
namespace {

using tests::error_of;

// Noise that a network overfits: the loss of other rows soon rises.
Dataset noise(std::size_t rows = 40) {
  Random random(3);
  Dataset data{2, {}, {}, {"a", "b"}, {"no", "yes"}};
  for (std::size_t i = 0; i < rows; ++i) {
    data.x.push_back(random.normal()), data.x.push_back(random.normal());
    data.labels.push_back(random.below(2));
  }
  return data;
}

Recipe judged(double share = 0.25, std::uint64_t patience = 0) {
  Recipe recipe{.hidden = {8}, .loss = LossKind::bce, .optimizer = Adam{.lr = 0.05}, .batch = 8, .l2 = 0};
  recipe.rate.kind = LearningRateSchedule::Kind::constant;
  recipe.validation = share, recipe.patience = patience;
  return recipe;
}

std::vector<double> numbers_of(const MLP& network) {
  std::vector<double> result;
  for (const Value& parameter : network.parameters()) result.push_back(parameter.data());
  return result;
}

std::multiset<std::pair<double, double>> points(const Dataset& data) {
  std::multiset<std::pair<double, double>> result;
  for (std::size_t i = 0; i < data.rows(); ++i) result.emplace(data.row(i)[0], data.row(i)[1]);
  return result;
}

TEST(Validation, HoldsOutAShareOfEachClassThatIsNotLearnedFrom) {
  const Dataset data = noise();
  const TrainingSplit parts = training_split(data, judged());
  EXPECT_EQ(parts.training.rows(), 30u);
  EXPECT_EQ(parts.validation.rows(), 10u);
  std::multiset<std::pair<double, double>> both = points(parts.training);
  both.merge(points(parts.validation));
  EXPECT_EQ(both, points(data));

  // The run equals one on the training rows alone, which also determine the standardisation.
  Recipe plain = judged(0);
  TrainingRun run(data, judged()), other(parts.training, plain);
  EXPECT_EQ(run.validation_rows(), 10u);
  EXPECT_EQ(run.classifier().standardisation.mean, other.classifier().standardisation.mean);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(run.step().loss, other.step().loss);
  EXPECT_EQ(numbers_of(run.network()), numbers_of(other.network()));
  EXPECT_EQ(points(training_split(data, plain).training), points(data));
  EXPECT_EQ(other.validation_rows(), 0u);
}

TEST(Validation, KeepsTheParametersOfTheEpochWithTheLeastLoss) {
  TrainingRun run(noise(), judged());  // 30 rows in batches of 8: 4 steps per epoch
  const Dataset kept = training_split(noise(), judged()).validation;
  double least = 1e300;
  std::uint64_t best = 0;
  std::vector<double> parameters;
  for (int i = 1; i <= 120; ++i) {
    const TrainingRun::Report report = run.step();
    ASSERT_EQ(report.validation.has_value(), i % 4 == 0) << i;
    if (!report.validation) continue;
    EXPECT_NEAR(*report.validation, run.classifier().evaluate(kept).loss, 1e-12);
    if (*report.validation < least)
      least = *report.validation, best = report.step, parameters = numbers_of(run.network());
  }
  ASSERT_LT(best, 100u);  // otherwise the test would show nothing
  EXPECT_EQ(run.state().best.step, best);
  EXPECT_EQ(run.state().best.loss, least);
  const AnyModel model = run.best_model();
  EXPECT_EQ(numbers_of(model_of(model).network), parameters);
  EXPECT_NE(numbers_of(run.network()), parameters);
  EXPECT_NEAR(classifier_of(model).evaluate(kept).loss, least, 1e-12);
}

TEST(Validation, KeepsTheLastParametersWhereNoRowsAreHeldOut) {
  TrainingRun run(noise(), judged(0));
  for (int i = 0; i < 9; ++i) EXPECT_FALSE(run.step().validation);
  EXPECT_EQ(run.state().best.step, 0u);
  EXPECT_EQ(numbers_of(model_of(run.best_model()).network), numbers_of(run.network()));
  EXPECT_FALSE(run.is_done());
  TrainingRun early(noise(), judged());
  early.step();  // the first epoch has not ended
  EXPECT_EQ(numbers_of(model_of(early.best_model()).network), numbers_of(early.network()));
}

TEST(Validation, EndsARunWhenItsPatienceRunsOut) {
  TrainingRun run(noise(), judged(0.25, 20)), patient(noise(), judged());
  while (!run.is_done() && run.steps() < 1000) run.step();
  ASSERT_LT(run.steps(), 1000u);
  EXPECT_EQ(run.steps(), run.state().best.step + 20);
  while (patient.steps() < run.steps()) patient.step();
  EXPECT_FALSE(patient.is_done());
  EXPECT_EQ(numbers_of(run.network()), numbers_of(patient.network()));
  run.set_patience(21);
  EXPECT_FALSE(run.is_done());
  run.step();
  EXPECT_EQ(run.steps(), patient.steps() + 1);
}

TEST(Validation, ContinuesFromAnySavedStateAsIfUninterrupted) {
  for (const std::size_t batch : {0u, 8u, 7u}) {
    Recipe recipe = judged();
    recipe.batch = batch;
    TrainingRun straight(noise(), recipe);
    for (int i = 0; i < 40; ++i) straight.step();
    for (int at = 0; at <= 40; ++at) {
      TrainingRun first(noise(), recipe), second(noise(), recipe);
      for (int i = 0; i < at; ++i) first.step();
      std::vector<Value> parameters = second.network().parameters();
      for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i].data() = numbers_of(first.network())[i];
      second.set_state(first.state());
      TrainingRun copy = second;
      for (int i = at; i < 40; ++i) second.step(), copy.step();
      for (const TrainingRun* run : {&second, &copy}) {
        EXPECT_EQ(numbers_of(run->network()), numbers_of(straight.network()));
        EXPECT_EQ(run->state().best.step, straight.state().best.step);
        EXPECT_EQ(run->state().best.loss, straight.state().best.loss);
        EXPECT_EQ(run->state().best.parameters, straight.state().best.parameters);
      }
    }
  }
}

TEST(Validation, UsesTheTrainingLossForNumbersAndBalancedClasses) {
  Dataset numbers = noise();
  numbers.labels.clear(), numbers.label_names.clear(), numbers.target_name = "t";
  for (std::size_t i = 0; i < 40; ++i) numbers.targets.push_back(numbers.row(i)[0] * 100 + numbers.row(i)[1]);
  Recipe recipe = judged();
  recipe.loss = LossKind::huber;
  TrainingRun run(numbers, recipe);
  std::optional<double> last;
  for (int i = 0; i < 8; ++i) last = run.step().validation;
  EXPECT_NEAR(*last, run.regressor().evaluate(training_split(numbers, recipe).validation).loss, 1e-12);

  Recipe balance = judged();
  balance.balance = true, balance.batch = 0;
  Dataset rare = noise();
  for (std::size_t i = 0; i < 40; ++i) rare.labels[i] = i % 5 == 0 ? 1 : 0;
  TrainingRun balanced(rare, balance);
  last = balanced.step().validation;
  const Dataset kept = training_split(rare, balance).validation;
  double of[2] = {}, count[2] = {};
  for (std::size_t i = 0; i < kept.rows(); ++i) {
    const std::vector<std::size_t> row{i};
    of[kept.labels[i]] += balanced.classifier().evaluate(select_rows(kept, row)).loss;
    count[kept.labels[i]] += 1;
  }
  ASSERT_NE(count[0], count[1]);
  EXPECT_NEAR(*last, (of[0] / count[0] + of[1] / count[1]) / 2, 1e-12);
}

TEST(Validation, RejectsImpossibleFractionsPatienceAndStates) {
  const auto with = [](double share, std::uint64_t patience) {
    return error_of([&] { TrainingRun(noise(), judged(share, patience)); });
  };
  EXPECT_EQ(with(-0.1, 0), "train: needs 0 <= validation < 1, got -0.1; 0.1 is usual");
  EXPECT_EQ(with(1, 0), "train: needs 0 <= validation < 1, got 1; 0.1 is usual");
  EXPECT_EQ(with(0, 5), "train: needs validation rows for patience, got none; set validation, for example to 0.1");
  EXPECT_EQ(error_of([] { TrainingRun(noise(1), judged()); }), "split: needs at least two rows, got 1; add rows");
  TrainingRun run(noise(), judged());
  for (int i = 0; i < 8; ++i) run.step();
  const auto state_with = [&](auto change) {
    TrainingState state = run.state();
    change(state.best);
    return error_of([&] { run.set_state(state); });
  };
  const std::string others =
      "set_state: needs best parameters of this run or none, got others; give what state() returned";
  EXPECT_EQ(state_with([](BestParameters&) {}), "no error");
  EXPECT_EQ(state_with([](BestParameters& best) { best.step = 9; }), others);
  EXPECT_EQ(state_with([](BestParameters& best) { best.step = 0; }), others);
  EXPECT_EQ(state_with([](BestParameters& best) { best.parameters.pop_back(); }), others);
  EXPECT_EQ(state_with([](BestParameters& best) { best.loss = 0.0 / 0.0; }), others);
}

TEST(Validation, StartsAnewWithOtherRows) {
  TrainingRun run(noise(), judged());
  for (int i = 0; i < 8; ++i) run.step();
  EXPECT_GT(run.state().best.step, 0u);
  run.set_data(noise(20));
  EXPECT_EQ(run.state().best.step, 0u);
  EXPECT_EQ(run.validation_rows(), 5u);
}

}  // namespace
}  // namespace gradwalk::validation_test
