// SPDX-License-Identifier: MIT
// Networks with more weights than one thread can read, on a GPU or on fake_cuda.cpp, against programs of compile().
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "gradwalk/gpu.hpp"
#include "support.hpp"

namespace gradwalk::gpu_layers_test {

using testing::HasSubstr;
using tests::error_of;

constexpr auto precisions = {Precision::float32, Precision::float64};

enum class Last { hinge, softmax, squares };

// A network with hidden layers of relu or tanh. The outputs are the loss, then the scores.
struct Network {
  std::vector<Value> inputs, parameters, outputs;
  std::size_t features = 0;

  Network(const std::vector<std::size_t>& widths, Last last, bool is_smooth = false) : features(widths[0]) {
    std::mt19937 random(static_cast<unsigned>(widths.size() * 100 + widths[1]));
    const auto number = [&] { return static_cast<double>(random() % 2001) / 1000 - 1; };
    inputs.resize(features + (last == Last::softmax ? widths.back() : 1));
    std::vector<Value> x(inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(features));
    for (std::size_t n = 1; n < widths.size(); ++n) {
      std::vector<Value> next;
      const double scale = 1 / std::sqrt(static_cast<double>(x.size()));
      for (std::size_t i = 0; i < widths[n]; ++i) {
        Value sum = parameters.emplace_back(0.1 * number());
        for (const Value& one : x) sum = sum + parameters.emplace_back(scale * number()) * one;
        next.push_back(n + 1 == widths.size() ? sum : is_smooth ? tanh(sum) : relu(sum));
      }
      x = std::move(next);
    }
    Value loss = 0.0;
    if (last == Last::hinge) loss = relu(1.0 - inputs.back() * x[0]);
    if (last == Last::squares) loss = pow(x[0] - inputs.back(), 2.0);
    if (last == Last::softmax) {
      Value sum = 0.0, wanted = 0.0;
      for (std::size_t i = 0; i < x.size(); ++i) sum = sum + exp(x[i]), wanted = wanted + inputs[features + i] * x[i];
      loss = log(sum) - wanted;
    }
    outputs = x;
    outputs.insert(outputs.begin(), loss);
  }

  std::vector<double> rows(std::size_t count) const {
    std::vector<double> made;
    for (std::size_t r = 0; r < count; ++r) {
      for (std::size_t i = 0; i < features; ++i)
        made.push_back(static_cast<double>((r * 37 + i * 61 + r * i) % 101) / 50 - 1);
      const std::size_t targets = inputs.size() - features;
      for (std::size_t i = 0; i < targets; ++i)
        made.push_back(targets > 1 ? (r % targets == i ? 1 : 0) : (r % 3 == 0 ? 1 : -1));
    }
    return made;
  }
  gpu::Program on_gpu(Precision precision, bool input_gradients = false) const {
    return gpu::compile(
        outputs,
        {.inputs = inputs, .parameters = parameters, .precision = precision, .input_gradients = input_gradients});
  }
  Program on_cpu() const { return compile(outputs, {.inputs = inputs, .parameters = parameters}); }
};

// Compares numbers by the largest of them.
void expect_near(std::span<const double> got, std::span<const double> wanted, double tolerance, const char* what) {
  double largest = 1e-300, worst = 0;
  for (const double one : wanted) largest = std::max(largest, std::abs(one));
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) worst = std::max(worst, std::abs(got[i] - wanted[i]));
  EXPECT_LE(worst, tolerance * largest) << what;
}

// Sum, gradient, gradients of inputs, outputs of a run and of evaluate().
void expect_like_cpu(const Network& network, Precision precision, std::size_t count, const char* memory) {
  SCOPED_TRACE(std::to_string(count) + " rows");
  const double tolerance = precision == Precision::float64 ? 1e-13 : 1e-5;
  const std::vector<double> rows = network.rows(count);
  const std::size_t parameters = network.parameters.size(), each = network.outputs.size();
  std::vector<double> wanted(parameters), got(parameters), wanted_inputs(rows.size()), inputs(rows.size()),
      wanted_outputs(count * each), outputs(count * each), again(count * each);
  Program on_cpu = network.on_cpu();
  const double sum = on_cpu.gradients(rows, wanted, {.input_gradients = wanted_inputs, .outputs = wanted_outputs});
  for (const bool has_inputs : {false, true}) {
    gpu::Program program = network.on_gpu(precision, has_inputs);
    EXPECT_THAT(program.source().about, HasSubstr(memory));
    const gpu::DeviceRows on_device(rows, network.inputs.size(), precision);
    gpu::RunOptions options{.outputs = outputs};
    if (has_inputs) options.input_gradients = inputs;
    const double found = program.gradients(on_device, got, options);
    EXPECT_NEAR(found, sum, tolerance * std::abs(sum));
    expect_near(got, wanted, tolerance, "gradient");
    expect_near(outputs, wanted_outputs, tolerance, "outputs");
    if (has_inputs) expect_near(inputs, wanted_inputs, tolerance, "input gradients");
    program.evaluate(on_device, again);
    EXPECT_EQ(again, outputs);
    std::vector<double> second(parameters);
    EXPECT_EQ(program.gradients(on_device, second), found);
    EXPECT_EQ(second, got);
  }
}

class OnAGpuLayers : public testing::Test {
 protected:
  void SetUp() override {
    if (gpu::devices().empty()) GTEST_SKIP() << "this machine has no GPU";
  }
};

TEST_F(OnAGpuLayers, GiveTheNumbersOfTheCpuInSharedMemory) {
  const Network network({2, 64, 64, 1}, Last::hinge);
  for (const std::size_t count : {1, 32, 75}) expect_like_cpu(network, Precision::float32, count, "in shared memory");
}

TEST_F(OnAGpuLayers, GiveTheNumbersOfTheCpuInTheMemoryOfTheDevice) {
  const Network network({2, 64, 64, 1}, Last::hinge);
  for (const std::size_t count : {1, 75}) expect_like_cpu(network, Precision::float64, count, "memory of the device");
}

TEST_F(OnAGpuLayers, ClassifyPictures) {
  const Network network({784, 128, 64, 10}, Last::softmax);
  for (const Precision precision : precisions) expect_like_cpu(network, precision, 40, "memory of the device");
}

}  // namespace gradwalk::gpu_layers_test
