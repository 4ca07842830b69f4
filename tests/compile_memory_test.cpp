// SPDX-License-Identifier: MIT
// The memory that programs keep, by their own count and by that of the allocator.
#include <gtest/gtest.h>
#include <malloc.h>

#include "../bench/objectives/gmm.hpp"
#include "gradwalk/compile.hpp"
#include "support.hpp"

namespace gradwalk::compile_memory_test {

double bytes_in_use() {
  const struct mallinfo2 info = mallinfo2();
  return static_cast<double>(info.uordblks + info.hblkhd);
}

// Expects that the program of a graph takes at most 64 bytes per node.
template <class Record>
void expect_small(const Record& recorded, std::vector<Value> inputs, std::vector<Value> parameters) {
  const Value root = recorded();
  // gmm looks for the largest number before a sum of exponentials.
  const CompileOptions options{
      .inputs = std::move(inputs), .parameters = std::move(parameters), .ignore_comparisons = true};
  compile(Value(1.0), {});  // creates what exists once per process
  const double before = bytes_in_use();
  const Program program = compile(root, options);
  const double kept = bytes_in_use() - before;
  const Program::Description about = program.describe();
  const auto nodes = static_cast<double>(about.recorded), bytes = static_cast<double>(about.bytes);
  EXPECT_LE(bytes / nodes, 64) << about.recorded << " nodes";
  if (!tests::sanitized) {
    EXPECT_LE(kept / nodes, 64) << about.recorded << " nodes, by the allocator";
    EXPECT_NEAR(bytes, kept, 0.1 * kept + 16384) << "what describe() says, but for small things";
  }
}

TEST(AProgram, OfMoonsIsSmall) {
  const MLP model(2, {16, 16, 1});
  const std::vector<Value> in(3);
  expect_small([&] { return relu(1 - in[2] * model(std::vector{in[0], in[1]})[0]); }, in, model.parameters());
}

TEST(AProgram, OfALargeNetworkIsSmall) {
  const MLP model(784, {128, 64, 10});
  std::vector<Value> in;
  for (std::size_t i = 0; i < 794; ++i) in.emplace_back(0.5);
  expect_small(
      [&] {
        const std::vector<Value> out = model(std::vector<Value>(in.begin(), in.begin() + 784));
        Value sum = 0;
        for (std::size_t i = 0; i < 10; ++i) sum += pow(out[i] - in[784 + i], 2);
        return sum;
      },
      in, model.parameters());
}

TEST(AProgram, OfAnObjectiveIsSmall) {
  bench::GmmData data{.d = 10, .k = 5, .n = tests::sized(1000, 100)};
  for (std::size_t i = 0; i < data.n * data.d; ++i) data.points.push_back(std::sin(static_cast<double>(i)));
  std::vector<Value> parameters;
  for (std::size_t i = 0; i < data.parameters(); ++i) parameters.emplace_back(std::cos(static_cast<double>(i)) / 2);
  expect_small([&] { return bench::gmm(parameters, data); }, {}, parameters);
}

}  // namespace gradwalk::compile_memory_test
