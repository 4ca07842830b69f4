// SPDX-License-Identifier: MIT
// Random inputs: their numbers on the host, and on a GPU or on fake_cuda.cpp.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "../bench/gpu/simulations.hpp"
#include "gradwalk/gpu.hpp"
#include "support.hpp"

namespace gradwalk::gpu_random_test {

using tests::error_of;

constexpr auto precisions = {Precision::float32, Precision::float64};

std::vector<double> numbers(Distribution distribution, Precision precision, std::uint64_t seed, std::uint64_t row,
                            std::size_t count) {
  std::vector<double> made(count);
  random_numbers(distribution, precision, seed, row, made);
  return made;
}

// The known answer of Philox4x32-10 for a counter and a key of 0.
TEST(RandomNumbers, AreThoseOfPhilox) {
  const std::vector<unsigned> words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
  const std::vector<double> normals = numbers(Distribution::normal, Precision::float32, 0, 0, 4);
  for (const std::size_t i : {0U, 2U}) {
    const double radius = std::sqrt(-2 * std::log((words[i] + 0.5) / 0x1p32));
    const double angle = (words[i + 1] >> 30) * 0x1p-2 + static_cast<int>(words[i + 1] << 2) * 0x1p-34;
    EXPECT_NEAR(normals[i], radius * std::cos(2 * M_PI * angle), 1e-6);
    EXPECT_NEAR(normals[i + 1], radius * std::sin(2 * M_PI * angle), 1e-6);
  }
}

TEST(RandomNumbers, AreDistributedAsTheirNameSays) {
  for (const Precision precision : precisions)
    for (const Distribution distribution : {Distribution::normal, Distribution::uniform}) {
      std::vector<double> moments(5);
      const std::size_t rows = 20000, each = 7;
      for (std::uint64_t row = 0; row < rows; ++row)
        for (const double x : numbers(distribution, precision, 3, row, each))
          for (std::size_t k = 1; k < moments.size(); ++k)
            moments[k] += std::pow(x, static_cast<double>(k)) / static_cast<double>(rows * each);
      const bool is_normal = distribution == Distribution::normal;
      const std::vector<double> wanted =
          is_normal ? std::vector<double>{0, 1, 0, 3} : std::vector{0.5, 1 / 3.0, 0.25, 0.2};
      const double deviation = is_normal ? 10.0 : 0.3;  // of the fourth power, the widest
      for (std::size_t k = 1; k < moments.size(); ++k)
        EXPECT_NEAR(moments[k], wanted[k - 1], 4 * deviation / std::sqrt(static_cast<double>(rows * each))) << k;
    }
}

TEST(RandomNumbers, DifferByRowAndSeedAndBeginAlike) {
  const std::vector<double> first = numbers(Distribution::uniform, Precision::float64, 5, 9, 10);
  EXPECT_THAT(first, testing::Each(testing::AllOf(testing::Gt(0), testing::Lt(1))));
  const std::vector<double> fewer = numbers(Distribution::uniform, Precision::float64, 5, 9, 3);
  EXPECT_TRUE(std::equal(fewer.begin(), fewer.end(), first.begin()));
  EXPECT_NE(numbers(Distribution::uniform, Precision::float64, 6, 9, 10), first);
  EXPECT_NE(numbers(Distribution::uniform, Precision::float64, 5, 10, 10), first);
  EXPECT_NE(numbers(Distribution::uniform, Precision::float64, 5, 9 + (std::uint64_t{1} << 32), 10), first);
  EXPECT_NE(numbers(Distribution::normal, Precision::float64, 5, 9, 10), first);
}

TEST(RandomNumbers, NeedRowsWithoutThem) {
  Value x = 0.0, z = 0.0;
  EXPECT_EQ(error_of([&] { emit_cuda(x * z, {.inputs = {x}, .input_gradients = true, .normals = {z}}); }),
            "emit_cuda: needs inputs of the rows alone for input gradients, got random inputs; leave out "
            ".input_gradients, or give the numbers in the rows");
  EXPECT_NE(error_of([&] { emit_cuda(x * z, {.inputs = {x, z}, .normals = {z}}); }), "no error");
  const CudaSource source = emit_cuda(x * z, {.inputs = {x}, .uniforms = {z}});
  EXPECT_EQ(source.inputs, 1);
  EXPECT_EQ(source.uniforms, 1);
}

class OnAGpuRandom : public testing::Test {
 protected:
  void SetUp() override {
    if (gpu::devices().empty()) GTEST_SKIP() << "this machine has no GPU";
  }
};

TEST_F(OnAGpuRandom, GivesTheNumbersOfTheHost) {
  constexpr std::size_t count = 40;
  const Value x = 0.0;
  const std::vector<Value> normals(7), uniforms(5);
  std::vector<Value> outputs{x * 1.0};
  for (const Value& one : normals) outputs.push_back(one * 1.0);
  for (const Value& one : uniforms) outputs.push_back(one * 1.0);
  std::vector<double> rows(count);
  for (std::size_t i = 0; i < count; ++i) rows[i] = static_cast<double>(i) / 8;
  for (const Precision precision : precisions) {
    gpu::Program program =
        gpu::compile(outputs, {.inputs = {x}, .precision = precision, .normals = normals, .uniforms = uniforms});
    std::vector<double> found(count * outputs.size());
    program.evaluate(gpu::DeviceRows(rows, 1, precision), found, 77);
    for (std::size_t r = 0; r < count; ++r) {
      std::vector<double> wanted{rows[r]};
      for (const double one : numbers(Distribution::normal, precision, 77, r, normals.size())) wanted.push_back(one);
      for (const double one : numbers(Distribution::uniform, precision, 77, r, uniforms.size())) wanted.push_back(one);
      const auto begin = found.begin() + static_cast<std::ptrdiff_t>(r * outputs.size());
      EXPECT_EQ(std::vector(begin, begin + static_cast<std::ptrdiff_t>(outputs.size())), wanted) << r;
    }
  }
}

// The rows of a seed, as a program without random inputs takes them.
std::vector<double> rows_of(const std::vector<Value>& normals, Precision precision, std::uint64_t seed,
                            std::size_t first, std::size_t count) {
  std::vector<double> made;
  for (std::size_t r = first; r < first + count; ++r)
    for (const double one : numbers(Distribution::normal, precision, seed, r, normals.size())) made.push_back(one);
  return made;
}

TEST_F(OnAGpuRandom, SimulationsGiveTheBitsOfTheSameNumbersInRows) {
  constexpr std::size_t count = 70;
  for (const int steps : {13, 20})
    for (const CudaOptions::Derivatives derivatives :
         {CudaOptions::Derivatives::tangents, CudaOptions::Derivatives::reverse}) {
      const Precision precision = steps == 13 ? Precision::float32 : Precision::float64;
      const simulations::Recorded graph = simulations::heston(steps);
      gpu::Program of_rows = gpu::compile(
          graph.loss,
          {.inputs = graph.inputs, .parameters = graph.parameters, .precision = precision, .derivatives = derivatives});
      gpu::Program random = gpu::compile(graph.loss, {.parameters = graph.parameters,
                                                      .precision = precision,
                                                      .derivatives = derivatives,
                                                      .normals = graph.inputs});
      EXPECT_EQ(random.source().about, of_rows.source().about);
      EXPECT_THAT(random.source().about, testing::HasSubstr("a loop of"));
      std::vector<double> wanted(6), found(6);
      const std::vector<double> rows = rows_of(graph.inputs, precision, 5, 0, count);
      const double sum = of_rows.gradients(gpu::DeviceRows(rows, graph.inputs.size(), precision), wanted);
      const gpu::DeviceRows none = gpu::DeviceRows::without_numbers(count, precision);
      EXPECT_EQ(random.gradients(none, found, {.seed = 5}), sum);
      EXPECT_EQ(found, wanted);
      EXPECT_NE(random.gradients(none, found, {.seed = 6}), sum);
    }
}

// A loop whose first rounds read the rows, and whose last rounds read random inputs.
TEST_F(OnAGpuRandom, LoopsCanReadInputsOfSeveralKinds) {
  std::vector<Value> inputs(16);
  const Value p = 0.5;
  Value x = 0.0;
  for (const Value& input : inputs) x = x + tanh(p * x + input) * 0.25;
  const std::vector<Value> first(inputs.begin(), inputs.begin() + 5), second(inputs.begin() + 5, inputs.begin() + 11),
      third(inputs.begin() + 11, inputs.end());
  gpu::Program random = gpu::compile(
      x, {.inputs = first, .parameters = {p}, .precision = Precision::float64, .normals = second, .uniforms = third});
  Program on_cpu = compile(x, {.inputs = inputs, .parameters = {p}});
  std::vector<double> rows, all, wanted(1), found(1);
  for (std::size_t r = 0; r < 3; ++r) {
    for (std::size_t i = 0; i < first.size(); ++i) rows.push_back(static_cast<double>(r + i) / 4);
    all.insert(all.end(), rows.end() - static_cast<std::ptrdiff_t>(first.size()), rows.end());
    for (const double one : numbers(Distribution::normal, Precision::float64, 1, r, second.size())) all.push_back(one);
    for (const double one : numbers(Distribution::uniform, Precision::float64, 1, r, third.size())) all.push_back(one);
  }
  const double sum = on_cpu.gradients(all, wanted);
  const gpu::DeviceRows on_device(rows, first.size(), Precision::float64);
  EXPECT_NEAR(random.gradients(on_device, found, {.seed = 1}), sum, 1e-12);
  EXPECT_NEAR(found[0], wanted[0], 1e-12);
}

TEST_F(OnAGpuRandom, StepsOfATrainerHaveOtherNumbersEach) {
  const Value p = 0.5, z = 0.0;
  const Value loss = pow(p - z, 2.0);
  const std::vector<Value> normals{z};
  gpu::Trainer trainer(gpu::compile(loss, {.parameters = {p}, .precision = Precision::float64, .normals = normals}),
                       SGD{.lr = 0.01});
  Trainer on_cpu(compile(loss, {.inputs = normals, .parameters = {p}}), SGD{.lr = 0.01});
  const gpu::DeviceRows rows = gpu::DeviceRows::without_numbers(100, Precision::float64);
  double wanted = 0;
  for (std::uint64_t step = 0; step < 6; ++step) {
    const std::size_t first = step % 2 * 64;
    wanted = on_cpu.step(rows_of(normals, Precision::float64, 9 + step, first, first == 0 ? 64 : 36));
  }
  trainer.make_steps(rows, 2, {.batch = 64, .seed = 9});
  EXPECT_NEAR(trainer.make_steps(rows, 4, {.batch = 64, .seed = 9}), wanted, 1e-11);
}

}  // namespace gradwalk::gpu_random_test
