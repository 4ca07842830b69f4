// SPDX-License-Identifier: MIT
// Small graphs whose gradients can be computed by hand: micrograd's README and lecture, and cases of shared nodes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gradwalk/gradwalk.hpp"

namespace gradwalk {
namespace {

TEST(Examples, ReadmeProgramGivesMicrogradsNumbers) {
  Value a{-4.0}, b{2.0};
  Value c = a + b, d = a * b + pow(b, 3);
  c += c + 1;
  c += 1 + c + (-a);
  d += d * 2 + relu(b + a);
  d += 3 * d + relu(b - a);
  Value e = c - d, f = pow(e, 2), g = f / 2.0;
  g += 10.0 / f;
  g.backward();
  EXPECT_NEAR(g.data(), 24.70408163265306, 1e-13);
  EXPECT_NEAR(a.grad(), 138.83381924198252, 1e-12);
  EXPECT_NEAR(b.grad(), 645.5772594752187, 1e-12);
}

TEST(Examples, SquareOfASumOfAProductReachesEveryNode) {
  Value a{2}, b{3};
  Value c = a * b, d = c + a, e = pow(d, 2);
  e.backward();
  EXPECT_EQ(e.data(), 64);
  EXPECT_EQ(d.grad(), 16);
  EXPECT_EQ(c.grad(), 16);
  EXPECT_EQ(a.grad(), 64);
  EXPECT_EQ(b.grad(), 32);
}

TEST(Examples, NeuronOfTheLectureHasItsGradients) {
  Value x1{2.0}, x2{0.0}, w1{-3.0}, w2{1.0}, b{6.8813735870195432};
  Value o = tanh(x1 * w1 + x2 * w2 + b);
  o.backward();
  EXPECT_NEAR(o.data(), 0.7071067811865476, 1e-15);
  EXPECT_NEAR(x1.grad(), -1.5, 1e-14);
  EXPECT_NEAR(w1.grad(), 1.0, 1e-14);
  EXPECT_NEAR(x2.grad(), 0.5, 1e-14);
  EXPECT_EQ(w2.grad(), 0);
}

TEST(Examples, NeuronWrittenOutWithExponentialsHasTheSameGradients) {
  Value x1{2.0}, x2{0.0}, w1{-3.0}, w2{1.0}, b{6.8813735870195432};
  Value n = x1 * w1 + x2 * w2 + b, e = exp(2 * n);
  Value o = (e - 1) / (e + 1);
  o.backward();
  EXPECT_NEAR(o.data(), 0.7071067811865476, 1e-14);
  EXPECT_NEAR(x1.grad(), -1.5, 1e-13);
  EXPECT_NEAR(w1.grad(), 1.0, 1e-13);
  EXPECT_NEAR(x2.grad(), 0.5, 1e-13);
  EXPECT_EQ(w2.grad(), 0);
}

TEST(Examples, ASumOfANodeWithItselfCountsBothUses) {
  Value a{3};
  Value b = a + a;
  b.backward();
  EXPECT_EQ(a.grad(), 2);
}

TEST(Examples, AProductOfANodeWithItselfCountsBothUses) {
  Value a{3};
  Value b = a * a;
  b.backward();
  EXPECT_EQ(a.grad(), 6);
}

TEST(Examples, LeavesUsedByAProductAndASumGetBothContributions) {
  Value a{-2}, b{3};
  Value d = a * b, e = a + b, f = d * e;
  f.backward();
  EXPECT_EQ(a.grad(), -3);
  EXPECT_EQ(b.grad(), -8);
}

TEST(Examples, AProductWithASumPassesItsGradientToBothTerms) {
  Value a{2}, b{-3}, c{10};
  Value d = (a + b) * c;
  d.backward();
  EXPECT_EQ(a.grad(), 10);
  EXPECT_EQ(b.grad(), 10);
  EXPECT_EQ(c.grad(), -1);
}

TEST(Examples, ADiamondAddsItsTwoPaths) {
  Value a{2};
  Value b = a + 1, c = 3 * a, d = b * c;
  d.backward();
  EXPECT_EQ(a.grad(), 15);
}

TEST(Examples, ADiamondAboveASquareAddsItsPathsBeforeTheSquare) {
  Value x{2};
  Value a = x * x, b = a + 1, c = 3 * a, d = b * c;
  d.backward();
  EXPECT_EQ(x.grad(), 108);
}

TEST(Examples, PropagateOfAProductDepositsItsGradientTimesTheOtherOperand) {
  Value a{2}, b{3};
  Value c = a * b;
  c.grad() = 1;
  c.propagate();
  EXPECT_EQ(a.grad(), 3);
  EXPECT_EQ(b.grad(), 2);
}

TEST(Examples, TheReadmesFunctionHasItsGradients) {
  auto f = [](const std::vector<Value>& x) { return sin(x[0]) * exp(x[1]); };
  EXPECT_THAT(gradient(f, {0.5, 1.0}),
              testing::ElementsAre(testing::DoubleNear(2.385516, 1e-6), testing::DoubleNear(1.303213, 1e-6)));
  EXPECT_TRUE(check_gradient(f, {0.5, 1.0}));
}

}  // namespace
}  // namespace gradwalk
