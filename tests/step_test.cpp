// SPDX-License-Identifier: MIT
// Batch steps: the sums of the eager step, a step implemented by the user, and steps of a team.
#include "gradwalk/step.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <barrier>
#include <cmath>
#include <numeric>
#include <thread>

#include "gradwalk/training.hpp"
#include "support.hpp"

namespace gradwalk::step_test {
namespace {

using tests::error_of;

Recipe small() { return {.hidden = {5}, .loss = LossKind::bce, .rate = {.steps = 20}, .batch = 7, .clip = 1}; }
Dataset moons() { return make_moons(20, 0.1, 7); }

TEST(BatchSteps, AddUpTheWeightedRowsWhenEager) {
  const Dataset data = moons();
  Recipe recipe = small();
  recipe.standardise = false;
  const TrainingRun run(data, recipe);
  const Classifier& model = run.classifier();
  std::vector<Value> parameters = model.network.parameters();
  const std::vector<std::size_t> rows{3, 1, 4, 1};
  BatchSums sums(parameters.size());
  eager_step(model)->run({data, rows, 0.25}, sums);

  Value loss;
  double right = 0;
  for (const std::size_t row : rows) {
    loss += 0.25 * row_loss(model.loss, model.network(data.row(row)), data.labels[row]);
    right += model.predict(data.row(row)) == data.labels[row] ? 1 : 0;
  }
  model.network.zero_grad();
  loss.backward();
  EXPECT_NEAR(sums.loss(), loss.data(), 1e-14);
  EXPECT_EQ(sums.right(), right);
  for (std::size_t i = 0; i < parameters.size(); ++i) EXPECT_NEAR(sums.gradient()[i], parameters[i].grad(), 1e-14);

  eager_step(model)->run({data, {}, 0.25}, sums);
  for (const double number : sums.all()) EXPECT_EQ(number, 0);
}

// A step whose gradient is -1 for the first parameter and 0 for the others.
class OneSlope : public BatchStep {
 public:
  std::string kind() const override { return "one slope"; }
  double loss(const Dataset&) override { return 0; }
  void run(const Batch& batch, BatchSums& sums) override {
    std::ranges::fill(sums.all(), 0);
    sums.gradient()[0] = -1;
    sums.loss() = batch.weight * static_cast<double>(batch.rows.size());
    sums.right() = static_cast<double>(batch.rows.size());
  }
};

TEST(BatchSteps, CanBeImplementedByTheUser) {
  Recipe recipe = small();
  recipe.optimizer = SGD{.lr = 0.5}, recipe.rate.kind = LearningRateSchedule::Kind::constant;
  recipe.l2 = recipe.clip = 0;
  const TrainingRun before(moons(), recipe);
  TrainingRun run(moons(), recipe, [](const Model&) { return std::make_unique<OneSlope>(); });
  const TrainingRun::Report report = run.step();
  EXPECT_DOUBLE_EQ(report.loss, 1);
  EXPECT_EQ(report.accuracy, 1);
  const std::vector<Value> from = before.classifier().network.parameters(), to = run.classifier().network.parameters();
  EXPECT_EQ(to[0].data(), from[0].data() + 0.5);
  for (std::size_t i = 1; i < to.size(); ++i) EXPECT_EQ(to[i].data(), from[i].data());
}

std::vector<double> numbers_of(const TrainingRun& run) {
  std::vector<double> numbers;
  for (const Value& parameter : run.classifier().network.parameters()) numbers.push_back(parameter.data());
  return numbers;
}

TEST(BatchSteps, AreTheSameForATeamAsForOneProcess) {
  constexpr int steps = 12;
  TrainingRun alone(moons(), small());
  for (int i = 0; i < steps; ++i) alone.step();
  for (const std::size_t size : {2u, 3u, 9u}) {  // with 9 members, some have no row of a batch
    std::vector<std::vector<double>> sums(size), results(size);
    std::barrier<> together(static_cast<std::ptrdiff_t>(size));
    std::vector<std::thread> threads;
    for (std::size_t member = 0; member < size; ++member)
      threads.emplace_back([&, member] {
        const auto add_up = [&, member](std::span<double> mine) {
          sums[member].assign(mine.begin(), mine.end());
          together.arrive_and_wait();
          for (std::size_t i = 0; i < mine.size(); ++i)
            mine[i] =
                std::accumulate(sums.begin(), sums.end(), 0.0, [i](double x, const auto& of) { return x + of[i]; });
          together.arrive_and_wait();
        };
        TrainingRun run(moons(), small(), eager_step, {size, member, add_up});
        for (int i = 0; i < steps; ++i) run.step();
        results[member] = numbers_of(run);
      });
    for (std::thread& thread : threads) thread.join();
    const std::vector<double> expected = numbers_of(alone);
    for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(results[0][i], expected[i], 1e-12);
    for (const std::vector<double>& result : results) EXPECT_EQ(result, results[0]);
  }
}

TEST(BatchSteps, RejectAnImpossibleTeam) {
  const auto with = [](const Team& team) { return error_of([&] { TrainingRun(moons(), small(), eager_step, team); }); };
  EXPECT_EQ(with({2, 2, [](std::span<double>) {}}),
            "train: needs a member below the team's size, 2, got 2; count members from 0");
  EXPECT_EQ(with({2, 0, {}}), "train: needs a team with a function add_up, got none; set Team::add_up");
}

}  // namespace
}  // namespace gradwalk::step_test
