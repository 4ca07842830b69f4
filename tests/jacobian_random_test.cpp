// SPDX-License-Identifier: MIT
// Jacobians and Hessians of random graphs: forward and reverse sweeps, dense and sparse, in both precisions, on every
// instruction set and with several threads, compared with each other, with the engine and with differences.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include "gradwalk/compile.hpp"
#include "gradwalk/derivatives.hpp"
#include "random_function.hpp"
#include "rounded.hpp"
#include "support.hpp"

namespace gradwalk::jacobian_random_test {

using tests::RandomFunction, tests::Rounded, tests::RoundedGraph;

// A matrix, row by row.
using Matrix = std::vector<double>;

// Some options, which differ from seed to seed.
CompileOptions options_of(std::size_t seed) {
  const std::vector<std::string> sets = instruction_sets();
  return {.threads = 1 + seed % 3, .instruction_set = sets[seed / 3 % sets.size()]};
}

// Calls check(matrix, name) with the Jacobian of the outputs at this point as each way computes it. A program with more
// outputs than parameters is differentiated forward, and one with more parameters than outputs in reverse. So constant
// outputs, and parameters that occur nowhere, choose the sweep.
template <class Check> void each_way(const std::vector<Value>& outputs, const std::vector<Value>& x, const Numbers& at,
                                     CompileOptions options, Check check) {
  for (const bool is_forward : {true, false}) {
    std::vector<Value> all_outputs = outputs, all_x = x;
    Numbers all_at = at;
    if (is_forward)
      all_outputs.resize(std::max(outputs.size(), x.size()), Value(1.0));
    else
      while (all_x.size() <= outputs.size()) all_x.emplace_back(1.0), all_at.push_back(1.0);
    options.parameters = all_x;
    Program program = compile(all_outputs, options);
    const std::size_t rows = outputs.size(), columns = all_x.size();
    Matrix dense(all_outputs.size() * columns), jacobian(rows * x.size());
    program.jacobian_at(all_at, dense);
    for (std::size_t i = 0; i < jacobian.size(); ++i) jacobian[i] = dense[i / x.size() * columns + i % x.size()];
    check(jacobian, is_forward ? "forward" : "reverse");
    const SparsePattern pattern = program.jacobian_pattern();
    ASSERT_EQ(pattern.rows, all_outputs.size());
    ASSERT_EQ(pattern.columns, columns);
    Matrix entries(pattern.column_indices.size());
    program.sparse_jacobian_at(all_at, entries);
    std::fill(jacobian.begin(), jacobian.end(), 0.0);
    for (std::size_t row = 0; row < rows; ++row)
      for (std::size_t k = pattern.row_starts[row]; k < pattern.row_starts[row + 1]; ++k)
        jacobian[row * x.size() + pattern.column_indices[k]] = entries[k];
    check(jacobian, is_forward ? "sparse" : "sparse, with more parameters");
  }
}

// ---- functions of every operation ----

// A random function of parameters, the nodes of it that are outputs, and its Jacobian with bounds on its error.
class Subject {
 public:
  Subject(std::size_t seed, Precision precision) : random_(seed) {
    Rounded::precision = precision == Precision::float64 ? &Rounded::float64 : &Rounded::float32;
    const std::size_t parameters = 2 + seed % 23;
    function_ = tests::random_function(random_, 0, parameters, 3 + seed % 61);
    for (std::size_t i = 0; i < 2 + seed % 17; ++i)
      outputs_.push_back(function_.nodes() - 1 - below(function_.nodes()));
  }

  std::vector<Value> outputs(const std::vector<Value>& x) const {
    const std::vector<Value> all = function_.all({}, x);
    std::vector<Value> made;
    for (const std::size_t output : outputs_) made.push_back(all[output]);
    return made;
  }
  const Numbers& point() const { return function_.parameters; }

  // Returns the Jacobian, or nothing if rounding decides one of its entries.
  std::optional<std::vector<Rounded>> jacobian() {
    Rounded::in_doubt = false;
    RoundedGraph graph;
    graph.nodes.resize(function_.leaves());
    for (const RandomFunction::Step& step : function_.steps) graph.nodes.push_back({step.op, {step.a, step.b, step.c}});
    for (const auto* some : {&function_.parameters, &function_.constants})
      for (const double number : *some) graph.values.push_back(Rounded::leaf(number));
    graph.forward(outputs_);
    std::vector<Rounded> all;
    bool is_finite = true;
    for (const std::size_t output : outputs_) {
      graph.backward(output, 1);
      for (std::size_t i = 0; i < function_.parameters.size(); ++i) {
        all.push_back(graph.gradients[i]);
        is_finite &= std::isfinite(all.back().value);
      }
    }
    if (Rounded::in_doubt || !is_finite) return {};
    return all;
  }

 private:
  std::size_t below(std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random_); }

  std::mt19937_64 random_;
  RandomFunction function_;
  std::vector<std::size_t> outputs_;
};

class JacobiansOfRandomFunctions : public testing::TestWithParam<Precision> {};
INSTANTIATE_TEST_SUITE_P(Compile, JacobiansOfRandomFunctions, testing::Values(Precision::float64, Precision::float32));

// A forward sweep adds up the same products as the engine in another order. Where sums cancel, its error can be larger
// than the bound for a backward pass.
TEST_P(JacobiansOfRandomFunctions, EqualTheEnginesByEachSweep) {
  constexpr double other_order = 64;
  std::size_t compared = 0, exact = 0;
  const std::size_t seeds = tests::sized(2000, 200);
  for (std::size_t seed = 0; seed < seeds && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Subject subject(seed, GetParam());
    const auto wanted = subject.jacobian();
    if (!wanted) continue;
    const std::vector<Value> x(subject.point().begin(), subject.point().end());
    CompileOptions options = options_of(seed);
    options.precision = GetParam();
    ++compared;
    each_way(subject.outputs(x), x, subject.point(), options, [&](const Matrix& got, const char* way) {
      for (std::size_t i = 0; i < got.size(); ++i) {
        const Rounded& number = (*wanted)[i];
        const double bound = other_order * Rounded::precision->tolerance * number.error;
        EXPECT_LE(std::abs(got[i] - number.value), bound) << way << ", entry " << i << " of " << number.value;
        exact += bound <= 1e-3 * std::abs(number.value) || number.error == 0 ? 1 : 0;
      }
    });
  }
  EXPECT_GT(compared, seeds / 2);
  EXPECT_GT(exact, compared);
}

// ---- smooth functions with a few kinks ----

// Random outputs of n parameters. Each uses a few of them, by sums, products, functions, choices and long maxima.
std::vector<Value> random_outputs(std::mt19937_64& random, const std::vector<Value>& x, std::size_t count) {
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

Numbers random_point(std::mt19937_64& random, std::size_t n) {
  Numbers x;
  for (std::size_t i = 0; i < n; ++i) x.push_back(std::uniform_real_distribution(-1.0, 1.0)(random));
  return x;
}

void expect_near(const Matrix& got, const std::vector<Numbers>& wanted, double tolerance, const std::string& what) {
  std::size_t i = 0;
  for (const Numbers& row : wanted)
    for (const double number : row) {
      ASSERT_NEAR(got.at(i), number, tolerance * (1 + std::abs(number))) << what << ", entry " << i;
      ++i;
    }
  ASSERT_EQ(i, got.size());
}

// Compares with central differences of two steps, unless these differ: then there is a kink between them.
void expect_near_differences(const Matrix& jacobian, const VectorFunction& function, const Numbers& at) {
  const auto outputs_at = [&](std::size_t j, double shift) {
    Numbers moved = at;
    moved[j] += shift;
    Numbers outputs;
    for (const Value& output : function({moved.begin(), moved.end()})) outputs.push_back(output.data());
    return outputs;
  };
  std::size_t agree = 0;
  for (std::size_t j = 0; j < at.size(); ++j) {
    constexpr double h = 1e-5;
    const Numbers above = outputs_at(j, h), below = outputs_at(j, -h), up = outputs_at(j, h / 2),
                  down = outputs_at(j, -h / 2);
    for (std::size_t i = 0; i < above.size(); ++i) {
      const double wide = (above[i] - below[i]) / (2 * h), narrow = (up[i] - down[i]) / h;
      const double tolerance = 1e-6 * (1 + std::abs(wide));
      if (std::abs(wide - narrow) > tolerance) continue;
      ++agree;
      EXPECT_NEAR(jacobian[i * at.size() + j], narrow, 10 * tolerance) << i << ", " << j;
    }
  }
  EXPECT_GT(agree, jacobian.size() * 9 / 10);
}

TEST(JacobiansOfRandomPrograms, EqualTheEnginesAndDifferences) {
  for (std::size_t seed = 0; seed < tests::sized(200, 30) && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const std::size_t parameters = seed % 2 == 0 ? 5 : 40, outputs = seed % 2 == 0 ? 30 : 4;
    const Numbers at = random_point(random, parameters);
    const VectorFunction function = [&](const std::vector<Value>& x) {
      std::mt19937_64 same(seed);
      return random_outputs(same, x, outputs);
    };
    const std::vector<Value> x(at.begin(), at.end());
    const std::vector<Numbers> wanted = jacobian(function, at);
    each_way(function(x), x, at, options_of(seed), [&](const Matrix& got, const char* way) {
      expect_near(got, wanted, 1e-12, way);
      expect_near_differences(got, function, at);
    });
  }
}

TEST(HessiansOfRandomPrograms, EqualTheEnginesAndDifferences) {
  for (std::size_t seed = 0; seed < tests::sized(200, 30) && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const Numbers at = random_point(random, 3 + seed % 12);
    const ScalarFunction function = [&](const std::vector<Value>& x) {
      std::mt19937_64 same(seed);
      Value sum = 0.0;
      for (const Value& output : random_outputs(same, x, 4)) sum += output * output + sin(output);
      return sum;
    };
    const VectorFunction slope = [&](const std::vector<Value>& x) { return derivatives(function(x), x); };
    const std::vector<Value> x(at.begin(), at.end());
    const std::vector<Numbers> wanted = hessian(function, at);
    CompileOptions options = options_of(seed);
    each_way(slope(x), x, at, options, [&](const Matrix& got, const char* way) {
      expect_near(got, wanted, 1e-10, way);
      expect_near_differences(got, slope, at);
    });
    options.parameters = x;
    Program derivatives = compile_derivatives(function(x), options);
    Matrix dense(at.size() * at.size());
    derivatives.jacobian_at(at, dense);
    expect_near(dense, wanted, 1e-10, "compile_derivatives");
  }
}

// Programs at other points than the one that they were recorded at take other sides of select() and max().
TEST(JacobiansOfRandomPrograms, EqualTheEnginesAtOtherPoints) {
  for (std::size_t seed = 0; seed < tests::sized(100, 20); ++seed) {
    std::mt19937_64 random(seed);
    std::vector<Value> x;
    for (const double number : random_point(random, 6)) x.emplace_back(number);
    const std::vector<Value> outputs = random_outputs(random, x, 20);
    Program program = compile(outputs, {.parameters = x});
    Matrix got(outputs.size() * x.size());
    for (int repeat = 0; repeat < 3; ++repeat) {
      const Numbers at = random_point(random, x.size());
      program.jacobian_at(at, got);
      for (std::size_t k = 0; k < x.size(); ++k) x[k].data() = at[k];
      std::vector<Numbers> wanted;
      for (const Value& output : outputs) {
        recompute(output);
        for (Value& leaf : x) leaf.grad() = 0;
        output.backward();
        Numbers& row = wanted.emplace_back();
        for (const Value& leaf : x) row.push_back(std::as_const(leaf).grad());
      }
      expect_near(got, wanted, 1e-12, "seed " + std::to_string(seed));
    }
  }
}

}  // namespace gradwalk::jacobian_random_test
