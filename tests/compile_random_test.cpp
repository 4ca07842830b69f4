// SPDX-License-Identifier: MIT
// Compares compiled programs with the engine on 2,000 random graphs, in both precisions, with moderate numbers and with
// numbers of all magnitudes. Each graph gets one batch size, one instruction set and one number of threads, so that
// each combination occurs many times.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "gradwalk/compile.hpp"
#include "random_subject.hpp"
#include "support.hpp"

namespace gradwalk::compile_random_test {

using tests::Compared, tests::Magnitudes, tests::Results, tests::Rounded, tests::Subject;

Results<double> run(const Subject& subject, Program program, const std::vector<double>& rows,
                    const std::vector<double>& weights) {
  Results<double> all;
  all.gradient.resize(subject.function().parameters.size());
  if (program.inputs() == 0) {
    all.sum = program.gradients(all.gradient);
    all.outputs.resize(subject.outputs());
    program.evaluate(all.outputs);
    return all;
  }
  all.inputs.resize(rows.size());
  all.outputs.resize(rows.size() / program.inputs() * subject.outputs());
  all.sum = program.gradients(rows, all.gradient,
                              {.weights = weights, .input_gradients = all.inputs, .outputs = all.outputs});
  std::vector<double> again(all.outputs.size());
  program.evaluate(rows, again);
  EXPECT_EQ(again, all.outputs);
  return all;
}

bool same_bits(const std::vector<double>& x, const std::vector<double>& y) {
  return x.size() == y.size() && (x.empty() || std::memcmp(x.data(), y.data(), x.size() * sizeof(double)) == 0);
}

constexpr std::size_t shards = 10;

// Compares the graphs of a shard. Returns the part of the seeds that gave a graph whose results are not in doubt.
double compare_graphs(Precision precision, Magnitudes magnitudes, std::size_t shard) {
  const std::size_t batches[]{0, 1, 7, 8, 9, 63, 64, 65, 1000}, threads[]{2, 3, 8};
  const std::vector<std::string> sets = instruction_sets();
  const std::size_t wanted_graphs = tests::sized(2000, 200) / shards;
  std::size_t graphs = 0, seed = shard;
  Compared compared;
  for (; graphs < wanted_graphs && !testing::Test::HasFailure(); seed += shards) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Subject subject(seed, precision, magnitudes);
    const std::size_t batch = subject.function().inputs.empty() ? 1 : batches[graphs % 9];
    if (!subject.find_rows(batch)) continue;
    const std::string& set = sets[(graphs / 9 + shard) % sets.size()];
    const std::size_t number = threads[graphs / 9 % 3];
    ++graphs;

    std::vector<double> weights(seed % 2 == 0 && !subject.function().inputs.empty() ? batch : 0);
    for (std::size_t r = 0; r < weights.size(); ++r) weights[r] = std::cos(static_cast<double>(r));
    const std::vector<double> rows = subject.rows();
    const Results<double> got = run(subject, subject.compiled(1, set), rows, weights);
    const Results<Rounded> wanted = subject.wanted(weights);
    compared.expect(got.sum, wanted.sum, "sum");
    compared.expect(got.gradient, wanted.gradient, "gradient");
    compared.expect(got.inputs, wanted.inputs, "input gradient");
    compared.expect(got.outputs, wanted.outputs, "output");

    const Results<double> others = run(subject, subject.compiled(number, set), rows, weights);
    EXPECT_TRUE(same_bits({got.sum}, {others.sum}))
        << got.sum << " and " << others.sum << " by " << number << " threads";
    EXPECT_TRUE(same_bits(got.gradient, others.gradient) && same_bits(got.inputs, others.inputs) &&
                same_bits(got.outputs, others.outputs))
        << "other bits by " << number << " threads";
  }
  EXPECT_GT(compared.closely, compared.all / 2);
  return static_cast<double>(graphs + 1) / static_cast<double>(seed / shards + 1);
}

class RandomGraphs : public testing::TestWithParam<std::tuple<Precision, std::size_t>> {};

TEST_P(RandomGraphs, AgreeWithTheEngineForAnyBatchInstructionSetAndThreads) {
  const auto [precision, shard] = GetParam();
  EXPECT_GT(compare_graphs(precision, Magnitudes::moderate, shard), 0.75) << "too many were left out";
}

// Magnitudes are up to 1e300 and down to 1e-300, in float32 1e35 and 1e-35.
TEST_P(RandomGraphs, AgreeWithTheEngineAtAllMagnitudes) {
  const auto [precision, shard] = GetParam();
  EXPECT_GT(compare_graphs(precision, Magnitudes::all, shard), 0.25) << "too many were left out";
}

std::string graphs_name(const testing::TestParamInfo<std::tuple<Precision, std::size_t>>& info) {
  const auto [precision, shard] = info.param;
  return (precision == Precision::float64 ? "float64_" : "float32_") + std::to_string(shard);
}
INSTANTIATE_TEST_SUITE_P(Compile, RandomGraphs,
                         testing::Combine(testing::Values(Precision::float64, Precision::float32),
                                          testing::Range<std::size_t>(0, shards)),
                         graphs_name);

}  // namespace gradwalk::compile_random_test
