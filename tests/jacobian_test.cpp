// SPDX-License-Identifier: MIT
// Jacobians by forward and reverse sweeps over all directions at once, their sparsity patterns, and sparse Hessians.
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

// Random outputs of n parameters. Each uses a few of them, by sums, products, functions, choices and long maxima.
std::vector<Value> random_outputs(std::mt19937& random, const std::vector<Value>& x, std::size_t count) {
  const auto below = [&](std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random); };
  std::vector<Value> nodes(x);
  for (std::size_t i = 0; i < 3 * count; ++i) {
    const Value a = nodes[below(nodes.size())], b = nodes[below(nodes.size())], c = nodes[below(nodes.size())];
    switch (below(8)) {
      case 0: nodes.push_back(a * b + 0.5 * c); break;
      case 1: nodes.push_back(tanh(a - 2 * b)); break;
      case 2: nodes.push_back(a / (1 + b * b)); break;
      case 3: nodes.push_back(select(a < b, a * c, sin(b))); break;
      case 4: nodes.push_back(max(a, b) + min(b, c)); break;
      case 5: nodes.push_back(atan2(a, 2 + b * b) * c); break;
      case 6: {
        Value most = a;
        for (std::size_t k = 0; k < 10; ++k) most = max(most, nodes[below(nodes.size())]);
        nodes.push_back(most);
        break;
      }
      default: nodes.push_back(pow(1 + a * a, b * 0.1) - relu(c)); break;
    }
    nodes.back() = tanh(nodes.back());
  }
  std::vector<Value> outputs;
  for (std::size_t i = 0; i < count; ++i) outputs.push_back(nodes[nodes.size() - 1 - below(2 * count)]);
  return outputs;
}

Numbers random_point(std::mt19937& random, std::size_t n) {
  Numbers x;
  for (std::size_t i = 0; i < n; ++i) x.push_back(std::uniform_real_distribution(-1.0, 1.0)(random));
  return x;
}

// The rows of the engine's Jacobian, one backward pass each.
std::vector<Numbers> by_the_engine(const std::vector<Value>& outputs, std::vector<Value>& x, const Numbers& at) {
  for (std::size_t i = 0; i < x.size(); ++i) x[i].data() = at[i];
  std::vector<Numbers> rows;
  for (const Value& output : outputs) {
    recompute(output);
    for (Value& leaf : x) leaf.grad() = 0;
    output.backward();
    Numbers& row = rows.emplace_back();
    for (const Value& leaf : x) row.push_back(std::as_const(leaf).grad());
  }
  return rows;
}

void expect_equal_to_the_engine(std::size_t outputs, std::size_t parameters, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Value> x;
  for (const double number : random_point(random, parameters)) x.emplace_back(number);
  const std::vector<Value> made = random_outputs(random, x, outputs);
  Program program = compile(made, {.parameters = x});
  const SparsePattern pattern = program.jacobian_pattern();
  ASSERT_EQ(pattern.rows, outputs);
  ASSERT_EQ(pattern.columns, parameters);
  std::vector<double> dense(outputs * parameters), sparse(pattern.column_indices.size());
  for (int repeat = 0; repeat < 3; ++repeat) {
    const Numbers at = random_point(random, parameters);
    const std::vector<Numbers> wanted = by_the_engine(made, x, at);
    program.jacobian_at(at, dense);
    program.sparse_jacobian_at(at, sparse);
    std::size_t next = 0;
    for (std::size_t i = 0; i < outputs; ++i) {
      EXPECT_EQ(pattern.row_starts[i], next);
      for (std::size_t j = 0; j < parameters; ++j) {
        const double tolerance = 1e-12 * (1 + std::abs(wanted[i][j]));
        ASSERT_NEAR(dense[i * parameters + j], wanted[i][j], tolerance) << seed << ": " << i << ", " << j;
        if (next < pattern.row_starts[i + 1] && pattern.column_indices[next] == j)
          ASSERT_NEAR(sparse[next++], wanted[i][j], tolerance) << seed << ": " << i << ", " << j;
        else
          ASSERT_EQ(wanted[i][j], 0) << "an entry that the pattern does not have";
      }
    }
    EXPECT_EQ(next, sparse.size());
  }
}

TEST(JacobiansOfRandomPrograms, EqualTheEnginesByForwardSweeps) {
  for (unsigned seed = 0; seed < tests::sized(100, 20); ++seed) expect_equal_to_the_engine(30, 5, seed);
}
TEST(JacobiansOfRandomPrograms, EqualTheEnginesByReverseSweeps) {
  for (unsigned seed = 0; seed < tests::sized(100, 20); ++seed) expect_equal_to_the_engine(4, 40, seed);
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
