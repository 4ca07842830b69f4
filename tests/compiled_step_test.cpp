// SPDX-License-Identifier: MIT
// Compiled steps and scores: they agree with the eager ones, for every loss, with dropout and in training.
#include "gradwalk/compiled_step.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "gradwalk/training.hpp"
#include "support.hpp"

namespace gradwalk::compiled_step_test {
namespace {

TEST(CompiledStep, ComputesTheSumsOfTheEagerStep) {
  for (const LossKind loss : {LossKind::hinge, LossKind::mse, LossKind::bce, LossKind::softmax}) {
    for (const std::size_t classes : {2u, 3u}) {
      if (classes > 2 && (loss == LossKind::hinge || loss == LossKind::bce)) continue;
      const Dataset data = classes == 2 ? make_moons(40, 0.1, 3) : make_spiral(40, 3, 0.1, 3);
      const TrainingRun run(data, {.hidden = {8, 5}, .loss = loss});
      const std::vector<std::size_t> rows{3, 1, 4, 1, 5, 9, 2, 6};
      const std::size_t parameters = run.classifier().network.parameters().size();
      BatchSums wanted(parameters), got(parameters);
      eager_step(run.classifier())->run({data, rows, 0.125}, wanted);
      const std::unique_ptr<BatchStep> step = compiled_step(run.classifier());
      for (int again = 0; again < 2; ++again) {
        step->run({data, rows, 0.125}, got);
        EXPECT_EQ(got.right(), wanted.right());
        EXPECT_NEAR(got.loss(), wanted.loss(), 1e-13);
        for (std::size_t i = 0; i < parameters; ++i) EXPECT_NEAR(got.gradient()[i], wanted.gradient()[i], 1e-13);
      }
      step->run({data, {}, 0.125}, got);
      for (const double number : got.all()) EXPECT_EQ(number, 0);
    }
  }
}

TEST(CompiledStep, ComputesTheSumsOfTheEagerStepForRegression) {
  Dataset data = make_moons(40, 0.1, 3);
  std::vector<double> targets(data.rows());
  for (std::size_t i = 0; i < data.rows(); ++i) targets[i] = 3 * data.row(i)[0] - data.row(i)[1];
  data.targets = targets;
  data.labels.clear(), data.label_names.clear();
  for (const LossKind loss : {LossKind::mse, LossKind::mae, LossKind::huber}) {
    const TrainingRun run(data, {.hidden = {8, 5}, .loss = loss});
    const std::vector<std::size_t> rows{3, 1, 4, 1, 5, 9, 2, 6};
    const std::size_t parameters = run.network().parameter_count();
    BatchSums wanted(parameters), got(parameters);
    eager_step(run.regressor())->run({data, rows, 0.125}, wanted);
    compiled_step(run.regressor())->run({data, rows, 0.125}, got);
    for (std::size_t i = 0; i < parameters + 2; ++i) EXPECT_NEAR(got.all()[i], wanted.all()[i], 1e-12) << name(loss);
    const std::vector<double> scores = run.regressor().all_scores(data),
                              compiled = CompiledScores(run.regressor())(data.x);
    for (std::size_t i = 0; i < scores.size(); ++i) EXPECT_NEAR(compiled[i], scores[i], 1e-13);
  }
}

TEST(CompiledStep, DropsTheSameNeuronsAsTheEagerStep) {
  const Dataset data = make_spiral(40, 3, 0.1, 3);
  const TrainingRun run(data, {.hidden = {8, 5}});
  const std::vector<std::size_t> rows{3, 1, 4, 1, 5, 9, 2, 6};
  std::vector<double> factors(rows.size() * 13, 2);
  for (std::size_t i = 0; i < factors.size(); i += 3) factors[i] = 0;
  const std::size_t parameters = run.network().parameter_count();
  BatchSums wanted(parameters), got(parameters);
  const std::unique_ptr<BatchStep> eager = eager_step(run.classifier()), compiled = compiled_step(run.classifier());
  for (const bool drops : {true, false, true}) {
    const Batch batch{data, rows, 0.125, drops ? std::span<const double>(factors) : std::span<const double>()};
    eager->run(batch, wanted);
    compiled->run(batch, got);
    for (std::size_t i = 0; i < parameters + 2; ++i) EXPECT_NEAR(got.all()[i], wanted.all()[i], 1e-13);
  }
  // With factors, layers still compile to matrix products.
  const std::vector<Value> inputs(2 + 13);
  const std::span<const Value> all = inputs;
  EXPECT_THAT(compile(run.network().with_factors(all.first(2), all.last(13)),
                      {.inputs = inputs, .parameters = run.network().parameters()})
                  .describe()
                  .layers,
              testing::ElementsAre("8 x 2", "5 x 8", "3 x 5"));
}

TEST(CompiledStep, ComputesTheMeanLossOfAllRows) {
  Dataset data = make_moons(5000, 0.1, 3);
  for (std::size_t i = 0; i < data.rows(); ++i) data.weights.push_back(data.labels[i] == 0 ? 0.5 : 1.5);
  const TrainingRun run(data, {.hidden = {8}, .loss = LossKind::bce});
  EXPECT_NEAR(compiled_step(run.classifier())->loss(data), eager_step(run.classifier())->loss(data), 1e-12);
}

TEST(CompiledStep, TrainsLikeTheEagerStep) {
  const Dataset data = make_moons(100, 0.1, 5);
  Recipe recipe{.hidden = {16, 16}, .loss = LossKind::softmax, .batch = 20};
  recipe.validation = 0.2, recipe.dropout = 0.1;
  TrainingRun eager(data, recipe);
  TrainingRun compiled(data, recipe, [](const Model& model) { return compiled_step(model, {.threads = 2}); });
  for (int i = 0; i < 30; ++i) {
    const TrainingRun::Report wanted = eager.step(), got = compiled.step();
    EXPECT_NEAR(got.loss, wanted.loss, 1e-10);
    EXPECT_EQ(got.accuracy, wanted.accuracy);
    ASSERT_EQ(got.validation.has_value(), wanted.validation.has_value());
    if (wanted.validation) {
      EXPECT_NEAR(*got.validation, *wanted.validation, 1e-10);
    }
  }
}

// A classifier with two classes and one weight, whose score for a row is the row's one feature times `weight`.
Classifier with_weight(LossKind loss, double weight) {
  Classifier model{{MLP(1, {1}), loss, {"x"}, {}}, {"no", "yes"}};
  model.network.parameters()[0].data() = weight;
  return model;
}

// The losses of well-classified rows are far below the rounding error of 1, and must not vanish.
TEST(CompiledStep, KeepsTheDigitsOfSmallLosses) {
  const Dataset data{1, {40, -40}, {1, 0}, {"x"}, {"no", "yes"}};
  const Classifier model = with_weight(LossKind::bce, 1);
  const std::vector<std::size_t> rows{0, 1};
  for (const auto& step : {eager_step(model), compiled_step(model)}) {
    BatchSums sums(2);
    step->run({data, rows, 1.0}, sums);
    const double loss = std::exp(-40.0);  // of each row; also the size of the score's gradient
    EXPECT_NEAR(sums.loss(), 2 * loss, 1e-14 * loss) << step->kind();
    EXPECT_NEAR(sums.gradient()[0], -80 * loss, 1e-12 * loss) << step->kind();
    EXPECT_NEAR(step->loss(data), loss, 1e-14 * loss) << step->kind();
  }
}

TEST(CompiledStep, RunsOverRangesInParallelThatCoverAllOfIt) {
  const std::unique_ptr<BatchStep> step = compiled_step(with_weight(LossKind::bce, 1), {.threads = 3});
  for (const std::size_t size : {0u, 1u, 100'000u}) {
    std::vector<int> visits(size);
    step->parallel_for(size, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) ++visits[i];
    });
    EXPECT_THAT(visits, testing::Each(1));
  }
}

}  // namespace
}  // namespace gradwalk::compiled_step_test
