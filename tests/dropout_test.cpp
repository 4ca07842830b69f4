// SPDX-License-Identifier: MIT
// Dropout: which neurons are left out, in teams and after resuming; and that predictions use all neurons.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "gradwalk/training.hpp"
#include "support.hpp"

namespace gradwalk::dropout_test {
namespace {

using tests::error_of;

Recipe dropping(double chance, std::size_t batch = 8) {
  Recipe recipe{.hidden = {6, 5}, .loss = LossKind::bce, .batch = batch};
  recipe.dropout = chance;
  return recipe;
}
Dataset moons() { return make_moons(30, 0.1, 7); }

std::vector<double> numbers_of(const TrainingRun& run) {
  std::vector<double> numbers;
  for (const Value& parameter : run.network().parameters()) numbers.push_back(parameter.data());
  return numbers;
}

// A step that records the dropout factors of its batches.
class Recorder : public BatchStep {
 public:
  explicit Recorder(std::vector<std::vector<double>>& to) : to_(to) {}
  std::string kind() const override { return "recorder"; }
  double loss(const Dataset&) override { return 0; }
  void run(const Batch& batch, BatchSums& sums) override {
    std::ranges::fill(sums.all(), 0);
    to_.emplace_back(batch.factors.begin(), batch.factors.end());
  }

 private:
  std::vector<std::vector<double>>& to_;
};

std::vector<std::vector<double>> factors_of(const Recipe& recipe, int steps, const Team& team = {}) {
  std::vector<std::vector<double>> factors;
  TrainingRun run(moons(), recipe, [&](const Model&) { return std::make_unique<Recorder>(factors); }, team);
  for (int i = 0; i < steps; ++i) run.step();
  return factors;
}

TEST(Dropout, DrawsNewHiddenNeuronsToLeaveOutInEachRowAndStep) {
  for (const double chance : {0.2, 0.5, 0.9}) {
    const std::vector<std::vector<double>> steps = factors_of(dropping(chance, 10), 300);
    double dropped = 0, all = 0;
    for (const std::vector<double>& factors : steps) {
      ASSERT_EQ(factors.size(), 10u * 11u);
      for (const double factor : factors) {
        EXPECT_TRUE(factor == 0 || factor == 1 / (1 - chance)) << factor;
        dropped += factor == 0 ? 1 : 0, all += 1;
      }
    }
    EXPECT_NEAR(dropped / all, chance, 0.012);  // at least five standard deviations
    EXPECT_NE(steps[0], steps[1]);
    EXPECT_FALSE(std::equal(steps[0].begin(), steps[0].begin() + 55, steps[0].begin() + 55));
  }
  EXPECT_TRUE(factors_of(dropping(0), 1)[0].empty());
  Recipe other = dropping(0.5);
  other.seed = 5;
  EXPECT_NE(factors_of(other, 1), factors_of(dropping(0.5), 1));
}

TEST(Dropout, IsTheSameForATeamAsForOneProcess) {
  const std::vector<std::vector<double>> alone = factors_of(dropping(0.5, 7), 6);
  std::vector<std::vector<double>> together(6);
  for (std::size_t member = 0; member < 3; ++member) {
    const std::vector<std::vector<double>> part =
        factors_of(dropping(0.5, 7), 6, {3, member, [](std::span<double>) {}});
    for (std::size_t i = 0; i < 6; ++i) together[i].insert(together[i].end(), part[i].begin(), part[i].end());
  }
  EXPECT_EQ(together, alone);
}

TEST(Dropout, MultipliesTheOutputsOfHiddenNeurons) {
  const MLP network(2, {3, 2, 1}, {.activation = Activation::tanh});
  ASSERT_EQ(network.hidden(), 5u);
  const std::vector<double> x{0.3, -0.7}, factors{2, 0, 1, 0.5, 3};
  std::vector<double> values = x;
  std::size_t next = 0;
  for (const Layer& layer : network.layers()) {
    const std::vector<Value> outputs = layer(std::span<const double>(values));
    values.clear();
    for (const Value& output : outputs) values.push_back(output.data() * (next < 5 ? factors[next++] : 1));
  }
  EXPECT_EQ(network.with_factors(x, factors)[0].data(), values[0]);
  const std::vector<Value> leaves(x.begin(), x.end()), factor_leaves(factors.begin(), factors.end());
  EXPECT_EQ(network.with_factors(leaves, factor_leaves)[0].data(), values[0]);
  EXPECT_EQ(network.with_factors(x, std::vector<double>(5, 1))[0].data(), network(x)[0].data());
  EXPECT_EQ(error_of([&] { network.with_factors(x, std::vector<double>(4, 1)); }),
            "with_factors: needs 5 factors, got 4; give one factor per hidden neuron");
}

TEST(Dropout, AppliesTheGivenFactorsInAnEagerStep) {
  const Dataset data = moons();
  const TrainingRun run(data, dropping(0));
  const MLP& network = run.network();
  const std::vector<std::size_t> rows{3, 1};
  std::vector<double> factors(22, 2);
  for (std::size_t i = 0; i < factors.size(); i += 3) factors[i] = 0;
  BatchSums sums(network.parameter_count());
  eager_step(run.classifier())->run({data, rows, 0.5, factors}, sums);
  Value loss;
  for (std::size_t i = 0; i < 2; ++i)
    loss +=
        0.5 * row_loss(LossKind::bce, network.with_factors(data.row(rows[i]), std::span(factors).subspan(i * 11, 11)),
                       data.labels[rows[i]]);
  network.zero_grad();
  loss.backward();
  EXPECT_NEAR(sums.loss(), loss.data(), 1e-14);
  const std::vector<Value> parameters = network.parameters();
  for (std::size_t i = 0; i < parameters.size(); ++i) EXPECT_NEAR(sums.gradient()[i], parameters[i].grad(), 1e-14);
}

TEST(Dropout, ContinuesFromAnySavedStateAsIfUninterrupted) {
  const Dataset data = moons();
  for (const std::size_t batch : {0u, 8u}) {
    TrainingRun straight(data, dropping(0.3, batch)), without(data, dropping(0, batch));
    for (int i = 0; i < 15; ++i) straight.step(), without.step();
    EXPECT_NE(numbers_of(straight), numbers_of(without));
    for (int at = 0; at <= 15; ++at) {
      TrainingRun first(data, dropping(0.3, batch)), second(data, dropping(0.3, batch));
      for (int i = 0; i < at; ++i) first.step();
      std::vector<Value> parameters = second.network().parameters();
      for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i].data() = numbers_of(first)[i];
      second.set_state(first.state());
      for (int i = at; i < 15; ++i) second.step();
      EXPECT_EQ(numbers_of(second), numbers_of(straight)) << at;
    }
  }
}

TEST(Dropout, IsOffWhenAModelPredictsOrIsEvaluated) {
  const Dataset data = moons();
  Recipe recipe = dropping(0.5);
  recipe.validation = 0.2;
  TrainingRun run(data, recipe);
  std::optional<double> judged;
  for (int i = 0; i < 9; ++i) judged = run.step().validation;  // 24 rows in batches of 8
  ASSERT_TRUE(judged);
  EXPECT_NEAR(*judged, run.classifier().evaluate(training_split(data, recipe).validation).loss, 1e-12);
  std::vector<double> x(data.row(0).begin(), data.row(0).end());
  run.classifier().standardisation.apply(x);
  EXPECT_EQ(run.classifier().scores(data.row(0))[0], run.network()(x)[0].data());
}

TEST(Dropout, RejectsAnImpossibleProbability) {
  const auto with = [](double chance) { return error_of([&] { TrainingRun(moons(), dropping(chance)); }); };
  EXPECT_EQ(with(-0.1), "train: needs 0 <= dropout < 1, got -0.1; 0.2 is usual");
  EXPECT_EQ(with(1), "train: needs 0 <= dropout < 1, got 1; 0.2 is usual");
  Recipe recipe = dropping(0.5);
  recipe.hidden = {};
  EXPECT_EQ(error_of([&] { TrainingRun(moons(), recipe); }),
            "train: needs hidden neurons for dropout, got none; add hidden layers, or leave out dropout");
}

}  // namespace
}  // namespace gradwalk::dropout_test
