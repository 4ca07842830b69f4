// SPDX-License-Identifier: MIT
// Gradients, Jacobians, Hessians, their products with a vector, derivatives of derivatives, and the gradient check.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "support.hpp"

namespace gradwalk {
namespace {

using testing::DoubleEq;
using testing::DoubleNear;
using testing::ElementsAre;
using tests::error_of;
using Values = std::vector<Value>;

Value polynomial(const Values& x) { return x[0] * x[0] * x[1] + 3 * x[1] * x[1] + x[0]; }
Values polar(const Values& x) { return {x[0] * cos(x[1]), x[0] * sin(x[1]), x[0]}; }

TEST(Gradient, OfAFunctionOfTwoNumbersIsExact) { EXPECT_THAT(gradient(polynomial, {2, 3}), ElementsAre(13, 22)); }

TEST(Gradient, OfAnUnusedCoordinateIsZero) {
  EXPECT_THAT(gradient([](const Values& x) { return x[1] * 2; }, {1, 2, 3}), ElementsAre(0, 2, 0));
  EXPECT_THAT(gradient([](const Values&) { return Value(1); }, {1, 2}), ElementsAre(0, 0));
}

TEST(Gradient, OfACoordinateItselfIsOne) {
  EXPECT_THAT(gradient([](const Values& x) { return x[1]; }, {1, 2}), ElementsAre(0, 1));
}

TEST(Gradient, ExcludesWhatTheFunctionDepositedItself) {
  const auto f = [](const std::vector<Value>& x) {
    const Value square = x[0] * x[0];
    square.backward();
    return square;
  };
  EXPECT_THAT(gradient(f, {3}), ElementsAre(6));
}

TEST(Derivatives, LeaveCapturedNodesUnchanged) {
  Value a{0.5}, b{2};
  const Value inner = a * b + tanh(a);
  inner.backward();
  const double before[] = {a.grad(), b.grad(), std::as_const(inner).grad()};
  const auto f = [&](const Values& x) { return x[0] * inner + a * x[1] * x[1] + sin(b * x[0]); };
  const auto g = [&](const Values& x) { return a * x[0] * x[0] * b + x[1]; };  // captures only leaves
  const double value = inner.data();
  EXPECT_THAT(gradient(f, {1, 3}), ElementsAre(DoubleEq(value + 2 * std::cos(2)), DoubleEq(3)));
  EXPECT_THAT(gradient(g, {3, 4}), ElementsAre(DoubleEq(6), DoubleEq(1)));
  jacobian([&](const Values& x) { return Values{f(x), g(x), inner}; }, {1, 3});
  hessian(f, {1, 3});
  hessian_vector_product(g, {1, 3}, {1, 1});
  EXPECT_TRUE(check_gradient(f, {1, 3}).ok);
  EXPECT_THAT((std::vector<double>{a.grad(), b.grad(), inner.grad()}), testing::ElementsAreArray(before));
}

TEST(APass, ReturnsGradientsAndLeavesThoseOfTheNodesUnchanged) {
  Value a{3}, b{2}, unrelated{1};
  Value square = a * a;
  const Value root = square * b + a;
  root.backward();
  const Gradients twice = pass(root, 2);
  EXPECT_EQ(twice.of(a), 2 * (2 * 3 * 2 + 1));
  EXPECT_EQ(twice.of(b), 18);
  EXPECT_EQ(twice.of(square), 4);
  EXPECT_EQ(twice.of(root), 2);
  EXPECT_EQ(twice.of(unrelated), 0);
  EXPECT_EQ(a.grad(), 13);
  EXPECT_EQ(std::as_const(square).grad(), 2);
  EXPECT_EQ(pass(a).of(a), 1);
  EXPECT_EQ(a.grad(), 13);
}

TEST(ValueAndGradient, ReturnsBoth) {
  const auto [value, slope] = value_and_gradient(polynomial, {2, 3});
  EXPECT_EQ(value, 41);
  EXPECT_THAT(slope, ElementsAre(13, 22));
}

TEST(Jacobian, HasOneRowPerOutput) {
  const double s = std::sin(0.5), c = std::cos(0.5);
  EXPECT_THAT(jacobian(polar, {2, 0.5}), ElementsAre(ElementsAre(DoubleEq(c), DoubleEq(-2 * s)),
                                                     ElementsAre(DoubleEq(s), DoubleEq(2 * c)), ElementsAre(1, 0)));
}

TEST(Jacobian, AllowsOutputsThatAreEqualOrInputs) {
  const auto f = [](const Values& x) {
    const Value product = x[0] * x[1];
    return Values{product, product, x[0], product + x[1], Value(7)};
  };
  EXPECT_THAT(jacobian(f, {2, 3}), ElementsAre(ElementsAre(3, 2), ElementsAre(3, 2), ElementsAre(1, 0),
                                               ElementsAre(3, 3), ElementsAre(0, 0)));
}

TEST(JacobianVectorProduct, EqualsTheJacobianTimesTheVector) {
  const Numbers v{0.25, -2};
  const auto rows = jacobian(polar, {2, 0.5});
  const Numbers product = jacobian_vector_product(polar, {2, 0.5}, v);
  ASSERT_EQ(product.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_DOUBLE_EQ(product[i], rows[i][0] * v[0] + rows[i][1] * v[1]);
}

TEST(JacobianVectorProduct, PassesFusedSumsAndCustomNodes) {
  const auto f = [](const Values& x) {
    return Values{x[0] * x[1] + x[0] * 2 + x[1], custom(1, {{x[0], 5.0}, {x[1], 7.0}}), x[1], Value(1)};
  };
  EXPECT_THAT(jacobian_vector_product(f, {2, 3}, {1, 10}), ElementsAre(3 + 20 + 2 + 10, 75, 10, 0));
}

TEST(Hessian, OfAPolynomialIsExact) {
  EXPECT_THAT(hessian(polynomial, {2, 3}), ElementsAre(ElementsAre(6, 4), ElementsAre(4, 6)));
}

TEST(Hessian, OfALinearAndOfAConstantFunctionIsZero) {
  const auto zero = ElementsAre(ElementsAre(0, 0), ElementsAre(0, 0));
  EXPECT_THAT(hessian([](const Values& x) { return 2 * x[0] - x[1]; }, {1, 2}), zero);
  EXPECT_THAT(hessian([](const Values&) { return Value(3); }, {1, 2}), zero);
  EXPECT_THAT(hessian([](const Values& x) { return x[0]; }, {1, 2}), zero);
}

TEST(Hessian, OfTheSquaredSineAtZeroIsTwo) {
  EXPECT_THAT(hessian([](const Values& x) { return pow(sin(x[0]), 2); }, {0}), ElementsAre(ElementsAre(2)));
  EXPECT_THAT(hessian([](const Values& x) { return sin(x[0]) * sin(x[0]); }, {0}), ElementsAre(ElementsAre(2)));
}

TEST(Hessian, OfAnUntakenBranchWithAnInfiniteSlopeIsFinite) {
  EXPECT_THAT(hessian([](const Values& x) { return max(sqrt(x[0]), 5.0) + x[0] * x[0]; }, {0}),
              ElementsAre(ElementsAre(2)));
}

TEST(Hessian, IsSymmetricAndAgreesWithDifferencesOfTheGradient) {
  const auto f = [](const Values& x) {
    return tanh(x[0] * x[1] + x[2] * 0.5) * exp(x[1] / x[2]) + log(x[0] * x[0] + 1) * sigmoid(x[2]) +
           atan2(x[0], x[1]) + pow(x[2], x[1]) + softplus(x[0] - x[2]);
  };
  const Numbers x{0.7, -1.2, 1.9};
  const auto h = hessian(f, x);
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j) {
      EXPECT_THAT(h[i][j], DoubleNear(h[j][i], 1e-13));
      Numbers above = x, below = x;
      above[j] += 1e-5, below[j] -= 1e-5;
      EXPECT_THAT(h[i][j], DoubleNear((gradient(f, above)[i] - gradient(f, below)[i]) / 2e-5, 1e-7));
    }
}

TEST(Hessian, RefusesACustomNode) {
  const auto f = [](const Values& x) { return custom(x[0].data(), {{x[0], 1.0}}, "mine") * x[0]; };
  EXPECT_EQ(
      error_of([&] { (void)hessian(f, {1}); }),
      "derivatives: needs ops whose rule is in the op table, got the custom node 'mine', whose derivatives are plain "
      "numbers; build it of the table's ops to differentiate it again");
}

TEST(HessianVectorProduct, EqualsTheHessianTimesTheVector) {
  EXPECT_THAT(hessian_vector_product(polynomial, {2, 3}, {1, 10}), ElementsAre(46, 64));
  EXPECT_THAT(hessian_vector_product(polynomial, {2, 3}, {0, 0}), ElementsAre(0, 0));
}

TEST(VectorProducts, NeedOneNumberPerCoordinate) {
  EXPECT_EQ(
      error_of([] { (void)jacobian_vector_product(polar, {1, 2}, {1}); }),
      "jacobian_vector_product: needs a vector as long as x, got 1 numbers for 2; give one number per coordinate");
  EXPECT_EQ(error_of([] { (void)hessian_vector_product(polynomial, {1, 2}, {1, 2, 3}); }),
            "hessian_vector_product: needs a vector as long as x, got 3 numbers for 2; give one number per coordinate");
}

TEST(Derivatives, NeedRecording) {
  const Value x{2.0};
  const Value root = x * x;
  const NoGrad guard;
  EXPECT_THROW(derivatives(root, {&x, 1}), Error);
  EXPECT_THAT(
      [] { gradient(polynomial, {2, 3}); },
      testing::ThrowsMessage<Error>("gradient: needs operations to be recorded, got a NoGrad guard; call it before the "
                                    "guard or after its end"));
  EXPECT_THROW(value_and_gradient(polynomial, {2, 3}), Error);
  EXPECT_THROW(hessian(polynomial, {2, 3}), Error);
  EXPECT_THROW(hessian_vector_product(polynomial, {2, 3}, {1, 1}), Error);
  EXPECT_THROW(check_gradient(polynomial, {2, 3}), Error);
  const VectorFunction both = [](const std::vector<Value>& point) { return point; };
  EXPECT_THROW(jacobian(both, {2, 3}), Error);
  EXPECT_THROW(jacobian_vector_product(both, {2, 3}, {1, 1}), Error);
}

TEST(Derivatives, CanBeDifferentiatedAgainAndAgain) {
  const Values x{1.5};
  Value nth = pow(x[0], 5);
  double expected = std::pow(1.5, 5);
  for (int n = 0; n < 5; ++n) {
    nth = derivatives(nth, x)[0];
    expected *= (5 - n) / 1.5;
    EXPECT_DOUBLE_EQ(nth.data(), expected);
  }
  EXPECT_EQ(derivatives(nth, x)[0].data(), 0);
}

TEST(Derivatives, OfTheExponentialAreTheExponential) {
  const Values x{0.3};
  Value nth = exp(x[0]);
  for (int n = 0; n < 6; ++n) {
    nth = derivatives(nth, x)[0];
    EXPECT_DOUBLE_EQ(nth.data(), std::exp(0.3));
  }
}

TEST(Derivatives, LeaveGradientsAndTheGraphUnchanged) {
  const Values x{2, 3};
  const Value root = x[0] * x[1] + x[0] * 2;
  root.backward();
  const Values slopes = derivatives(root, x);
  EXPECT_EQ(slopes[0].data(), 5);
  EXPECT_EQ(slopes[1].data(), 2);
  EXPECT_EQ(x[0].grad(), 5);
  EXPECT_EQ(root.grad(), 1);
  slopes[0].backward();
  EXPECT_EQ(x[1].grad(), 2 + 1);
}

TEST(Derivatives, CanBeWithRespectToAnInnerNode) {
  const Value a{2}, inner = a * a, root = inner * inner * 3;
  EXPECT_EQ(derivatives(root, Values{inner})[0].data(), 24);
  EXPECT_EQ(derivatives(root, Values{root})[0].data(), 1);
}

TEST(CheckGradient, AcceptsARightGradient) {
  const GradientCheck check = check_gradient(polynomial, {2, 3});
  EXPECT_TRUE(check);
  EXPECT_LT(check.error, 1e-9);
}

TEST(CheckGradient, NamesTheWorstCoordinateOfAWrongCustomOp) {
  const auto f = [](const Values& x) {
    return custom(2 * x[0].data() + 4 * x[1].data() + 8 * x[2].data(), {{x[0], 2.001}, {x[1], 6.0}, {x[2], 8.0}});
  };
  const GradientCheck check = check_gradient(f, {0, 0, 0});
  EXPECT_FALSE(check);
  EXPECT_EQ(check.worst, 1u);
  EXPECT_EQ(check.gradient, 6);
  EXPECT_EQ(check.difference, 4);
  EXPECT_DOUBLE_EQ(check.error, 2.0 / 6);
  EXPECT_EQ(check.message, "coordinate 1: gradient 6, central difference 4, error 0.3333333333333333");
}

TEST(CheckGradient, FailsOnNaN) {
  EXPECT_FALSE(check_gradient([](const Values& x) { return log(x[0]); }, {-1}));
  EXPECT_TRUE(check_gradient([](const Values&) { return Value(1); }, {}));
}

TEST(CheckGradient, LeavesRecordingOn) {
  (void)check_gradient(polynomial, {2, 3});
  const Value a{2};
  EXPECT_EQ((a * a).op(), Op::mul);
}

}  // namespace
}  // namespace gradwalk
