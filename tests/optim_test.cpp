// SPDX-License-Identifier: MIT
// Optimizers step by step, their state, learning-rate schedules and gradient clipping. tests/python/test_training.py
// compares 100 steps with PyTorch.
#include "gradwalk/optim.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "support.hpp"

namespace gradwalk::optim_test {
namespace {

using testing::ElementsAre;
using tests::error_of;

void set_gradients(std::vector<Value>& parameters, const std::vector<double>& gradients) {
  for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i].grad() = gradients[i];
}

TEST(SGD, SubtractsTheGradientTimesTheRate) {
  std::vector<Value> p{1.0, -2.0};
  Optimizer optimizer(p, SGD{.lr = 0.5});
  set_gradients(p, {2, -1});
  optimizer.step();
  EXPECT_EQ(p[0], 0.0);
  EXPECT_EQ(p[1], -1.5);
  optimizer.step(0.25);
  EXPECT_EQ(p[0], -0.5);
  EXPECT_EQ(optimizer.state().steps, 2u);
  EXPECT_TRUE(optimizer.state().first.empty());
}

TEST(SGD, KeepsMomentumAndDecaysWeights) {
  std::vector<Value> p{1.0};
  Optimizer optimizer(p, SGD{.lr = 0.5, .momentum = 0.5, .weight_decay = 0.25});
  set_gradients(p, {1});
  optimizer.step();  // g = 1 + 0.25, v = 1.25
  EXPECT_EQ(p[0], 0.375);
  optimizer.step();  // g = 1 + 0.09375, v = 0.625 + g
  EXPECT_EQ(p[0], 0.375 - 0.5 * (0.625 + 1.09375));
  EXPECT_THAT(optimizer.state().first, ElementsAre(0.625 + 1.09375));
}

TEST(Adam, MovesByItsRateInTheFirstStep) {
  std::vector<Value> p{1.0, 1.0, 1.0};
  Optimizer optimizer(p, Adam{.lr = 0.01});
  set_gradients(p, {1e-3, -50, 0});
  optimizer.step();
  EXPECT_NEAR(p[0].data(), 0.99, 1e-6);
  EXPECT_NEAR(p[1].data(), 1.01, 1e-9);
  EXPECT_EQ(p[2], 1.0);
  EXPECT_EQ(optimizer.state().second.size(), 3u);
}

TEST(AdamW, ShrinksWeightsIndependentlyOfTheirGradients) {
  std::vector<Value> p{2.0};
  Optimizer optimizer(p, AdamW{.lr = 0.1, .weight_decay = 0.5});
  set_gradients(p, {0});
  optimizer.step();
  EXPECT_EQ(p[0], 2 * (1 - 0.1 * 0.5));
}

TEST(Update, ComputesForNumbersWhatTheOptimizerDoesForValues) {
  for (const OptimizerConfig& config :
       {OptimizerConfig(SGD{.momentum = 0.9}), OptimizerConfig(Adam{}), OptimizerConfig(AdamW{.weight_decay = 0.1})}) {
    std::vector<Value> values{1.0, -3.0};
    std::vector<double> data{1.0, -3.0};
    Optimizer optimizer(values, config);
    OptimizerState state = initial_state(config, 2);
    for (int k = 0; k < 5; ++k) {
      const std::vector<double> gradients{0.5 + k, -0.25};
      set_gradients(values, gradients);
      optimizer.step();
      update(config, learning_rate(config), data, gradients, state);
    }
    EXPECT_EQ(values[0], data[0]);
    EXPECT_EQ(values[1], data[1]);
    EXPECT_EQ(optimizer.state(), state);
    EXPECT_EQ(state.steps, 5u);
  }
}

TEST(Optimizer, ContinuesFromAState) {
  const auto run = [](bool interrupted) {
    std::vector<Value> p{1.0};
    Optimizer optimizer(p, Adam{.lr = 0.1});
    for (int k = 0; k < 6; ++k) {
      if (interrupted && k == 3) {
        const OptimizerState state = optimizer.state();
        p = {Value(p[0].data())};
        optimizer = Optimizer(p, Adam{.lr = 0.1});
        optimizer.set_state(state);
      }
      optimizer.zero_grad();
      pow(p[0] - 3, 2).backward();
      optimizer.step();
    }
    return std::as_const(p[0]).data();
  };
  EXPECT_EQ(run(false), run(true));
  EXPECT_NE(run(false), 1);
}

TEST(Optimizer, RejectsInvalidParametersRatesAndStates) {
  const Value x = 2.0;
  EXPECT_EQ(
      error_of([&] { Optimizer({x * x}, SGD{}); }),
      "Optimizer: needs parameters that are leaves, got the result of mul; give the leaves that it was computed from");
  EXPECT_EQ(error_of([&] { Optimizer(std::vector<Value>(2, x), SGD{}); }),
            "Optimizer: needs each parameter once, got one node twice; copies of a Value are the same node: make each "
            "parameter from a number of its own");
  EXPECT_EQ(error_of([&] { Optimizer({x}, SGD{.lr = -1}); }),
            "SGD: needs lr >= 0, got -1; give a finite number that is not negative");
  EXPECT_EQ(error_of([&] { Optimizer({x}, SGD{.momentum = NAN}); }),
            "SGD: needs momentum >= 0, got nan; give a finite number that is not negative");
  EXPECT_EQ(error_of([&] { Optimizer({x}, Adam{.beta1 = 1}); }), "Adam: needs 0 <= beta1 < 1, got 1; 0.9 is usual");
  EXPECT_EQ(error_of([&] { Optimizer({x}, AdamW{.beta2 = -1}); }),
            "AdamW: needs 0 <= beta2 < 1, got -1; 0.999 is usual");
  EXPECT_EQ(error_of([&] { Optimizer({x}, AdamW{.weight_decay = -1}); }),
            "AdamW: needs weight_decay >= 0, got -1; give a finite number that is not negative");
  EXPECT_EQ(error_of([&] { Optimizer({x}, SGD{}).step(INFINITY); }),
            "step: needs a learning rate >= 0, got inf; give a finite number that is not negative");
  EXPECT_EQ(error_of([&] { Optimizer({x}, Adam{}).set_state({1, {0.5}, {}}); }),
            "set_state: needs moments of 1 and 1 numbers, got 1 and 0; give the state of the same optimizer with as "
            "many parameters");
}

TEST(Schedules, ReproduceThatOfMicrogradExactly) {
  const Schedule rate = linear_decay(1.0, 0.1, 100);
  for (int k = 0; k < 100; ++k) EXPECT_EQ(rate(static_cast<std::uint64_t>(k)), 1.0 - 0.9 * k / 100);
  EXPECT_EQ(rate(100), 0.1);
  EXPECT_EQ(rate(1000), 0.1);
}

TEST(Schedules, FollowACosine) {
  const Schedule rate = cosine_decay(0.5, 0.1, 8);
  for (int k = 0; k < 8; ++k)
    EXPECT_NEAR(rate(static_cast<std::uint64_t>(k)), 0.1 + 0.4 * (1 + std::cos(std::acos(-1.0) * k / 8)) / 2, 1e-15);
  EXPECT_EQ(rate(0), 0.5);
  EXPECT_EQ(rate(8), 0.1);
  EXPECT_EQ(rate(9), 0.1);
}

TEST(Schedules, WarmUpBeforeAnyOther) {
  const Schedule rate = warm_up(4, linear_decay(0.8, 0.0, 2));
  std::vector<double> rates;
  for (std::uint64_t k = 0; k < 7; ++k) rates.push_back(rate(k));
  EXPECT_THAT(rates, ElementsAre(0.2, 0.4, 0.8 * 3 / 4, 0.8, 0.8, 0.4, 0.0));
  EXPECT_EQ(warm_up(0, constant_rate(0.3))(0), 0.3);
  EXPECT_EQ(constant_rate(0.3)(7), 0.3);
}

TEST(Schedules, RejectZeroSteps) {
  EXPECT_EQ(error_of([] { linear_decay(1, 0, 0); }),
            "linear_decay: needs at least one step, got 0; give the number of steps in which the rate changes");
  EXPECT_EQ(error_of([] { cosine_decay(1, 0, 0); }),
            "cosine_decay: needs at least one step, got 0; give the number of steps in which the rate changes");
  EXPECT_EQ(error_of([] { warm_up(1, nullptr); }),
            "warm_up: needs a schedule to follow, got none; give one: warm_up(10, constant_rate(0.01))");
}

TEST(Clipping, ScalesGradientsWhoseNormIsTooLarge) {
  std::vector<Value> p{0.0, 0.0};
  set_gradients(p, {3, 4});
  EXPECT_EQ(clip_gradient_norm(p, 10), 5);
  EXPECT_EQ(p[0].grad(), 3);
  EXPECT_EQ(clip_gradient_norm(p, 1), 5);
  EXPECT_EQ(p[0].grad(), 3 * (1 / (5 + 1e-6)));
  EXPECT_EQ(p[1].grad(), 4 * (1 / (5 + 1e-6)));
}

TEST(Clipping, LimitsEachGradientToARange) {
  std::vector<Value> p{0.0, 0.0, 0.0};
  set_gradients(p, {3, -4, 0.5});
  clip_gradient_value(p, 1);
  EXPECT_EQ(p[0].grad(), 1);
  EXPECT_EQ(p[1].grad(), -1);
  EXPECT_EQ(p[2].grad(), 0.5);
}

TEST(RMSpropAndAdagrad, UsePyTorchsFormulas) {
  std::vector<double> data{1, -2}, wanted = data, squares(2);
  OptimizerState state = initial_state(RMSprop{}, 2);
  EXPECT_TRUE(state.first.empty());
  for (const double g : {0.5, -1.0, 2.0}) {
    update(RMSprop{.alpha = 0.9, .epsilon = 1e-8}, 0.1, data, std::vector{g, 2 * g}, state);
    for (std::size_t i = 0; i < 2; ++i) {
      const double one = i == 0 ? g : 2 * g;
      squares[i] = 0.9 * squares[i] + 0.1 * one * one;
      wanted[i] -= 0.1 * one / (std::sqrt(squares[i]) + 1e-8);
      EXPECT_NEAR(data[i], wanted[i], 1e-15);
    }
  }
  state = initial_state(Adagrad{}, 2);
  squares.assign(2, 0);
  wanted = data;
  for (const double g : {0.5, -1.0, 2.0}) {
    update(Adagrad{}, 0.1, data, std::vector{g, 2 * g}, state);
    for (std::size_t i = 0; i < 2; ++i) {
      const double one = i == 0 ? g : 2 * g;
      squares[i] += one * one;
      wanted[i] -= 0.1 * one / (std::sqrt(squares[i]) + 1e-10);
      EXPECT_NEAR(data[i], wanted[i], 1e-15);
    }
  }
  EXPECT_EQ(error_of([] { check_config(RMSprop{.alpha = 1}); }), "RMSprop: needs 0 <= alpha < 1, got 1; 0.99 is usual");
  EXPECT_EQ(error_of([] { check_config(Adagrad{.lr = -1}); }),
            "Adagrad: needs lr >= 0, got -1; give a finite number that is not negative");
}

TEST(Clipping, RejectsANegativeBound) {
  EXPECT_EQ(error_of([] { clip_gradient_norm({}, -1); }),
            "clip_gradient_norm: needs a bound >= 0, got -1; give a number that is not negative");
  EXPECT_EQ(error_of([] { clip_gradient_value({}, NAN); }),
            "clip_gradient_value: needs a bound >= 0, got nan; give a number that is not negative");
}

}  // namespace
}  // namespace gradwalk::optim_test
