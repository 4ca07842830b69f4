// SPDX-License-Identifier: MIT
// Jacobians, Hessians and derivatives of compiled functions, compared with those of the engine and with differences.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "gradwalk/compile.hpp"
#include "gradwalk/derivatives.hpp"
#include "support.hpp"

namespace gradwalk::compile_derivatives_test {

using testing::HasSubstr;
using tests::error_of;

// A function of n numbers with sums of products, functions, selections and a maximum.
Value objective(const std::vector<Value>& x) {
  Value sum = 0, most = x[0];
  for (std::size_t i = 0; i < x.size(); ++i) {
    const Value& y = x[(i + 1) % x.size()];
    sum += tanh(x[i] * y) + 0.5 * pow(x[i] - y * y, 2) + relu(x[i] + y) * y + exp(0.1 * x[i]);
    most = max(most, x[i] * y);
  }
  return log(1 + sum * sum) * (2 + sin(x[0])) + most * most;
}

std::vector<Value> outputs(const std::vector<Value>& x) {
  Value norm = 0;
  for (const Value& number : x) norm += number * number;
  return {objective(x), sqrt(norm), x[1] / norm, Value(3.0), x[0], max(x[0], x[1]) * x[2]};
}

Numbers point(std::size_t n, double shift = 0) {
  Numbers x;
  for (std::size_t i = 0; i < n; ++i) x.push_back(std::sin(static_cast<double>(i) + shift) + 0.1);
  return x;
}

void expect_near(std::span<const double> got, const std::vector<Numbers>& wanted, double tolerance) {
  std::size_t i = 0;
  for (const Numbers& row : wanted)
    for (const double number : row) {
      ASSERT_LT(i, got.size());
      EXPECT_NEAR(got[i], number, tolerance * (1 + std::abs(number))) << i;
      ++i;
    }
  EXPECT_EQ(i, got.size());
}

class Sizes : public testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(Compile, Sizes, testing::Values(3, 50));

TEST_P(Sizes, GiveTheJacobianOfTheEngine) {
  const std::size_t n = GetParam();
  for (const Precision precision : {Precision::float64, Precision::float32}) {
    std::vector<Value> own(n);
    Program program = compile(outputs(own), {.parameters = own, .precision = precision});
    std::vector<double> jacobian(6 * n);
    for (const double shift : {0.0, 1.0, 2.5}) {  // each shift selects other operands
      program.jacobian_at(point(n, shift), jacobian);
      expect_near(jacobian, gradwalk::jacobian(outputs, point(n, shift)),
                  precision == Precision::float64 ? 1e-12 : 2e-4);
    }
    std::vector<double> gradient(n);
    program.gradient_at(point(n), gradient);
    program.jacobian_at(point(n), jacobian);
    expect_near(std::span(jacobian).first(n), {gradient}, precision == Precision::float64 ? 1e-13 : 1e-5);
    for (const Value& parameter : own) EXPECT_EQ(parameter.grad(), 0);
  }
}

TEST_P(Sizes, GiveTheHessianAsTheJacobianOfTheDerivatives) {
  const std::size_t n = GetParam();
  std::vector<Value> p(n);
  const Numbers at = point(n);
  for (std::size_t i = 0; i < n; ++i) p[i].data() = 0.3 + 0.01 * static_cast<double>(i);
  Program slope = compile_derivatives(objective(p), {.parameters = p});
  EXPECT_EQ(slope.outputs(), n);
  std::vector<double> hessian(n * n);
  for (const double shift : {0.0, 1.0, 2.5}) {
    slope.jacobian_at(point(n, shift), hessian);
    expect_near(hessian, gradwalk::hessian(objective, point(n, shift)), 1e-11);
  }
  // Compare with differences of compiled gradients.
  Program program = compile(objective(p), {.parameters = p});
  slope.jacobian_at(at, hessian);
  const double h = 1e-5;
  for (const std::size_t i : {std::size_t{0}, n / 2, n - 1}) {
    Numbers above = at, below = at, up(n), down(n);
    above[i] += h;
    below[i] -= h;
    program.gradient_at(above, up);
    program.gradient_at(below, down);
    for (std::size_t j = 0; j < n; ++j)
      EXPECT_NEAR(hessian[i * n + j], (up[j] - down[j]) / (2 * h), 1e-6 * (1 + std::abs(hessian[i * n + j])));
  }
}

TEST(Derivatives, AreOutputsOfAProgramForEachRow) {
  Value w{2.0}, b{1.0}, x, y;
  Program slope = compile_derivatives(pow(tanh(w * x + b) - y, 2), {.inputs = {x, y}, .parameters = {w, b}});
  std::vector<double> outputs(6);
  const std::vector rows{0.5, 1.0, -1.0, 0.5, 2.0, 0.0};
  slope.evaluate(rows, outputs);
  for (std::size_t r = 0; r < 3; ++r) {
    const double in = rows[2 * r], t = std::tanh(2 * in + 1), by_b = 2 * (t - rows[2 * r + 1]) * (1 - t * t);
    EXPECT_NEAR(outputs[2 * r], by_b * in, 1e-14);
    EXPECT_NEAR(outputs[2 * r + 1], by_b, 1e-14);
  }
}

TEST(AJacobian, FollowsTheRulesForInfiniteDerivatives) {
  std::vector<Value> p{0.0, 1.0};
  Program program = compile(std::vector{relu(sqrt(p[0]) - 1), sqrt(p[0]) * p[1]}, {.parameters = p});
  std::vector<double> jacobian(4);
  program.jacobian_at(std::vector{0.0, 1.0}, jacobian);
  EXPECT_EQ(jacobian[0], 0) << "a gradient that is 0 passes nothing on";
  EXPECT_EQ(jacobian[2], INFINITY);
  EXPECT_EQ(jacobian[3], 0);
}

TEST(AJacobian, RefusesProgramsWithInputsAndBuffersOfTheWrongSize) {
  Value w{2.0}, x, c{3.0};
  c.label("c");
  Program rows = compile(w * x, {.inputs = {x}, .parameters = {w}}), program = compile(w * w * c, {.parameters = {w}});
  std::vector<double> one(1), two(2);
  EXPECT_THAT(error_of([&] { rows.jacobian_at(one, one); }), HasSubstr("only a program without inputs"));
  EXPECT_EQ(
      error_of([&] { program.jacobian_at(one, two); }),
      "Program::jacobian_at: needs room for 1 derivatives, got room for 2; give one number per output and parameter");
  EXPECT_THAT(error_of([&] { program.jacobian_at(two, one); }), HasSubstr("needs 1 parameters, got 2 numbers"));
  EXPECT_THAT(error_of([&] { compile_derivatives(w * x, {.inputs = {x}}); }), HasSubstr("needs parameters"));
  EXPECT_THAT(error_of([&] { compile_derivatives(custom(1.0, {{w, 1.0}}, "mine"), {.parameters = {w}}); }),
              HasSubstr("'mine'"));
  c.data() = 4;
  EXPECT_THAT(error_of([&] { program.jacobian_at(one, one); }), HasSubstr("\"c\" with 4"));
}

}  // namespace gradwalk::compile_derivatives_test
