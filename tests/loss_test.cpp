// SPDX-License-Identifier: MIT
// Losses: values and gradients, also at extreme scores; means over batches; arguments that are rejected.
#include "gradwalk/loss.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "support.hpp"

namespace gradwalk::loss_test {
namespace {

using tests::error_of;

// A loss of one score and its derivative by the score.
struct At {
  double loss, gradient;
};
template <class Loss> At at(double score, Loss loss) {
  const Value s = score;
  const Value result = loss(s);
  result.backward();
  return {result.data(), s.grad()};
}

TEST(MeanSquaredError, IsTheSquareOfTheDifference) {
  const At one = at(3, [](const Value& s) { return mean_squared_error(s, 1.0); });
  EXPECT_EQ(one.loss, 4);
  EXPECT_EQ(one.gradient, 4);
  const std::vector<Value> outputs{1.0, 2.0, 4.0};
  EXPECT_EQ(mean_squared_error(outputs, std::vector{1.0, 1.0, 1.0}).data(), 10 * (1.0 / 3));
}

TEST(Hinge, IsTheMissingMargin) {
  const auto plus = [](const Value& s) { return hinge(s, 1.0); };
  const auto minus = [](const Value& s) { return hinge(s, -1.0); };
  EXPECT_EQ(at(0.25, plus).loss, 0.75);
  EXPECT_EQ(at(0.25, plus).gradient, -1);
  EXPECT_EQ(at(0.25, minus).loss, 1.25);
  EXPECT_EQ(at(0.25, minus).gradient, 1);
  EXPECT_EQ(at(1.5, plus).loss, 0);
  EXPECT_EQ(at(1.5, plus).gradient, 0);
  const std::vector<Value> scores{0.25, 0.25};
  EXPECT_EQ(hinge(scores, std::vector{1.0, -1.0}).data(), 1);
}

TEST(BinaryCrossEntropy, IsMinusTheLogOfTheProbability) {
  for (const double score : {-2.0, 0.0, 0.7})
    for (const double target : {0.0, 0.3, 1.0}) {
      const At found = at(score, [&](const Value& s) { return binary_cross_entropy(s, target); });
      const double p = 1 / (1 + std::exp(-score));
      EXPECT_NEAR(found.loss, -target * std::log(p) - (1 - target) * std::log(1 - p), 1e-15);
      EXPECT_NEAR(found.gradient, p - target, 1e-15);
    }
}

TEST(BinaryCrossEntropy, IsAccurateAtExtremeScores) {
  const auto one = [](const Value& s) { return binary_cross_entropy(s, 1.0); };
  const auto zero = [](const Value& s) { return binary_cross_entropy(s, 0.0); };
  EXPECT_EQ(at(1000, one).loss, 0);
  EXPECT_EQ(at(1000, one).gradient, 0);
  EXPECT_EQ(at(-1000, one).loss, 1000);
  EXPECT_EQ(at(-1000, one).gradient, -1);
  EXPECT_EQ(at(1000, zero).loss, 1000);
  EXPECT_EQ(at(1000, zero).gradient, 1);
  EXPECT_EQ(at(-1000, zero).loss, 0);
  EXPECT_DOUBLE_EQ(at(40, one).loss, std::exp(-40.0));  // small losses keep their digits
  EXPECT_EQ(at(1000, [](const Value& s) { return binary_cross_entropy(s, 0.25); }).loss, 750);
}

// Compares with the textbook formula in long double.
TEST(BinaryCrossEntropy, KeepsTheDigitsOfSmallLossesWithTargetsThatAreValues) {
  for (const double score : {-700.0, -40.0, -20.0, -1e-9, 0.0, 0.5, 20.0, 40.0, 700.0})
    for (const double number : {0.0, 1e-12, 0.25, 0.5, 0.75, 1 - 1e-12, 1.0}) {
      const Value target = number;
      const At found = at(score, [&](const Value& s) { return binary_cross_entropy(s, target); });
      const long double s = score, t = number;
      const long double loss = t * std::log1p(std::exp(-s)) + (1 - t) * std::log1p(std::exp(s));
      const long double gradient = (1 - t) / (1 + std::exp(-s)) - t / (1 + std::exp(s));
      EXPECT_NEAR(found.loss, static_cast<double>(loss), 1e-15 * static_cast<double>(loss)) << score << " " << number;
      EXPECT_NEAR(found.gradient, static_cast<double>(gradient), 4e-16) << score << " " << number;
      EXPECT_NEAR(target.grad(), -score, 1e-13) << score << " " << number;
      if (number == 0 || number == 1) {
        EXPECT_NEAR(found.gradient, static_cast<double>(gradient), 1e-15 * std::abs(static_cast<double>(gradient)));
        EXPECT_EQ(found.loss, binary_cross_entropy(Value(score), number).data());
      }
    }
}

// A recorded loss is replayed for other rows, whose targets are nearer to the other label.
TEST(BinaryCrossEntropy, CanBeReplayedWithAnyTarget) {
  Value target = 0.0, score = 40.0;
  const Value loss = binary_cross_entropy(score, target);
  for (const double number : {1.0, 0.75, 0.0}) {
    target.data() = number;
    recompute(loss);
    EXPECT_EQ(loss.data(), binary_cross_entropy(score, number).data());
  }
}

TEST(SoftmaxCrossEntropy, IsMinusTheLogOfTheProbability) {
  const std::vector<Value> scores{0.5, -1.0, 2.0};
  const Value loss = softmax_cross_entropy(scores, 1);
  loss.backward();
  const double total = std::exp(0.5) + std::exp(-1.0) + std::exp(2.0);
  EXPECT_NEAR(loss.data(), std::log(total) + 1, 1e-15);
  EXPECT_NEAR(scores[0].grad(), std::exp(0.5) / total, 1e-15);
  EXPECT_NEAR(scores[1].grad(), std::exp(-1.0) / total - 1, 1e-15);
  EXPECT_NEAR(scores[2].grad(), std::exp(2.0) / total, 1e-15);
}

TEST(SoftmaxCrossEntropy, IsAccurateAtExtremeScores) {
  const std::vector<Value> scores{-1000.0, 1000.0, 1000.0};
  const Value likely = softmax_cross_entropy(scores, 1);
  EXPECT_NEAR(likely.data(), std::log(2.0), 1e-15);
  const Value unlikely = softmax_cross_entropy(scores, 0);
  unlikely.backward();
  EXPECT_NEAR(unlikely.data(), 2000 + std::log(2.0), 1e-12);
  EXPECT_EQ(scores[0].grad(), -1);
  EXPECT_EQ(scores[1].grad(), 0.5);
  EXPECT_EQ(scores[2].grad(), 0.5);
}

TEST(Losses, AverageOverABatch) {
  const std::vector<std::vector<Value>> rows{{0.5, 1.0}, {2.0, -1.0}, {0.0, 0.0}};
  const std::vector<std::size_t> labels{0, 1, 1};
  double sum = 0;
  for (std::size_t i = 0; i < 3; ++i) sum += softmax_cross_entropy(rows[i], labels[i]).data();
  EXPECT_DOUBLE_EQ(softmax_cross_entropy(rows, labels).data(), sum / 3);
  const std::vector<Value> scores{2.0, -1.0};
  EXPECT_DOUBLE_EQ(binary_cross_entropy(scores, std::vector{1.0, 1.0}).data(),
                   (std::log1p(std::exp(-2.0)) + std::log1p(std::exp(1.0))) / 2);
}

TEST(Losses, AcceptTargetsThatAreValues) {
  Value target = 1.0;
  const Value score = 0.25;
  EXPECT_EQ(mean_squared_error(score, target).data(), mean_squared_error(score, 1.0).data());
  EXPECT_EQ(hinge(score, target).data(), hinge(score, 1.0).data());
  EXPECT_DOUBLE_EQ(binary_cross_entropy(score, target).data(), binary_cross_entropy(score, 1.0).data());
  const Value loss = hinge(score, target);
  target.data() = -1;
  recompute(loss);
  EXPECT_EQ(loss.data(), 1.25);
}

TEST(Penalties, AreSumsOfAbsoluteValuesAndSquares) {
  const std::vector<Value> parameters{-2.0, 0.5, 0.0};
  l1_penalty(parameters).backward();
  EXPECT_EQ(l1_penalty(parameters).data(), 2.5);
  EXPECT_EQ(parameters[0].grad(), -1);
  EXPECT_EQ(parameters[1].grad(), 1);
  EXPECT_EQ(parameters[2].grad(), 0);
  l2_penalty(parameters).backward();
  EXPECT_EQ(l2_penalty(parameters).data(), 4.25);
  EXPECT_EQ(parameters[0].grad(), -1 + -4);
  EXPECT_EQ(l2_penalty({}).data(), 0);
}

TEST(Losses, RejectArgumentsThatDoNotFit) {
  const std::vector<Value> scores{0.5, 1.0}, none;
  const std::vector<double> one{1.0}, no_targets;
  EXPECT_EQ(error_of([&] { hinge(scores, one); }),
            "hinge: needs one target per row, got 1 target for 2 rows; give as many of one as of the other");
  EXPECT_EQ(
      error_of([&] { mean_squared_error(none, one); }),
      "mean_squared_error: needs one target per row, got 1 target for 0 rows; give as many of one as of the other");
  EXPECT_EQ(error_of([&] { binary_cross_entropy(none, no_targets); }),
            "binary_cross_entropy: needs at least one row, got none; leave out empty batches");
  EXPECT_EQ(error_of([&] { hinge(scores, std::vector{1.0, 0.0}); }),
            "hinge: needs labels that are 1 or -1, got 0; for labels that are 0 and 1 give 2 * label - 1");
  EXPECT_EQ(error_of([&] { hinge(scores[0], NAN); }),
            "hinge: needs labels that are 1 or -1, got nan; for labels that are 0 and 1 give 2 * label - 1");
  EXPECT_EQ(
      error_of([&] { binary_cross_entropy(scores[0], -1.0); }),
      "binary_cross_entropy: needs targets from 0 to 1, got -1; for labels that are -1 and 1 give (label + 1) / 2");
  EXPECT_EQ(error_of([&] { softmax_cross_entropy(scores, 2); }),
            "softmax_cross_entropy: needs a label below the number of scores, 2, got 2; count labels from 0, and give "
            "the model one output per class");
  EXPECT_EQ(error_of([&] { softmax_cross_entropy(std::vector<std::vector<Value>>{}, std::vector<std::size_t>{}); }),
            "softmax_cross_entropy: needs at least one row, got none; leave out empty batches");
}

}  // namespace
}  // namespace gradwalk::loss_test
