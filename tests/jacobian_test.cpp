// SPDX-License-Identifier: MIT
// Sparsity patterns, sparse Jacobians and sparse Hessians. jacobian_random_test.cpp compares their numbers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "gradwalk/compile.hpp"
#include "gradwalk/derivatives.hpp"
#include "support.hpp"

namespace gradwalk::jacobian_test {

using testing::ElementsAre;
using testing::HasSubstr;
using tests::error_of;

Numbers random_point(std::mt19937& random, std::size_t n) {
  Numbers x;
  for (std::size_t i = 0; i < n; ++i) x.push_back(std::uniform_real_distribution(-1.0, 1.0)(random));
  return x;
}

TEST(APattern, HasTheParametersOfEachOutput) {
  const std::vector<Value> p{1.0, 2.0, 3.0, 4.0};
  const Program program =
      compile(std::vector{p[1] * p[3], Value(2.0), exp(p[0]) - p[0], p[2] + p[1]}, {.parameters = p});
  const SparsePattern pattern = program.jacobian_pattern();
  EXPECT_THAT(pattern.row_starts, ElementsAre(0, 2, 2, 3, 5));
  EXPECT_THAT(pattern.column_indices, ElementsAre(1, 3, 0, 1, 2));
  EXPECT_THAT(compile(p[0] * p[2], {.parameters = p}).jacobian_pattern().column_indices, ElementsAre(0, 1, 2, 3))
      << "the gradient of one output is dense";
}

TEST(APattern, HasNoParametersOfConditions) {
  const std::vector<Value> p{1.0, 2.0, 3.0, 4.0};
  const Program program =
      compile(std::vector{select(p[0] < p[1], p[2], p[3] * p[3]), floor(p[0]) * p[1], stop(p[2])}, {.parameters = p});
  const SparsePattern pattern = program.jacobian_pattern();
  EXPECT_THAT(pattern.row_starts, ElementsAre(0, 2, 3, 3));
  EXPECT_THAT(pattern.column_indices, ElementsAre(2, 3, 1));
}

// A minimum chooses by comparisons, so its Hessian has the variables of each operand alone.
TEST(ASparseHessian, OfASumOfMinimaIsDiagonal) {
  std::vector<Value> centres{1.0, 2.5, 4.0, 5.0};
  Value cost = 0;
  const std::vector<double> places{0.5, 1.25, 2.0, 3.0, 4.75, 6.0, 7.0};
  for (const double place : places) {
    Value closest = pow(centres[0] - place, 2);
    for (std::size_t c = 1; c < centres.size(); ++c) closest = min(closest, pow(centres[c] - place, 2));
    cost += closest;
  }
  Program slope = compile_derivatives(cost, {.parameters = centres});
  EXPECT_THAT(slope.jacobian_pattern().column_indices, ElementsAre(0, 1, 2, 3));
  std::vector<double> diagonal(4);
  slope.sparse_jacobian_at(std::vector{1.0, 2.5, 4.0, 6.0}, diagonal);
  EXPECT_THAT(diagonal, ElementsAre(4, 4, 2, 4));
}

// A chain in which each variable has two neighbours.
Value chain(const std::vector<Value>& x) {
  Value sum = 0;
  for (std::size_t i = 0; i + 1 < x.size(); ++i) sum += pow(x[i + 1] - x[i] * x[i], 2) + exp(0.1 * x[i]);
  return sum;
}

TEST(ASparseHessian, OfAChainHasThreeEntriesPerRow) {
  const std::size_t n = 300;
  std::mt19937 random(1);
  std::vector<Value> x;
  for (const double number : random_point(random, n)) x.emplace_back(number);
  Program slope = compile_derivatives(chain(x), {.parameters = x});
  const SparsePattern pattern = slope.jacobian_pattern();
  EXPECT_EQ(pattern.column_indices.size(), 3 * n - 2);
  const Numbers at = random_point(random, n);
  std::vector<double> entries(pattern.column_indices.size()), dense(n * n);
  slope.sparse_jacobian_at(at, entries);
  slope.jacobian_at(at, dense);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t k = pattern.row_starts[i]; k < pattern.row_starts[i + 1]; ++k)
      EXPECT_NEAR(entries[k], dense[i * n + pattern.column_indices[k]], 1e-13 * (1 + std::abs(entries[k])));
  const std::vector<Numbers> wanted = hessian(chain, at);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j)
      ASSERT_NEAR(dense[i * n + j], wanted[i][j], 1e-12 * (1 + std::abs(wanted[i][j])));
}

TEST(ASparseJacobian, PassesNothingOnFromAGradientOfZero) {
  std::vector<Value> p{0.0, 1.0, 2.0};
  Program program = compile(std::vector{relu(sqrt(p[0]) - 1) * p[2], sqrt(p[0]) * p[1]}, {.parameters = p});
  std::vector<double> entries(4);
  program.sparse_jacobian_at(std::vector{0.0, 1.0, 2.0}, entries);
  EXPECT_THAT(entries, ElementsAre(0, 0, INFINITY, 0));
}

// The edge with the factor 0 is left out, unless an infinite derivative follows. 0 times infinity is NaN in the engine.
TEST(AJacobian, TakesAFactorOfZeroForWhatTheEngineDoes) {
  std::vector<Value> p{1.0, 2.0};
  const Value sum = 0 * p[0] + p[1], zero = 0 * p[0];
  const std::vector<Value> outputs{sqrt(sum), sum * p[0], sqrt(zero) + p[1]};
  Program program = compile(outputs, {.parameters = p});
  std::vector<double> jacobian(6);
  for (const double at : {4.0, 0.0}) {
    const std::vector numbers{1.0, at};
    program.jacobian_at(numbers, jacobian);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      for (std::size_t k = 0; k < 2; ++k) p[k].data() = numbers[k], p[k].grad() = 0;
      recompute(outputs[i]);
      outputs[i].backward();
      for (std::size_t k = 0; k < 2; ++k) {
        const double wanted = std::as_const(p[k]).grad();
        EXPECT_TRUE(jacobian[2 * i + k] == wanted || (std::isnan(wanted) && std::isnan(jacobian[2 * i + k])))
            << i << ", " << k << " at " << at << ": " << jacobian[2 * i + k] << ", wanted " << wanted;
      }
    }
  }
}

TEST(ASparseJacobian, ChecksBranchesAndBuffers) {
  std::vector<Value> p{1.0, 2.0};
  Program program = compile(std::vector{p[0] * p[1], p[1]}, {.parameters = p});
  std::vector<double> entries(2);
  EXPECT_EQ(error_of([&] { program.sparse_jacobian_at(std::vector{1.0, 2.0}, entries); }),
            "Program::sparse_jacobian_at: needs space for 3 derivatives, got space for 2; give one number per entry of "
            "jacobian_pattern()");
  Value w{1.0}, x;
  Program rows = compile(w * x, {.inputs = {x}, .parameters = {w}});
  EXPECT_THAT(error_of([&] { rows.jacobian_pattern(); }), HasSubstr("only a program without inputs"));
}

}  // namespace gradwalk::jacobian_test
