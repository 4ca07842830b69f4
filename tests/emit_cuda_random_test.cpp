// SPDX-License-Identifier: MIT
// Compares emitted CUDA text, run on the CPU, with the engine on 500 random graphs, in both precisions and modes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cuda_text.hpp"
#include "random_subject.hpp"
#include "support.hpp"

namespace gradwalk::emit_cuda_random_test {

using tests::Compared, tests::Results, tests::Rounded, tests::Shimmed, tests::Subject;

constexpr std::size_t shards = 10, stride = 11;  // every fifth random function has no inputs

class RandomGraphsAsCuda : public testing::TestWithParam<std::size_t> {
 protected:
  void compare(CudaOptions::Rows divided);
};

void RandomGraphsAsCuda::compare(CudaOptions::Rows divided) {
  const bool by_blocks = divided == CudaOptions::Rows::by_blocks;
  const std::size_t shard = GetParam();
  const std::size_t wanted_graphs = (by_blocks ? tests::sized(200, 20) : tests::sized(500, 40)) / shards;
  const Precision precision = shard % 2 == 0 ? Precision::float64 : Precision::float32;
  std::vector<Subject> subjects;
  std::vector<Shimmed> texts;
  std::vector<CudaSource> sources;
  for (std::size_t seed = shard; texts.size() < wanted_graphs; seed += stride) {
    Subject& subject = subjects.emplace_back(seed, precision);
    const std::size_t rows = seed % 7 == 0 ? 150 : 3;
    if (subject.function().inputs.empty() || !subject.find_rows(rows)) {
      subjects.pop_back();
      continue;
    }
    const Subject::Recorded graph = subject.recorded();
    const CudaOptions options{.name = "g" + std::to_string(seed),
                              .inputs = graph.inputs,
                              .parameters = graph.parameters,
                              .precision = precision,
                              .exact = seed % 4 < 2,
                              .input_gradients = seed / stride % 2 == 0,
                              .guard_zeros = true,
                              .rows = divided};
    try {
      sources.push_back(emit_cuda(graph.outputs, options));
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr("needs a first output that depends on the inputs"));
      EXPECT_TRUE(by_blocks);
      subjects.pop_back();
      continue;
    }
    texts.push_back(tests::shimmed(sources.back(), subject.function().parameters, subject.rows()));
  }
  const std::vector<double> numbers = tests::run_on_shim(texts);
  Compared compared;
  std::size_t at = 0;
  for (std::size_t i = 0; i < texts.size() && !HasFailure(); ++i) {
    SCOPED_TRACE(sources[i].name + ": " + sources[i].about);
    const Results<Rounded> wanted = subjects[i].wanted({});
    const auto next = [&](const Rounded& one, const char* what) {
      ASSERT_LT(at, numbers.size());
      compared.expect(numbers[at++], one, what);
    };
    next(wanted.sum, "sum");
    for (const Rounded& one : wanted.gradient) next(one, "gradient");
    if (sources[i].has_input_gradients)
      for (const Rounded& one : wanted.inputs) next(one, "input gradient");
    for (const char* what : {"output", "output of NAME_values"})
      for (const Rounded& one : wanted.outputs) next(one, what);
  }
  EXPECT_EQ(at, numbers.size());
  EXPECT_GT(compared.closely, compared.all / 2);
}

TEST_P(RandomGraphsAsCuda, GiveTheNumbersOfTheEngine) { compare(CudaOptions::Rows::automatic); }
TEST_P(RandomGraphsAsCuda, GiveTheNumbersOfTheEngineByBlocks) { compare(CudaOptions::Rows::by_blocks); }
INSTANTIATE_TEST_SUITE_P(EmitCuda, RandomGraphsAsCuda, testing::Range<std::size_t>(0, shards));

}  // namespace gradwalk::emit_cuda_random_test
