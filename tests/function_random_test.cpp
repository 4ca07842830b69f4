// SPDX-License-Identifier: MIT
// Random functions with control flow of their own: every row of a Function has the value and the gradients that the
// engine computes for it, whichever path it takes. GRADWALK_SEED=n runs only that seed; GRADWALK_LONG runs many more.
//
// A number that differs from the engine's by more than 1e-7 is compared once more, with the bound on the rounding error
// of its row that rounded.hpp computes. Rows for which that bound is larger than 1e-7, or on which rounding decides a
// comparison, are counted; there must be few of them.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <iostream>
#include <limits>
#include <random>

#include "branching_function.hpp"
#include "gradwalk/function.hpp"
#include "gradwalk/reading.hpp"
#include "rounded.hpp"
#include "support.hpp"

namespace gradwalk {
namespace {

constexpr std::size_t row_inputs = 3, leaf_count = 3;

struct EngineRows {
  std::vector<double> outputs, input_gradients;
  std::vector<std::vector<double>> gradients;  // of each row
  std::vector<bool> is_close;                  // a comparison was so close that rounding may decide it
};

EngineRows engine_rows(const RowOutputs& function, std::vector<Value>& leaves, const std::vector<double>& rows) {
  EngineRows made;
  for (std::size_t row = 0; row < rows.size() / row_inputs; ++row) {
    std::vector<Value> x(rows.begin() + static_cast<std::ptrdiff_t>(row * row_inputs),
                         rows.begin() + static_cast<std::ptrdiff_t>((row + 1) * row_inputs));
    bool is_close = false;
    std::vector<Value> outputs;
    {
      const WatchRecording watch(
          [&](const Condition& condition) {
            const std::vector<Value> operands = Value(condition).inputs();
            const double a = operands[0].data(), b = operands[1].data();
            is_close = is_close ||
                       (std::abs(a - b) <= 1e-9 * (std::abs(a) + std::abs(b)) && !same_node(operands[0], operands[1]));
          },
          {});
      outputs = function(x);
    }
    for (Value& leaf : leaves) leaf.grad() = 0;
    (outputs[0] * 1.0).backward();
    for (const Value& output : outputs) made.outputs.push_back(output.data());
    for (const Value& leaf : x) made.input_gradients.push_back(leaf.grad());
    std::vector<double>& gradient = made.gradients.emplace_back();
    for (Value& leaf : leaves) gradient.push_back(std::exchange(leaf.grad(), 0.0));
    made.is_close.push_back(is_close);
  }
  return made;
}

bool are_near(double got, double want) {
  if (std::isnan(want) || std::isinf(want))
    return std::isnan(got) == std::isnan(want) && (std::isnan(want) || got == want);
  return std::abs(got - want) <= 1e-7 * (1 + std::abs(want));
}

// The results of one row with bounds on their rounding errors.
struct BoundedRow {
  std::vector<tests::Rounded> outputs, input_gradients, gradient;
  bool is_in_doubt = false;  // rounding decides a comparison or whether a number is finite
};

BoundedRow bounded_row(const RowOutputs& function, const std::vector<Value>& leaves, std::span<const double> row) {
  const std::vector<Value> x(row.begin(), row.end());
  std::vector<Value> roots;
  std::vector<Condition> decided;
  {
    const WatchRecording watch([&](const Condition& condition) { decided.push_back(condition); }, {});
    roots = function(x);
  }
  const std::size_t outputs = roots.size();
  for (const Condition& condition : decided) roots.emplace_back(condition);
  const Reading reading(roots);
  const Listing listing = reading.list();
  tests::RoundedGraph graph;
  const std::size_t numbers = listing.numbers.size();
  const auto place = [&](std::uint32_t listed) -> std::size_t {
    return (listed & Listing::number) != 0 ? listed - Listing::number : numbers + listed;
  };
  graph.nodes.resize(numbers + listing.nodes.size());
  graph.values.assign(listing.numbers.begin(), listing.numbers.end());
  graph.values.resize(graph.nodes.size());
  for (std::size_t i = 0; i < listing.leaves; ++i) graph.values[numbers + i] = tests::Rounded::leaf(reading.data(i));
  for (std::size_t i = listing.leaves; i < listing.nodes.size(); ++i) {
    tests::RoundedGraph::Node& node = graph.nodes[numbers + i];
    node.op = listing.nodes[i].op;
    for (std::size_t k = 0; k < 3; ++k)
      if (listing.nodes[i].operands[k] != Listing::none) node.operands[k] = place(listing.nodes[i].operands[k]);
  }
  std::vector<std::size_t> places;
  for (const std::uint32_t root : listing.roots) places.push_back(place(root));
  tests::Rounded::in_doubt = false;
  graph.forward(places);
  graph.backward(places[0], 1);
  BoundedRow made;
  for (std::size_t i = 0; i < outputs; ++i) made.outputs.push_back(graph.values[places[i]]);
  const auto gradient_of = [&](const Value& leaf) {
    const auto found = reading.find(leaf);
    return found ? graph.gradients[numbers + *found] : tests::Rounded(0);
  };
  for (const Value& leaf : x) made.input_gradients.push_back(gradient_of(leaf));
  for (const Value& leaf : leaves) made.gradient.push_back(gradient_of(leaf));
  made.is_in_doubt = tests::Rounded::in_doubt;
  return made;
}

struct BranchTotals {
  std::size_t rows = 0, compiled = 0, close = 0, ill_conditioned = 0, paths = 0, programs = 0;
};

// Compares the numbers of one row. Returns false for a row that is right only within the bound on its rounding error.
bool compare_row(const RowOutputs& function, const std::vector<Value>& leaves, std::span<const double> row,
                 std::span<const double> outputs, std::span<const double> want_outputs,
                 std::span<const double> gradients, std::span<const double> want_gradients, double weight) {
  bool are_all_near = true;
  for (std::size_t i = 0; i < outputs.size(); ++i) are_all_near = are_all_near && are_near(outputs[i], want_outputs[i]);
  for (std::size_t i = 0; i < gradients.size(); ++i)
    are_all_near = are_all_near && are_near(gradients[i], weight * want_gradients[i]);
  if (are_all_near) return true;
  const BoundedRow bounds = bounded_row(function, leaves, row);
  if (bounds.is_in_doubt) return false;
  for (std::size_t i = 0; i < outputs.size(); ++i)
    EXPECT_TRUE(are_near(outputs[i], want_outputs[i]) || bounds.outputs[i].allows(outputs[i]))
        << "output " << i << ": " << outputs[i] << ", not " << want_outputs[i];
  for (std::size_t i = 0; i < gradients.size(); ++i)
    EXPECT_TRUE(are_near(gradients[i], weight * want_gradients[i]) ||
                (bounds.input_gradients[i] * weight).allows(gradients[i]))
        << "input gradient " << i << ": " << gradients[i] << ", not " << weight * want_gradients[i];
  return false;
}

// The largest error that rounding can cause in each component of the gradient of all rows.
std::vector<double> gradient_bounds(const RowOutputs& function, const std::vector<Value>& leaves,
                                    std::span<const double> rows, std::span<const double> weights) {
  std::vector<double> bounds(leaves.size());
  for (std::size_t row = 0; row < rows.size() / row_inputs; ++row) {
    const BoundedRow bounded = bounded_row(function, leaves, rows.subspan(row * row_inputs, row_inputs));
    for (std::size_t i = 0; i < bounds.size(); ++i)
      bounds[i] += bounded.is_in_doubt ? std::numeric_limits<double>::infinity()
                                       : tests::Rounded::precision->tolerance *
                                             std::abs(weights.empty() ? 1 : weights[row]) * bounded.gradient[i].error;
  }
  return bounds;
}

void compare_rows(std::uint64_t seed, BranchTotals& totals) {
  SCOPED_TRACE("GRADWALK_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> between(-2, 2);
  const std::size_t outputs = 1 + random() % 2, rows = 8 + random() % 60;
  const tests::BranchingFunction made(random, outputs);
  std::vector<Value> leaves;
  for (std::size_t i = 0; i < leaf_count; ++i) leaves.emplace_back(between(random));
  const RowOutputs function = [&](const std::vector<Value>& x) { return made(x, leaves); };
  Function compiled(function, {.inputs = row_inputs,
                               .parameters = leaves,
                               .compile_after = 1 + random() % 4,
                               .max_programs = random() % 4 == 0 ? 3u : 256u});
  std::vector<double> numbers(rows * row_inputs), weights(rows), gradient(leaf_count), got(rows * outputs),
      input_gradients(rows * row_inputs);
  for (double& number : numbers) number = between(random);
  for (double& weight : weights) weight = 1 + between(random);
  for (int call = 0; call < 3; ++call) {
    if (call == 2)  // other numbers on remembered paths
      for (double& number : numbers) number += 0.1 * between(random);
    if (call == 1) leaves[0].data() += 0.05;
    const EngineRows want = engine_rows(function, leaves, numbers);
    const bool is_plain = call == 1;
    const double sum = compiled.gradients(
        numbers, gradient,
        {.weights = is_plain ? std::span<double>{} : weights, .input_gradients = input_gradients, .outputs = got});
    double want_sum = 0;
    std::vector<double> want_gradient(leaf_count);
    bool are_all_compared = true;
    for (std::size_t row = 0; row < rows; ++row) {
      const double weight = is_plain ? 1 : weights[row];
      want_sum += weight * want.outputs[row * outputs];
      for (std::size_t i = 0; i < leaf_count; ++i) want_gradient[i] += weight * want.gradients[row][i];
      if (want.is_close[row]) {
        ++totals.close;
        are_all_compared = false;
      } else if (!compare_row(function, leaves, std::span(numbers).subspan(row * row_inputs, row_inputs),
                              std::span(got).subspan(row * outputs, outputs),
                              std::span(want.outputs).subspan(row * outputs, outputs),
                              std::span(input_gradients).subspan(row * row_inputs, row_inputs),
                              std::span(want.input_gradients).subspan(row * row_inputs, row_inputs), weight)) {
        ASSERT_FALSE(testing::Test::HasFailure()) << "row " << row << ", call " << call;
        ++totals.ill_conditioned;
        are_all_compared = false;
      }
    }
    totals.rows += rows;
    if (!are_all_compared) continue;
    ASSERT_PRED2(are_near, sum, want_sum);
    for (std::size_t i = 0; i < leaf_count; ++i) {
      if (are_near(gradient[i], want_gradient[i])) continue;
      const double bound =
          gradient_bounds(function, leaves, numbers, is_plain ? std::span<double>{} : std::span(weights))[i];
      ASSERT_LE(std::abs(gradient[i] - want_gradient[i]), bound) << "gradient " << i << ", call " << call;
      ++totals.ill_conditioned;
    }
    std::vector<double> evaluated(rows * outputs);
    compiled.evaluate(numbers, evaluated);
    for (std::size_t i = 0; i < evaluated.size(); ++i) ASSERT_PRED2(are_near, evaluated[i], want.outputs[i]);
  }
  const Function::Description description = compiled.describe();
  totals.compiled += description.compiled_rows;
  totals.paths += description.paths;
  totals.programs += description.programs;
}

TEST(RandomBranchingFunctions, HaveTheNumbersOfTheEngineForEveryRow) {
  BranchTotals totals;
  if (const char* seed = std::getenv("GRADWALK_SEED")) return compare_rows(std::strtoull(seed, nullptr, 10), totals);
  const std::uint64_t count = tests::long_run() ? 100'000 : tests::sized(2'000, 100);
  for (std::uint64_t seed = 1; seed <= count && !HasFailure(); ++seed) compare_rows(seed, totals);
  if (HasFailure()) return;
  EXPECT_GT(totals.compiled, totals.rows / 2);
  EXPECT_GT(totals.programs, count);
  EXPECT_LT(totals.close, totals.rows / 100);
  EXPECT_LT(totals.ill_conditioned, totals.rows / 10'000 + 1);
  std::cout << totals.rows << " rows; left out: " << totals.close << " with a comparison that is nearly equal, "
            << totals.ill_conditioned << " ill-conditioned\n";
}

}  // namespace
}  // namespace gradwalk
