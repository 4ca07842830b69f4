// SPDX-License-Identifier: MIT
// Networks with more weights than one thread can read, on a GPU or on fake_cuda.cpp, against programs of compile().
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>

#include "gpu/layers.hpp"
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
  gpu::Program on_gpu(Precision precision, bool input_gradients = false, bool exact = true) const {
    return gpu::compile(outputs, {.inputs = inputs,
                                  .parameters = parameters,
                                  .precision = precision,
                                  .exact = exact,
                                  .input_gradients = input_gradients});
  }
  Program on_cpu() const { return compile(outputs, {.inputs = inputs, .parameters = parameters}); }
};

// Compares numbers by the largest of them.
void expect_near(std::span<const double> got, std::span<const double> wanted, double tolerance, const char* what) {
  double largest = 1e-300, worst = 0;
  for (const double one : wanted) largest = std::max(largest, std::abs(one));
  for (const double one : got) ASSERT_TRUE(std::isfinite(one)) << what;
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) worst = std::max(worst, std::abs(got[i] - wanted[i]));
  EXPECT_LE(worst, tolerance * largest) << what;
}

// Sum, gradient, gradients of inputs, outputs of a run and of evaluate().
void expect_like_cpu(const Network& network, Precision precision, std::size_t count, const char* memory,
                     bool exact = true) {
  SCOPED_TRACE(std::to_string(count) + " rows");
  const double tolerance = precision == Precision::float64 ? 1e-13 : 2e-6;
  const std::vector<double> rows = network.rows(count);
  const std::size_t parameters = network.parameters.size(), each = network.outputs.size();
  std::vector<double> wanted(parameters), got(parameters), wanted_inputs(rows.size()), inputs(rows.size()),
      wanted_outputs(count * each), outputs(count * each), again(count * each);
  Program on_cpu = network.on_cpu();
  const double sum = on_cpu.gradients(rows, wanted, {.input_gradients = wanted_inputs, .outputs = wanted_outputs});
  for (const bool has_inputs : {false, true}) {
    gpu::Program program = network.on_gpu(precision, has_inputs, exact);
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
  for (const std::size_t count : {1U, 32U, 75U})
    expect_like_cpu(network, Precision::float32, count, "in shared memory");
}

TEST_F(OnAGpuLayers, GiveTheNumbersOfTheCpuInTheMemoryOfTheDevice) {
  const Network network({2, 64, 64, 1}, Last::hinge);
  for (const std::size_t count : {1U, 75U}) expect_like_cpu(network, Precision::float64, count, "memory of the device");
}

TEST_F(OnAGpuLayers, ClassifyPictures) {
  const Network network({784, 128, 64, 10}, Last::softmax);
  expect_like_cpu(network, Precision::float64, 40, "in the memory of the device");
  expect_like_cpu(network, Precision::float32, 40, "in the memory of the device on tensor cores", false);
}

// Exact mode rounds in one way everywhere. The bits are of the order in which g++ evaluates, and so records, the
// operands of + and *. A GPU has not given them yet.
#ifndef __clang__
TEST_F(OnAGpuLayers, GiveTheStoredBitsInExactMode) {
  const auto bits_of = [](const Network& network, Precision precision) {
    gpu::Program program = network.on_gpu(precision);
    std::vector<double> gradient(network.parameters.size() + 1);
    const gpu::DeviceRows rows(network.rows(75), network.inputs.size(), precision);
    gradient.back() = program.gradients(rows, std::span(gradient).first(network.parameters.size()));
    std::uint64_t hash = 0xcbf29ce484222325;
    for (const double number : gradient) hash = (hash ^ std::bit_cast<std::uint64_t>(number)) * 0x100000001b3;
    return hash;
  };
  const Network small({2, 64, 64, 1}, Last::hinge), wide({520, 40, 1}, Last::squares);
  EXPECT_EQ(bits_of(small, Precision::float32), 17163262426860032237U);
  EXPECT_EQ(bits_of(small, Precision::float64), 3055297758060512267U);
  EXPECT_EQ(bits_of(wide, Precision::float32), 14478993416956375341U);
}
#endif

// In fast mode, products of float32 run on tensor cores.
TEST_F(OnAGpuLayers, GiveTheNumbersOfTheCpuOnTensorCores) {
  const Network small({2, 64, 64, 1}, Last::hinge), odd({3, 57, 70, 5}, Last::softmax, true);
  expect_like_cpu(small, Precision::float32, 75, "in shared memory on tensor cores", false);
  expect_like_cpu(odd, Precision::float32, 40, "on tensor cores", false);
}

// Layers of random widths with other things between them: several activations, inputs that skip a layer, weights that
// two layers share, constant weights, products of layers, and parameters that rows read one by one.
struct RandomLayers {
  std::vector<Value> inputs, parameters, outputs;
  std::mt19937 random;

  std::size_t below(std::size_t end) { return random() % end; }
  double number() { return static_cast<double>(random() % 2001) / 1000 - 1; }
  Value parameter(double scale) { return parameters.emplace_back(scale * number()); }
  static Value active(std::size_t kind, const Value& x) {
    switch (kind) {
      case 0: return relu(x);
      case 1: return tanh(x);
      case 2: return sigmoid(x);
      case 3: return softplus(x);
      case 4: return max(x, 0.25 * x);
      default: return x;
    }
  }
  std::vector<Value> layer(const std::vector<Value>& x, std::size_t width, std::vector<Value>& weights, bool has_bias) {
    const double scale = 1 / std::sqrt(static_cast<double>(x.size()));
    std::vector<Value> made;
    const bool is_new = weights.empty();
    for (std::size_t i = 0; i < width; ++i) {
      Value sum = has_bias ? parameter(0.2) : Value(0.0);
      for (std::size_t t = 0; t < x.size(); ++t) {
        if (is_new) weights.push_back(below(40) == 0 ? Value(scale * number()) : parameter(scale));
        sum = sum + weights[i * x.size() + t] * x[t];
      }
      made.push_back(sum);
    }
    return made;
  }

  explicit RandomLayers(unsigned seed) : random(seed) {
    const bool is_wide = seed % 8 == 5;
    inputs.resize(is_wide ? 530 : 2 + below(6));
    std::vector<Value> x = inputs, weights;
    const std::size_t depth = 2 + below(4), most = seed % 3 == 0 ? 90 : 30;
    for (std::size_t n = 0; n < depth; ++n) {
      const std::size_t width = is_wide && n == 0 ? 40 : 2 + below(most), kind = below(6);
      weights.clear();
      std::vector<Value> next = layer(x, width, weights, below(3) != 0);
      for (Value& one : next) one = active(kind, one);
      if (below(3) == 0) {  // the same weights for other inputs
        std::vector<Value> turned(x.rbegin(), x.rend());
        const std::vector<Value> again = layer(turned, width, weights, false);
        for (std::size_t i = 0; i < width; ++i) next[i] = next[i] + 0.5 * again[i];
      }
      if (below(3) == 0)
        for (std::size_t i = 0; i < width; ++i) next[i] = next[i] * (1.0 + 0.1 * next[(i + 1) % width]);
      if (below(3) == 0) next.push_back(inputs[below(inputs.size())]);
      if (below(4) == 0) next[0] = next[0] * parameter(1);
      x = next;
    }
    Value loss = 0.0, penalty = 0.0;
    for (const Value& one : x) loss = loss + pow(one - 0.3, 2.0);
    if (seed % 2 == 0)
      for (const Value& one : parameters) penalty = penalty + one * one;
    outputs = {loss + 0.01 * penalty, x[0], x.back()};
  }
};

TEST_F(OnAGpuLayers, RandomLayersGiveTheNumbersOfTheCpu) {
  std::size_t in_memory = 0;
  const std::size_t graphs = std::getenv("GRADWALK_LONG") != nullptr ? 200 : tests::sized(10, 4);
  for (unsigned seed = 0; seed < graphs; ++seed) {
    SCOPED_TRACE(seed);
    RandomLayers graph(seed);
    const std::size_t count = 1 + graph.below(80);
    std::vector<double> rows(count * graph.inputs.size());
    for (double& one : rows) one = graph.number();
    const Precision precision = seed % 4 == 3 ? Precision::float32 : Precision::float64;
    const std::size_t parameters = graph.parameters.size();
    std::vector<double> wanted(parameters), got(parameters), wanted_inputs(rows.size()), inputs(rows.size()),
        wanted_outputs(count * 3), outputs(count * 3);
    Program on_cpu = compile(graph.outputs, {.inputs = graph.inputs, .parameters = graph.parameters});
    const double sum = on_cpu.gradients(rows, wanted, {.input_gradients = wanted_inputs, .outputs = wanted_outputs});
    gpu::Program program = gpu::compile(graph.outputs, {.inputs = graph.inputs,
                                                        .parameters = graph.parameters,
                                                        .precision = precision,
                                                        .exact = seed % 5 != 0,
                                                        .input_gradients = true,
                                                        .rows = CudaOptions::Rows::by_blocks});
    in_memory += program.source().layers.places > 0 ? 1 : 0;
    const gpu::DeviceRows on_device(rows, graph.inputs.size(), precision);
    const double tolerance = precision == Precision::float64 ? 1e-13 : 2e-5;
    EXPECT_NEAR(program.gradients(on_device, got, {.input_gradients = inputs, .outputs = outputs}), sum,
                tolerance * std::abs(sum));
    expect_near(got, wanted, tolerance, "gradient");
    expect_near(inputs, wanted_inputs, tolerance, "input gradients");
    expect_near(outputs, wanted_outputs, tolerance, "outputs");
    program.evaluate(on_device, outputs);
    expect_near(outputs, wanted_outputs, tolerance, "evaluate");
    if (HasFailure()) break;
  }
  EXPECT_GT(in_memory, 1);
}

// A decoder whose weights are those of the encoder, transposed: the sums over rows overlap.
TEST_F(OnAGpuLayers, AddUpGradientsOfTiedWeights) {
  for (const std::size_t hidden : {12U, 90U}) {
    const std::size_t size = 14;
    std::vector<Value> inputs(size), weights, code;
    for (std::size_t i = 0; i < size * hidden; ++i)
      weights.emplace_back(static_cast<double>(i * 37 % 101) / 300.0 - 0.16);
    for (std::size_t k = 0; k < hidden; ++k) {
      Value sum = 0.0;
      for (std::size_t i = 0; i < size; ++i) sum = sum + weights[k * size + i] * inputs[i];
      code.push_back(tanh(sum));
    }
    Value loss = 0.0;
    for (std::size_t i = 0; i < size; ++i) {
      Value sum = 0.0;
      for (std::size_t k = 0; k < hidden; ++k) sum = sum + weights[k * size + i] * code[k];
      loss = loss + pow(sum - inputs[i], 2.0);
    }
    std::vector<double> rows(70 * size), wanted(weights.size()), got(weights.size());
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<double>(i * 29 % 64) / 32.0 - 1;
    Program on_cpu = compile(loss, {.inputs = inputs, .parameters = weights});
    gpu::Program program = gpu::compile(loss, {.inputs = inputs,
                                               .parameters = weights,
                                               .precision = Precision::float64,
                                               .rows = CudaOptions::Rows::by_blocks});
    EXPECT_EQ(program.source().layers.places > 0, hidden == 90);
    EXPECT_TRUE(program.source().layers.fills_sums);
    const double sum = on_cpu.gradients(rows, wanted);
    EXPECT_NEAR(program.gradients(gpu::DeviceRows(rows, size, Precision::float64), got), sum, 1e-13 * sum);
    expect_near(got, wanted, 1e-13, "gradient");
  }
}

TEST_F(OnAGpuLayers, RunManyRowsInParts) {
  const Network network({3, 70, 70, 1}, Last::squares, true);
  const std::vector<double> rows = network.rows(200);
  const gpu::DeviceRows on_device(rows, network.inputs.size(), Precision::float64);
  gpu::Program program = network.on_gpu(Precision::float64, true);
  ASSERT_GT(program.source().layers.places, 0);
  std::vector<double> wanted(network.parameters.size()), got(wanted.size()), wanted_inputs(rows.size()),
      inputs(rows.size()), wanted_outputs(400), outputs(400);
  const double sum =
      program.gradients(on_device, wanted, {.input_gradients = wanted_inputs, .outputs = wanted_outputs});
  const std::size_t before = gpu::layer_bytes_at_once;
  gpu::layer_bytes_at_once = program.source().layers.places * 64 * sizeof(double);  // two tiles
  EXPECT_NEAR(program.gradients(on_device, got, {.input_gradients = inputs, .outputs = outputs}), sum, 1e-13 * sum);
  EXPECT_EQ(inputs, wanted_inputs);
  EXPECT_EQ(outputs, wanted_outputs);
  program.evaluate(on_device, outputs);
  EXPECT_EQ(outputs, wanted_outputs);
  gpu::layer_bytes_at_once = before;
  expect_near(got, wanted, 1e-13, "gradient");
}

TEST_F(OnAGpuLayers, GiveZeroForNoRows) {
  const Network network({2, 64, 64, 1}, Last::hinge);
  gpu::Program program = network.on_gpu(Precision::float32);
  const gpu::DeviceRows none(std::vector<double>{}, network.inputs.size());
  std::vector<double> gradient(network.parameters.size(), 1.0);
  EXPECT_EQ(program.gradients(none, gradient), 0);
  EXPECT_THAT(gradient, testing::Each(0.0));
  program.evaluate(none, {});
}

// The root of 0 has an infinite derivative, and relu passes nothing on to it. Rows that are not finite give what the
// CPU gives, too.
TEST_F(OnAGpuLayers, FollowTheZeroGradientRule) {
  for (const std::size_t width : {20U, 80U}) {
    Network network({2, width, width, 1}, Last::squares);
    Value sum = 0.0;
    for (std::size_t i = 0; i < network.parameters.size(); i += 7)
      sum = sum + relu(sqrt(network.inputs[0] * network.parameters[i] * network.parameters[i]) - 5.0);
    network.outputs[0] = network.outputs[0] + sum;
    const double infinity = std::numeric_limits<double>::infinity();
    for (const double special : {0.0, infinity, std::numeric_limits<double>::quiet_NaN()}) {
      SCOPED_TRACE(special);
      std::vector<double> rows = network.rows(40);
      for (std::size_t r = 0; r < 40; ++r) rows[r * 3] = std::abs(rows[r * 3]);
      rows[5 * 3] = special;
      std::vector<double> wanted(network.parameters.size()), got(wanted.size());
      Program on_cpu = network.on_cpu();
      const double value = on_cpu.gradients(rows, wanted);
      gpu::Program program = gpu::compile(network.outputs, {.inputs = network.inputs,
                                                            .parameters = network.parameters,
                                                            .precision = Precision::float64,
                                                            .rows = CudaOptions::Rows::by_blocks});
      const double found = program.gradients(gpu::DeviceRows(rows, 3, Precision::float64), got);
      EXPECT_THAT(found, testing::NanSensitiveDoubleNear(value, std::isfinite(value) ? 1e-11 * std::abs(value) : 0));
      for (std::size_t i = 0; i < got.size(); ++i) {
        ASSERT_EQ(std::isfinite(got[i]), std::isfinite(wanted[i])) << i;
        if (std::isfinite(got[i])) {
          ASSERT_NEAR(got[i], wanted[i], 1e-11 * (1 + std::abs(wanted[i]))) << i;
        }
      }
      EXPECT_TRUE(special != 0 || std::isfinite(got[0]));
    }
  }
}

// Where an input is infinite, all neurons of the first layer are off: their gradients of 0 pass nothing on to weights.
TEST_F(OnAGpuLayers, PassNothingOnFromNeuronsThatAreOff) {
  for (const Precision precision : precisions) {
    Network network({2, 64, 64, 1}, Last::squares);
    for (std::size_t i = 0; i < 64; ++i) network.parameters[3 * i + 1].data() = -0.5;
    std::vector<double> rows = network.rows(40);
    rows[7 * 3] = std::numeric_limits<double>::infinity();
    std::vector<double> wanted(network.parameters.size()), got(wanted.size());
    Program on_cpu = network.on_cpu();
    const double sum = on_cpu.gradients(rows, wanted);
    ASSERT_TRUE(std::isfinite(sum + wanted[1]));
    gpu::Program program = network.on_gpu(precision);
    const double tolerance = precision == Precision::float64 ? 1e-13 : 1e-5;
    EXPECT_NEAR(program.gradients(gpu::DeviceRows(rows, 3, precision), got), sum, tolerance * sum);
    expect_near(got, wanted, tolerance, "gradient");
  }
}

TEST_F(OnAGpuLayers, TakeRandomInputs) {
  Network network({4, 64, 64, 1}, Last::squares, true);
  const std::vector<Value> rows_inputs{network.inputs[0], network.inputs[4]},
      normals{network.inputs[1], network.inputs[3]}, uniforms{network.inputs[2]};
  for (const Precision precision : precisions) {
    gpu::Program program = gpu::compile(network.outputs, {.inputs = rows_inputs,
                                                          .parameters = network.parameters,
                                                          .precision = precision,
                                                          .normals = normals,
                                                          .uniforms = uniforms});
    ASSERT_TRUE(program.source().has_layers());
    std::vector<double> given, all;
    for (std::size_t r = 0; r < 50; ++r) {
      std::vector<double> normal(2), uniform(1);
      random_numbers(Distribution::normal, precision, 9, r, normal);
      random_numbers(Distribution::uniform, precision, 9, r, uniform);
      const double x = static_cast<double>(r) / 32, y = static_cast<double>(r % 5);
      given.insert(given.end(), {x, y});
      all.insert(all.end(), {x, normal[0], uniform[0], normal[1], y});
    }
    std::vector<double> wanted(network.parameters.size()), got(wanted.size());
    Program on_cpu = network.on_cpu();
    const double sum = on_cpu.gradients(all, wanted), tolerance = precision == Precision::float64 ? 1e-12 : 1e-5;
    EXPECT_NEAR(program.gradients(gpu::DeviceRows(given, 2, precision), got, {.seed = 9}), sum, tolerance * sum);
    expect_near(got, wanted, tolerance, "gradient");
  }
}

TEST_F(OnAGpuLayers, AreTrainedAsOnTheCpu) {
  const std::vector<std::pair<std::string, OptimizerConfig>> optimizers{{"sgd", SGD{.lr = 0.01, .momentum = 0.9}},
                                                                        {"adam", Adam{.lr = 0.003}}};
  for (const auto& [name, config] : optimizers) {
    SCOPED_TRACE(name);
    const Network network({3, 70, 70, 1}, Last::squares, true), other({3, 70, 70, 1}, Last::squares, true);
    const std::vector<double> rows = network.rows(100);
    Trainer on_cpu(other.on_cpu(), config);
    double wanted = 0, found = 0;
    {
      gpu::Trainer trainer(network.on_gpu(Precision::float64), config);
      trainer.clip_norm(2);
      on_cpu.clip_norm(2);
      const gpu::DeviceRows on_device(rows, network.inputs.size(), Precision::float64);
      for (int i = 0; i < 2; ++i)
        for (const auto& [first, size] : std::vector<std::pair<std::size_t, std::size_t>>{{0, 64}, {64, 36}})
          wanted = on_cpu.step(std::span(rows).subspan(4 * first, 4 * size), {.result = RunOptions::Result::mean});
      found = trainer.make_steps(on_device, 4, {.mean = true, .batch = 64});
    }
    on_cpu.write_back();
    EXPECT_NEAR(found, wanted, 1e-11);
    for (std::size_t i = 0; i < network.parameters.size(); ++i)
      ASSERT_NEAR(network.parameters[i].data(), other.parameters[i].data(), 1e-11) << i;
  }
}

TEST_F(OnAGpuLayers, NameTheMemoryThatIsMissing) {
  if (gpu::devices()[0].name != "fake GPU") GTEST_SKIP() << "a GPU has enough memory";
  const Network network({3, 70, 70, 1}, Last::squares, true);
  gpu::Program program = network.on_gpu(Precision::float64);
  const std::vector<double> rows = network.rows(100);
  const gpu::DeviceRows on_device(rows, network.inputs.size(), Precision::float64);
  setenv("FAKE_CUDA_BYTES", "300000", 1);
  std::vector<double> gradient(network.parameters.size());
  const std::string error = error_of([&] { program.gradients(on_device, gradient); });
  unsetenv("FAKE_CUDA_BYTES");
  EXPECT_THAT(error, HasSubstr("gpu::Program::gradients: needs "));
  EXPECT_EQ(error_of([&] { program.gradients(on_device, gradient); }), "no error");
}

}  // namespace gradwalk::gpu_layers_test
