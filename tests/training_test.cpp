// SPDX-License-Identifier: MIT
// Training runs: recipes, learning rates, what a step does, and continuing from a saved state.
#include "gradwalk/training.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "gradwalk/loss.hpp"
#include "support.hpp"

namespace gradwalk::training_test {
namespace {

using testing::ElementsAre;
using tests::error_of;

constexpr double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();

std::vector<double> numbers_of(const TrainingRun& run) {
  std::vector<double> result;
  for (const Value& parameter : run.classifier().network.parameters()) result.push_back(parameter.data());
  return result;
}

std::vector<std::uint64_t> bits(const std::vector<double>& numbers) {
  std::vector<std::uint64_t> result;
  for (const double number : numbers) result.push_back(std::bit_cast<std::uint64_t>(number));
  return result;
}

void set_numbers(const TrainingRun& run, const std::vector<double>& numbers) {
  std::vector<Value> parameters = run.classifier().network.parameters();
  for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i].data() = numbers[i];
}

void expect_same(const TrainingRun& a, const TrainingRun& b) {
  EXPECT_EQ(bits(numbers_of(a)), bits(numbers_of(b)));
  const TrainingState left = a.state(), right = b.state();
  EXPECT_EQ(left.steps, right.steps);
  EXPECT_EQ(left.optimizer, right.optimizer);
  EXPECT_EQ(left.batches, right.batches);
  EXPECT_EQ(left.history.stride, right.history.stride);
  EXPECT_EQ(left.history.steps, right.history.steps);
  EXPECT_EQ(bits(left.history.loss), bits(right.history.loss));
  EXPECT_EQ(bits(left.history.accuracy), bits(right.history.accuracy));
}

void make_steps(TrainingRun& run, int steps) {
  for (int i = 0; i < steps; ++i) run.step();
}

Recipe small(const OptimizerConfig& optimizer = Adam{.lr = 0.01}, std::size_t batch = 4) {
  return {.hidden = {3}, .loss = LossKind::bce, .optimizer = optimizer, .rate = {.steps = 20}, .batch = batch};
}

Dataset moons(std::size_t rows = 20) { return make_moons(rows, 0.1, 7); }

TEST(Recipes, HaveTheDocumentedValues) {
  const Recipe micrograd = micrograd_recipe();
  EXPECT_THAT(micrograd.hidden, ElementsAre(16, 16));
  EXPECT_EQ(micrograd.activation, Activation::relu);
  EXPECT_EQ(micrograd.init, Init::uniform);
  EXPECT_EQ(micrograd.loss, LossKind::hinge);
  EXPECT_EQ(std::get<SGD>(micrograd.optimizer).lr, 1);
  EXPECT_EQ(micrograd.batch, 0u);
  EXPECT_EQ(micrograd.l2, 1e-4);
  EXPECT_FALSE(micrograd.standardise);
  const Schedule rate = schedule_of(micrograd.rate, 1);
  for (std::uint64_t k = 0; k < 100; ++k) EXPECT_NEAR(rate(k), 1.0 - 0.9 * static_cast<double>(k) / 100, 1e-15);

  EXPECT_EQ(default_recipe(2).loss, LossKind::bce);
  EXPECT_EQ(default_recipe(3).loss, LossKind::softmax);
  EXPECT_TRUE(std::holds_alternative<Adam>(default_recipe(3).optimizer));
  EXPECT_EQ(default_recipe(3).rate.steps, 2000u);
  EXPECT_TRUE(default_recipe(3).standardise);
}

TEST(Recipes, RejectNumbersOutOfRange) {
  const auto with = [](auto change) {
    Recipe recipe = small();
    change(recipe);
    const std::string text = error_of([&] { check_recipe(recipe); });
    EXPECT_EQ(error_of([&] { TrainingRun(moons(), recipe); }), text);
    return text;
  };
  const std::string advice = "; give a finite number that is not negative";
  EXPECT_EQ(with([](Recipe&) {}), "no error");
  EXPECT_EQ(with([](Recipe& r) { r.l1 = -1; }), "train: needs l1 >= 0, got -1" + advice);
  EXPECT_EQ(with([](Recipe& r) { r.l2 = nan; }), "train: needs l2 >= 0, got nan" + advice);
  EXPECT_EQ(with([](Recipe& r) { r.clip = infinity; }), "train: needs clip >= 0, got inf" + advice);
  EXPECT_EQ(with([](Recipe& r) { r.rate.final = -0.5; }), "train: needs a final rate >= 0, got -0.5" + advice);
  EXPECT_EQ(with([](Recipe& r) { r.optimizer = SGD{.lr = nan}; }), "SGD: needs lr >= 0, got nan" + advice);
  EXPECT_EQ(with([](Recipe& r) { r.optimizer = Adam{.beta2 = 1}; }),
            "Adam: needs 0 <= beta2 < 1, got 1; 0.999 is usual");
  EXPECT_EQ(with([](Recipe& r) { r.rate.steps = 0; }),
            "cosine_decay: needs at least one step, got 0; give the number of steps in which the rate changes");
  EXPECT_EQ(error_of([] {
              Recipe recipe = small();
              recipe.hidden = {3, 0};
              TrainingRun(moons(), recipe);
            }),
            "Layer: needs at least one output, got 0; give the number of neurons");
}

TEST(LearningRateSchedules, GoFromTheFirstRateToTheLast) {
  using enum LearningRateSchedule::Kind;
  const auto rates = [](const LearningRateSchedule& schedule) {
    std::vector<double> result;
    const Schedule rate = schedule_of(schedule, 2);
    for (std::uint64_t k = 0; k < 7; ++k) result.push_back(rate(k));
    return result;
  };
  EXPECT_THAT(rates({.kind = constant, .final = 0.5, .steps = 4}), ElementsAre(2, 2, 2, 2, 2, 2, 2));
  EXPECT_THAT(rates({.kind = linear, .final = 0.5, .steps = 4}), ElementsAre(2, 1.75, 1.5, 1.25, 1, 1, 1));
  const std::vector<double> cosine_rates = rates({.kind = cosine, .final = 0, .steps = 4});
  for (std::size_t k = 0; k < 7; ++k)
    EXPECT_NEAR(cosine_rates[k], k < 4 ? 1 + std::cos(std::acos(-1.0) * static_cast<double>(k) / 4) : 0, 1e-15);
  EXPECT_THAT(rates({.kind = linear, .final = 0, .steps = 4, .warm_up = 2}), ElementsAre(1, 2, 2, 1.5, 1, 0.5, 0));
  EXPECT_EQ(name(constant), "constant");
  EXPECT_EQ(name(linear), "linear");
  EXPECT_EQ(name(cosine), "cosine");
}

TEST(LearningRateSchedules, SetTheRateOfEachStepOfARun) {
  Recipe recipe = small();
  recipe.rate = {.kind = LearningRateSchedule::Kind::linear, .final = 0, .steps = 4, .warm_up = 2};
  TrainingRun run(moons(), recipe);
  for (const double expected : {0.005, 0.01, 0.01, 0.0075, 0.005, 0.0025, 0.0, 0.0})
    EXPECT_DOUBLE_EQ(run.step().learning_rate, expected);
}

TEST(Losses, DetermineTheNumberOfOutputs) {
  using enum LossKind;
  EXPECT_EQ(outputs_for(hinge, 2), 1u);
  EXPECT_EQ(outputs_for(bce, 2), 1u);
  EXPECT_EQ(outputs_for(mse, 2), 1u);
  EXPECT_EQ(outputs_for(softmax, 2), 2u);
  EXPECT_EQ(outputs_for(mse, 3), 3u);
  EXPECT_EQ(outputs_for(softmax, 3), 3u);
  for (const LossKind loss : {hinge, bce, mse, softmax})
    for (const std::size_t classes : {0u, 1u})
      EXPECT_EQ(error_of([&] { outputs_for(loss, classes); }), "train: needs data with at least two classes, got " +
                                                                   std::to_string(classes) +
                                                                   "; add rows of another class");
  EXPECT_EQ(error_of([] { outputs_for(hinge, 3); }),
            "train: needs two classes for the loss hinge, got 3; use the loss softmax");
  EXPECT_EQ(error_of([] { outputs_for(bce, 9); }),
            "train: needs two classes for the loss bce, got 9; use the loss softmax");
}

TEST(Losses, EncodeTheLabelOfARow) {
  using enum LossKind;
  const std::vector<Value> one{0.25}, three{0.25, -1, 2};
  const auto of = [](LossKind loss, const std::vector<Value>& outputs, std::size_t label) {
    return row_loss(loss, outputs, label).data();
  };
  EXPECT_DOUBLE_EQ(of(hinge, one, 1), 0.75);
  EXPECT_DOUBLE_EQ(of(hinge, one, 0), 1.25);
  EXPECT_DOUBLE_EQ(of(mse, one, 1), 0.75 * 0.75);
  EXPECT_DOUBLE_EQ(of(mse, one, 0), 1.25 * 1.25);
  EXPECT_DOUBLE_EQ(of(bce, one, 1), std::log1p(std::exp(-0.25)));
  EXPECT_DOUBLE_EQ(of(bce, one, 0), std::log1p(std::exp(0.25)));
  EXPECT_DOUBLE_EQ(of(mse, three, 1), (0.0625 + 4 + 4) / 3);
  const double sum = std::exp(0.25) + std::exp(-1.0) + std::exp(2.0);
  EXPECT_DOUBLE_EQ(of(softmax, three, 2), std::log(sum) - 2);
  EXPECT_DOUBLE_EQ(of(softmax, three, 0), std::log(sum) - 0.25);
}

// Targets that are numbers are for the eager step and Values for the compiled one. Both use one formula.
TEST(Losses, HaveTheSameValueForTargetsThatAreNumbersAndValues) {
  const std::vector<Value> scores{40.5, -1.0, 2.0, 0.5};
  for (const LossKind kind : all_losses)
    for (const std::size_t outputs : {1u, 2u, 4u}) {
      if (outputs == 1 ? kind == LossKind::softmax : kind != LossKind::softmax && kind != LossKind::mse) continue;
      if (outputs == 2 && kind == LossKind::mse) continue;
      const Loss loss(kind, outputs);
      const auto check = [&](std::span<const double> targets) {
        ASSERT_EQ(targets.size(), loss.targets_per_row());
        const std::vector<Value> values(targets.begin(), targets.end());
        const std::span<const Value> some = std::span(scores).first(outputs);
        EXPECT_EQ(loss(some, targets).data(), loss(some, values).data()) << name(kind) << " " << outputs;
      };
      if (!is_for_classes(kind)) check(std::vector{1.5});
      for (std::size_t label = 0; is_for_classes(kind) && label < std::max<std::size_t>(2, outputs); ++label)
        check(loss.targets(label));
    }
  EXPECT_THAT(Loss(LossKind::mse, 3).targets(1), testing::ElementsAre(0, 1, 0));
  EXPECT_THAT(Loss(LossKind::softmax, 3).targets(2), testing::ElementsAre(2));
  EXPECT_THAT(Loss(LossKind::bce, 1).targets(0), testing::ElementsAre(0));
  EXPECT_THAT(Loss(LossKind::hinge, 1).targets(0), testing::ElementsAre(-1));
}

TEST(Losses, RejectLabelsAndOutputsThatDoNotFit) {
  using enum LossKind;
  const std::vector<Value> none, one{0.25}, two{1, 2}, three{0.25, -1, 2};
  const auto with = [](LossKind loss, const std::vector<Value>& outputs, std::size_t label) {
    return error_of([&] { row_loss(loss, outputs, label); });
  };
  EXPECT_EQ(with(hinge, one, 2), "Loss: needs a label below the number of classes, 2, got 2; count labels from 0");
  for (const LossKind loss : {mse, softmax})
    EXPECT_EQ(with(loss, three, 3), "Loss: needs a label below the number of classes, 3, got 3; count labels from 0");
  const std::string advice = "; give the network's last layer outputs_for() neurons";
  for (const LossKind loss : {hinge, mse, bce, softmax})
    EXPECT_EQ(with(loss, none, 0),
              "Loss: needs as many outputs as the loss " + std::string(name(loss)) + " has, got 0" + advice);
  EXPECT_EQ(with(softmax, one, 0), "Loss: needs as many outputs as the loss softmax has, got 1" + advice);
  EXPECT_EQ(with(hinge, two, 0), "Loss: needs as many outputs as the loss hinge has, got 2" + advice);
  EXPECT_EQ(error_of([&] { Loss(huber, 2); }), "Loss: needs as many outputs as the loss huber has, got 2" + advice);
  EXPECT_EQ(error_of([&] { Loss(huber, 1).targets(0); }),
            "Loss: needs a loss for classes, got huber; use the loss softmax, bce, hinge or mse");
  const std::vector<double> targets{1, 0};
  EXPECT_EQ(error_of([&] { Loss(hinge, 1)(two, targets); }),
            "Loss: needs 1 output, got 2; give those of a network made for this loss");
  EXPECT_EQ(error_of([&] { Loss(hinge, 1)(one, targets); }),
            "Loss: needs 1 target, got 2; give what targets() returns");
}

TEST(Classifiers, PredictTheClassOfTheLargestScoreAndItsProbability) {
  EXPECT_EQ(Classifier::label_of(std::vector{-0.5}), 0u);
  EXPECT_EQ(Classifier::label_of(std::vector{0.5}), 1u);
  EXPECT_EQ(Classifier::label_of(std::vector{0.5, 3.0, -1.0}), 1u);
  const TrainingRun two(moons(), small());
  EXPECT_DOUBLE_EQ(two.classifier().probability(std::vector{2.0}, 1), 1 / (1 + std::exp(-2.0)));
  EXPECT_DOUBLE_EQ(two.classifier().probability(std::vector{2.0}, 0), 1 - 1 / (1 + std::exp(-2.0)));
  EXPECT_TRUE(two.classifier().has_probabilities());
  const TrainingRun three(make_spiral(12, 3, 0.1, 1), default_recipe(3));
  const std::vector<double> scores{1000, 999, -1000};
  EXPECT_DOUBLE_EQ(three.classifier().probability(scores, 0), 1 / (1 + std::exp(-1.0)));
  EXPECT_DOUBLE_EQ(three.classifier().probability(scores, 2), 0);
  Recipe hinge = small();
  hinge.loss = LossKind::hinge;
  EXPECT_FALSE(TrainingRun(moons(), hinge).classifier().has_probabilities());
}

TEST(Classifiers, EvaluateTheMeanLossAndCountCorrectRows) {
  const Dataset data = moons();
  for (const LossKind loss : {LossKind::hinge, LossKind::mse, LossKind::bce, LossKind::softmax}) {
    Recipe recipe = small();
    recipe.loss = loss;
    TrainingRun run(data, recipe);
    make_steps(run, 5);
    const Classifier::Result result = run.classifier().evaluate(data);
    double sum = 0;
    std::size_t right = 0;
    for (std::size_t i = 0; i < data.rows(); ++i) {
      std::vector<double> x(data.row(i).begin(), data.row(i).end());
      run.classifier().standardisation.apply(x);
      const std::vector<Value> outputs = run.classifier().network(x);
      sum += row_loss(loss, outputs, data.labels[i]).data();
      right += run.classifier().predict(data.row(i)) == data.labels[i] ? 1 : 0;
    }
    EXPECT_DOUBLE_EQ(result.loss, sum / 20);
    EXPECT_EQ(result.right, right);
    EXPECT_DOUBLE_EQ(result.accuracy(), static_cast<double>(right) / 20);
  }
  Dataset none = data;
  none.x.clear(), none.labels.clear();
  EXPECT_EQ(TrainingRun(data, small()).classifier().evaluate(none).accuracy(), 0);
}

TEST(Classifiers, CountPredictionsInAConfusionMatrix) {
  Classifier::Result result;
  result.classes = 3, result.rows = 10, result.right = 6;
  result.confusion = {3, 1, 0, 2, 3, 0, 1, 0, 0};
  EXPECT_EQ(result.of_class(1), 5u);
  EXPECT_DOUBLE_EQ(result.precision(0), 0.5);
  EXPECT_DOUBLE_EQ(result.recall(0), 0.75);
  EXPECT_DOUBLE_EQ(result.f1(0), 0.6);
  EXPECT_EQ(result.precision(2), 0);
  EXPECT_EQ(result.f1(2), 0);
  const Dataset data = moons();
  const Classifier::Result found = TrainingRun(data, small()).classifier().evaluate(data);
  EXPECT_EQ(found.taken(0, 0) + found.taken(1, 1), found.right);
  EXPECT_EQ(found.of_class(0) + found.of_class(1), found.rows);
}

TEST(Training, GivesAllClassesTheSameWeightWithBalance) {
  Dataset data = moons(20);
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < data.rows(); ++i)
    if (data.labels[i] == 0 || rows.size() % 7 == 3) rows.push_back(i);
  data = select_rows(data, rows);
  Recipe recipe = small(SGD{.lr = 0.1}, 0);
  recipe.l2 = 0, recipe.balance = true;
  TrainingRun run(data, recipe);
  const Classifier model = run.classifier();
  double loss[2] = {}, count[2] = {};
  for (std::size_t i = 0; i < data.rows(); ++i) {
    std::vector<double> x(data.row(i).begin(), data.row(i).end());
    model.standardisation.apply(x);
    loss[data.labels[i]] += row_loss(recipe.loss, model.network(x), data.labels[i]).data();
    count[data.labels[i]] += 1;
  }
  ASSERT_NE(count[0], count[1]);
  const TrainingRun::Report report = run.step();
  EXPECT_NEAR(report.loss, (loss[0] / count[0] + loss[1] / count[1]) / 2, 1e-12);
  EXPECT_EQ(report.penalty, 0);
  Recipe penalised = small();
  TrainingRun other(data, penalised);
  double squares = 0;
  for (const double p : numbers_of(other)) squares += p * p;
  EXPECT_NEAR(other.step().penalty, penalised.l2 * squares, 1e-15);
  Dataset numbers = data;
  numbers.targets.assign(data.rows(), 1.5), numbers.targets[0] = 2;
  numbers.labels.clear(), numbers.label_names.clear();
  recipe.loss = LossKind::mse;
  EXPECT_EQ(error_of([&] { TrainingRun(numbers, recipe); }),
            "train: needs classes to balance, got targets that are numbers; leave out balance");
}

TEST(Histories, KeepAtMost1024StepsEvenly) {
  History history;
  for (std::uint64_t step = 1; step <= 100'000; ++step) {
    history.add(step, 1.0 / static_cast<double>(step), 0.5);
    if (step % 997 == 0 || step < 3000) {
      EXPECT_TRUE(history.is_valid_for(step)) << step;
    }
  }
  EXPECT_EQ(history.stride, 128u);
  ASSERT_EQ(history.steps.size(), 782u);
  for (std::size_t i = 0; i < history.steps.size(); ++i) {
    EXPECT_EQ(history.steps[i], 1 + 128 * static_cast<double>(i));
    EXPECT_EQ(history.loss[i], 1 / history.steps[i]);
  }
}

TEST(Histories, DependOnlyOnTheirSteps) {
  // Interrupt anywhere, keep the state, and continue.
  for (const std::uint64_t at : {0u, 1u, 1023u, 1024u, 1025u, 2047u, 2048u, 2049u, 3000u}) {
    History straight, first, second;
    for (std::uint64_t step = 1; step <= 5000; ++step) straight.add(step, static_cast<double>(step), 1);
    for (std::uint64_t step = 1; step <= at; ++step) first.add(step, static_cast<double>(step), 1);
    EXPECT_TRUE(first.is_valid_for(at));
    second = first;
    for (std::uint64_t step = at + 1; step <= 5000; ++step) second.add(step, static_cast<double>(step), 1);
    EXPECT_EQ(second.stride, straight.stride);
    EXPECT_EQ(second.steps, straight.steps);
    EXPECT_EQ(second.loss, straight.loss);
  }
}

TEST(Histories, CheckTheNumberOfTheirSteps) {
  History good;
  for (std::uint64_t step = 1; step <= 1500; ++step) good.add(step, 1, 0.5);
  EXPECT_TRUE(good.is_valid_for(1500));
  EXPECT_TRUE(good.is_valid_for(1499));  // with stride 2, step 1500 is not kept
  EXPECT_FALSE(good.is_valid_for(1498));
  EXPECT_FALSE(good.is_valid_for(1501));
  EXPECT_TRUE(History{}.is_valid_for(0));
  const auto with = [&](auto change) {
    History history = good;
    change(history);
    return history.is_valid_for(1500);
  };
  EXPECT_FALSE(with([](History& h) { h.stride = 0; }));
  EXPECT_FALSE(with([](History& h) { h.stride = 3; }));
  EXPECT_FALSE(with([](History& h) { h.stride = std::uint64_t{1} << 63; }));
  EXPECT_FALSE(with([](History& h) { h.steps[3] = 6; }));
  EXPECT_FALSE(with([](History& h) { h.loss.pop_back(); }));
  EXPECT_FALSE(with([](History& h) { h.loss[0] = nan; }));
  EXPECT_FALSE(with([](History& h) { h.accuracy[0] = 1.5; }));
  EXPECT_FALSE(with([](History& h) { h = {.stride = 1024, .steps = {1, 1025}, .loss = {1, 1}, .accuracy = {1, 1}}; }));
}

TEST(Training, IsDeterminedByDataAndRecipeBitForBit) {
  TrainingRun a(moons(), small()), b(moons(), small());
  make_steps(a, 30), make_steps(b, 30);
  expect_same(a, b);
  Recipe other = small();
  other.seed = 1338;
  TrainingRun c(moons(), other);
  make_steps(c, 30);
  EXPECT_NE(numbers_of(a), numbers_of(c));
}

TEST(Training, ContinuesFromAnyStateAsIfUninterrupted) {
  const std::vector<OptimizerConfig> optimizers{SGD{.lr = 0.1},   SGD{.lr = 0.1, .momentum = 0.9, .weight_decay = 0.01},
                                                Adam{.lr = 0.01}, AdamW{.lr = 0.01},
                                                RMSprop{},        Adagrad{}};
  const Dataset data = moons();
  constexpr int all = 15;
  for (const OptimizerConfig& optimizer : optimizers)
    for (const std::size_t batch : {0u, 1u, 7u, 20u, 1000u}) {
      Recipe recipe = small(optimizer, batch);
      recipe.l1 = 0.001;
      recipe.clip = 1;
      TrainingRun straight(data, recipe);
      make_steps(straight, all);
      for (int at = 0; at <= all; ++at) {
        TrainingRun first(data, recipe), second(data, recipe);
        make_steps(first, at);
        set_numbers(second, numbers_of(first));
        second.set_state(first.state());
        expect_same(first, second);
        make_steps(second, all - at);
        expect_same(straight, second);
      }
    }
}

TEST(Training, LeavesTheOriginalUnchangedWhenACopyIsTrained) {
  for (const std::size_t batch : {0u, 4u}) {
    TrainingRun run(moons(), small(Adam{.lr = 0.01}, batch)), straight(moons(), small(Adam{.lr = 0.01}, batch));
    make_steps(run, 3), make_steps(straight, 3);
    TrainingRun copy = run, assigned(moons(), small());
    assigned = run;
    make_steps(copy, 5), make_steps(assigned, 5);
    expect_same(run, straight);
    make_steps(run, 5);
    expect_same(copy, run);
    expect_same(assigned, run);
    const TrainingRun moved = std::move(copy);
    expect_same(moved, run);
  }
}

TEST(Training, RejectsStatesOfOtherRunsAndStaysUnchanged) {
  TrainingRun run(moons(), small());
  make_steps(run, 3);
  const TrainingState before = run.state();
  const auto with = [&](auto change) {
    TrainingState state = before;
    change(state);
    std::string text = error_of([&] { run.set_state(state); });
    const TrainingState after = run.state();
    EXPECT_EQ(after.steps, before.steps);
    EXPECT_EQ(after.optimizer, before.optimizer);
    EXPECT_EQ(after.batches, before.batches);
    return text;
  };
  const std::string others = " steps, got others; give what state() returned";
  EXPECT_EQ(with([](TrainingState& s) { s.steps = 4; }), "set_state: needs an optimizer and a history of 4" + others);
  EXPECT_EQ(with([](TrainingState& s) { s.history.stride = 0; }),
            "set_state: needs an optimizer and a history of 3" + others);
  EXPECT_EQ(with([](TrainingState& s) { s.optimizer.first.pop_back(); }),
            "set_state: needs moments of 13 and 13 numbers, got 12 and 13; give the state of the same optimizer with "
            "as many parameters");
  EXPECT_EQ(with([](TrainingState& s) {
              s.optimizer.first[0] = 5;
              s.batches.taken = 21;
            }),
            "set_state: needs at most 20 rows taken, got 21; give the state of Batches with as many rows");
  EXPECT_EQ(with([](TrainingState& s) { s.batches.random = {}; }),
            "Random: needs a state with a bit set, got four zeros; give a state that state() returned, or a seed");
}

// A run without hidden layers, whose weights and biases are given.
TrainingRun linear_run(double x, LossKind loss, std::size_t batch, const std::vector<double>& numbers) {
  const Dataset data{1, {x, -x, x, -x}, {1, 0, 1, 0}, {"x"}, {"a", "b"}};
  TrainingRun run(data, {.hidden = {}, .loss = loss, .batch = batch, .l2 = 0, .standardise = false});
  set_numbers(run, numbers);
  return run;
}

TEST(Training, StopsAtALossOrGradientThatIsNotFiniteAndChangesNothing) {
  struct Case {
    double x;
    std::vector<double> numbers;
    const char* says;
  };
  for (const Case& one :
       {Case{1e200, {1e200, 0}, "a loss that is finite, got inf"},
        Case{1, {infinity, 0}, "a loss that is finite, got inf"}, Case{1, {nan, 0}, "a loss that is finite, got nan"},
        Case{1e200, {1e-90, 0}, "a gradient that is finite, got inf"}})
    for (const std::size_t batch : {0u, 3u}) {
      TrainingRun run = linear_run(one.x, LossKind::mse, batch, one.numbers);
      const TrainingState before = run.state();
      for (int tries = 0; tries < 2; ++tries)
        EXPECT_EQ(error_of([&] { run.step(); }), std::string("train: needs ") + one.says +
                                                     " at step 1; lower the learning rate, or clip the gradient");
      EXPECT_EQ(bits(numbers_of(run)), bits(one.numbers));
      EXPECT_EQ(run.state().optimizer, before.optimizer);
      EXPECT_EQ(run.state().batches, before.batches);
      EXPECT_EQ(run.steps(), 0u);
      EXPECT_TRUE(run.history().steps.empty());
    }
}

TEST(Training, UsesTheGradientOfTheMeanLossOfABatch) {
  const Dataset spiral = make_spiral(15, 3, 0.1, 3), two = moons(15);
  for (const LossKind loss : {LossKind::hinge, LossKind::mse, LossKind::bce, LossKind::softmax})
    for (const std::size_t batch : {0u, 1u, 4u})
      for (const double l1 : {0.0, 0.01}) {
        const Dataset& data = loss == LossKind::mse || loss == LossKind::softmax ? spiral : two;
        Recipe recipe{.hidden = {4}, .activation = Activation::tanh, .loss = loss, .batch = batch, .l1 = l1};
        recipe.optimizer = SGD{.lr = 0.5};
        recipe.rate.kind = LearningRateSchedule::Kind::constant;
        TrainingRun run(data, recipe);
        run.step();
        const std::vector<double> before = numbers_of(run);
        Batches batches(data.rows(), batch == 0 ? data.rows() : batch, recipe.seed);
        batches.set_state(run.state().batches);
        std::vector<std::size_t> rows(data.rows());
        for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = i;
        if (batch > 0) {
          const auto next = batches.next();
          rows.assign(next.begin(), next.end());
        }
        const TrainingRun::Report report = run.step();
        const std::vector<double> after = numbers_of(run);

        set_numbers(run, before);
        const MLP& network = run.classifier().network;
        network.zero_grad();
        Value total = 0.0;
        std::size_t right = 0;
        for (const std::size_t row : rows) {
          std::vector<double> x(data.row(row).begin(), data.row(row).end());
          run.classifier().standardisation.apply(x);
          total += row_loss(loss, network(x), data.labels[row]);
          right += run.classifier().predict(data.row(row)) == data.labels[row] ? 1 : 0;
        }
        const std::vector<Value> parameters = network.parameters();
        const Value mean =
            total / static_cast<double>(rows.size()) + l1 * l1_penalty(parameters) + recipe.l2 * l2_penalty(parameters);
        mean.backward();
        EXPECT_NEAR(report.loss, mean.data(), 1e-12);
        EXPECT_EQ(report.accuracy, static_cast<double>(right) / static_cast<double>(rows.size()));
        for (std::size_t i = 0; i < parameters.size(); ++i)
          EXPECT_NEAR((before[i] - after[i]) / 0.5, parameters[i].grad(), 1e-12);
      }
}

TEST(Training, NeverReportsAnAccuracyAboveOne) {
  // In floating point, 100 times 0.01 is more than 1.
  const Dataset data{1, std::vector<double>(100, 1.0), std::vector<std::size_t>(100, 1), {"x"}, {"a", "b"}};
  Recipe recipe = small(SGD{.lr = 0.5}, 0);
  recipe.hidden = {};
  TrainingRun run(data, recipe);
  for (int i = 0; i < 10; ++i) EXPECT_LE(run.step().accuracy, 1);
  EXPECT_EQ(run.history().accuracy.back(), 1);
}

TEST(Training, ClipsTheGradientAndReportsItsNorm) {
  Recipe recipe = small(SGD{.lr = 1}, 0);
  recipe.rate.kind = LearningRateSchedule::Kind::constant;
  TrainingRun plain(moons(), recipe);
  recipe.clip = 0.01;
  TrainingRun clipped(moons(), recipe);
  const std::vector<double> before = numbers_of(plain);
  EXPECT_EQ(plain.step().gradient_norm, 0);
  const double norm = clipped.step().gradient_norm;
  double moved = 0, moved_plain = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    moved += std::pow(numbers_of(clipped)[i] - before[i], 2);
    moved_plain += std::pow(numbers_of(plain)[i] - before[i], 2);
  }
  EXPECT_NEAR(std::sqrt(moved), 0.01, 1e-5);
  EXPECT_NEAR(std::sqrt(moved_plain), norm, 1e-12);
}

TEST(Training, StandardisesRowsForTrainingAndForPrediction) {
  Dataset wide = moons();
  for (std::size_t i = 0; i < wide.rows(); ++i) wide.x[2 * i] = 1000 + 50 * wide.x[2 * i];
  TrainingRun run(wide, small());
  const Standardisation expected = Standardisation::fit(wide);
  EXPECT_EQ(run.classifier().standardisation.mean, expected.mean);
  EXPECT_EQ(run.classifier().standardisation.deviation, expected.deviation);

  // Compare with training on rows that are standardised by hand.
  Dataset by_hand = wide;
  expected.apply(by_hand);
  Recipe raw = small();
  raw.standardise = false;
  TrainingRun other(by_hand, raw);
  EXPECT_TRUE(other.classifier().standardisation.mean.empty());
  make_steps(run, 10), make_steps(other, 10);
  EXPECT_EQ(bits(numbers_of(run)), bits(numbers_of(other)));
  for (std::size_t i = 0; i < wide.rows(); ++i)
    EXPECT_EQ(bits(run.classifier().scores(wide.row(i))), bits(other.classifier().scores(by_hand.row(i))));
}

TEST(Training, RejectsInconsistentData) {
  const auto with = [](auto change, LossKind loss = LossKind::bce) {
    Dataset data = moons(4);
    change(data);
    Recipe recipe = small();
    recipe.loss = loss;
    return error_of([&] { TrainingRun(data, recipe); });
  };
  EXPECT_EQ(with([](Dataset&) {}), "no error");
  EXPECT_EQ(with([](Dataset& d) { d.x.clear(), d.labels.clear(); }),
            "train: needs at least one row, got none; add rows");
  EXPECT_EQ(with([](Dataset& d) { d.x.pop_back(); }),
            "train: needs 8 numbers: rows times columns, got 7; give each row its features");
  EXPECT_EQ(with([](Dataset& d) { d.feature_names = {}; }), "train: needs 2 feature_names, got 0; name each column");
  EXPECT_EQ(with([](Dataset& d) { d.feature_names[0] = "\033[2J"; }),
            "train: needs a name in UTF-8 without control characters, got '?[2J'; correct the name");
  EXPECT_EQ(with([](Dataset& d) { d.label_names[1] = "\xff"; }),
            "train: needs a name in UTF-8 without control characters, got '?'; correct the name");
  EXPECT_EQ(with([](Dataset& d) { d.labels[2] = 2; }),
            "train: needs labels below the 2 classes, got 2; count labels from 0, and name each class");
  EXPECT_EQ(with([](Dataset& d) { d.label_names = {"only"}, d.labels = {0, 0, 0, 0}; }),
            "train: needs data with at least two classes, got 1; add rows of another class");
  EXPECT_EQ(with([](Dataset& d) { d.label_names.emplace_back("third"); }),
            "train: needs two classes for the loss bce, got 3; use the loss softmax");
  EXPECT_EQ(with([](Dataset& d) { d.label_names.emplace_back("third"); }, LossKind::softmax), "no error");
  EXPECT_EQ(with([](Dataset& d) { d.x[3] = nan; }),
            "Standardisation: needs finite numbers, got nan in row 1, column 1; delete the row, or fill in a number");
}

TEST(Training, LearnsMoonsWithTheRecipeOfMicrograd) {
  const Dataset data = make_moons(100, 0.1, 1337);
  TrainingRun run(data, micrograd_recipe());
  make_steps(run, static_cast<int>(tests::sized(100, 10)));
  EXPECT_GE(run.classifier().evaluate(data).accuracy(), tests::sanitized ? 0.8 : 1.0);
}

}  // namespace
}  // namespace gradwalk::training_test
