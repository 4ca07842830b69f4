// SPDX-License-Identifier: MIT
// Networks: what they compute, how parameters are drawn and named, how they are printed; and micrograd's moons demo.
#include "gradwalk/nn.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "support.hpp"

namespace gradwalk::nn_test {
namespace {

using testing::ElementsAre;
using tests::error_of;
using tests::sized;

std::vector<double> data_of(const std::vector<Value>& values) {
  std::vector<double> numbers;
  for (const Value& value : values) numbers.push_back(value.data());
  return numbers;
}

TEST(Neuron, AddsItsBiasAndProductsFromLeftToRight) {
  Random random(1);
  const Neuron neuron(3, random, Activation::linear);
  const std::vector<double> w = data_of(neuron.parameters()), x{0.1, -0.7, 1.3};
  EXPECT_EQ(neuron(x).data(), ((w[3] + w[0] * x[0]) + w[1] * x[1]) + w[2] * x[2]);
  EXPECT_EQ(neuron(std::vector<Value>(x.begin(), x.end())).data(), neuron(x).data());
  EXPECT_EQ(neuron({0.1, -0.7, 1.3}).data(), neuron(x).data());
  EXPECT_EQ(neuron({Value(0.1), Value(-0.7), Value(1.3)}).data(), neuron(x).data());
}

TEST(Neuron, AppliesItsActivation) {
  const auto at = [](Activation activation) {
    Random random(1);
    return Neuron(1, random, activation)({-2.0}).data();
  };
  const double sum = at(Activation::linear);
  EXPECT_GT(std::abs(sum), 0.01);
  EXPECT_EQ(at(Activation::relu), sum < 0 ? 0 : sum);
  EXPECT_EQ(at(Activation::tanh), std::tanh(sum));
  EXPECT_EQ(at(Activation::sigmoid), 1 / (1 + std::exp(-sum)));
}

TEST(Neuron, ReluHidesNegativeSums) {
  Random random(1);
  const Neuron neuron(1, random);
  const double w = neuron.weights()[0].data();
  EXPECT_EQ(neuron({1 / w}).data(), 1 / w * w);
  EXPECT_EQ(neuron({-1 / w}).data(), 0);
}

TEST(Neuron, MakesNoNodesForInputsThatAreNumbers) {
  Random random(1);
  const Neuron neuron(2, random, Activation::linear);
  std::size_t leaves = 0;
  for (const Value& node : topological_order(neuron({1.0, 2.0}))) leaves += node.op() == Op::leaf ? 1 : 0;
  EXPECT_EQ(leaves, 3u);
}

TEST(Layer, HasOneNeuronPerOutput) {
  Random random(1);
  const Layer layer(2, 3, random, Activation::tanh);
  const std::vector<double> x{0.5, -1.0};
  const std::vector<Value> outputs = layer(x);
  ASSERT_EQ(outputs.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(outputs[i].data(), layer.neurons()[i](x).data());
  EXPECT_EQ(layer.parameter_count(), 9u);
  EXPECT_EQ(layer.parameter_count(), layer.parameters().size());
}

TEST(MLP, PassesTheOutputsOfALayerToTheNext) {
  const MLP model(2, {4, 3, 2});
  const std::vector<double> x{0.5, -1.0};
  const std::vector<Layer>& layers = model.layers();
  EXPECT_EQ(data_of(model(x)), data_of(layers[2](layers[1](layers[0](x)))));
  EXPECT_EQ(layers[0].neurons()[0].activation(), Activation::relu);
  EXPECT_EQ(layers[2].neurons()[0].activation(), Activation::linear);
  EXPECT_EQ(model.inputs(), 2u);
  EXPECT_EQ(model.outputs(), 2u);
}

TEST(MLP, HasGradientsForItsParametersAndInputs) {
  MLP model(2, {3, 1}, {.activation = Activation::tanh});
  const auto f = [&](const std::vector<Value>& x) { return model.scalar(x); };
  EXPECT_TRUE(check_gradient(f, {0.3, -0.8}));

  std::vector<Value> parameters = model.parameters();
  model.zero_grad();
  model.scalar({0.3, -0.8}).backward();
  for (Value& p : parameters) {
    const double gradient = p.grad(), kept = p.data();
    p.data() = kept + 1e-6;
    const double above = model.scalar({0.3, -0.8}).data();
    p.data() = kept - 1e-6;
    const double below = model.scalar({0.3, -0.8}).data();
    p.data() = kept;
    EXPECT_NEAR(gradient, (above - below) / 2e-6, 1e-8);
  }
}

TEST(MLP, SetsItsGradientsToZero) {
  const MLP model(1, {1});
  model.scalar({2.0}).backward();
  EXPECT_EQ(model.parameters()[0].grad(), 2);
  model.scalar({2.0}).backward();
  EXPECT_EQ(model.parameters()[0].grad(), 4);
  model.zero_grad();
  EXPECT_EQ(model.parameters()[0].grad(), 0);
  EXPECT_EQ(model.parameters()[1].grad(), 0);
}

TEST(MLP, DrawsWeightsNeuronByNeuronAndStartsBiasesAtZero) {
  const MLP model(2, {2, 1}, {.seed = 5});
  Random random(5);
  std::vector<double> expected;
  for (int neuron = 0; neuron < 3; ++neuron) {
    expected.push_back(random.uniform(-1, 1));
    expected.push_back(random.uniform(-1, 1));
    expected.push_back(0);
  }
  EXPECT_EQ(data_of(model.parameters()), expected);
  EXPECT_EQ(data_of(MLP(2, {2, 1}, {.seed = 5}).parameters()), expected);
  EXPECT_NE(data_of(MLP(2, {2, 1}, {.seed = 6}).parameters()), expected);
}

TEST(MLP, DrawsFromTheXavierAndHeDistributions) {
  const auto spread = [](Init init, double& largest) {
    double squares = 0, n = 0;
    largest = 0;
    for (const auto& [name, parameter] : MLP(50, {100}, {.init = init}).named_parameters()) {
      if (name.ends_with(".b")) continue;
      const double w = std::as_const(parameter).data();
      squares += w * w, n += 1, largest = std::max(largest, std::abs(w));
    }
    return std::sqrt(squares / n);
  };
  double largest = 0;
  EXPECT_NEAR(spread(Init::uniform, largest), 1 / std::sqrt(3.0), 0.02);
  EXPECT_TRUE(largest > 0.99 && largest < 1) << largest;
  EXPECT_NEAR(spread(Init::xavier, largest), 0.2 / std::sqrt(3.0), 0.004);
  EXPECT_TRUE(largest > 0.199 && largest < 0.2) << largest;
  EXPECT_NEAR(spread(Init::he, largest), 0.2, 0.008);
  EXPECT_GT(largest, 0.6);
}

TEST(MLP, NamesItsParameters) {
  const MLP model(2, {2, 1});
  EXPECT_THAT(model.parameter_names(),
              ElementsAre("layers.0.neurons.0.w.0", "layers.0.neurons.0.w.1", "layers.0.neurons.0.b",
                          "layers.0.neurons.1.w.0", "layers.0.neurons.1.w.1", "layers.0.neurons.1.b",
                          "layers.1.neurons.0.w.0", "layers.1.neurons.0.w.1", "layers.1.neurons.0.b"));
  EXPECT_EQ(model.parameter_count(), 9u);
  const auto named = model.named_parameters();
  EXPECT_EQ(named[4].first, "layers.0.neurons.1.w.1");
  EXPECT_TRUE(same_node(named[4].second, model.layers()[0].neurons()[1].weights()[1]));
  EXPECT_TRUE(same_node(named[5].second, model.layers()[0].neurons()[1].bias()));
}

TEST(MLP, SharesItsParametersWithItsCopies) {
  MLP model(1, {1});
  const MLP copy = model;
  model.parameters()[0].data() = 3;
  EXPECT_EQ(copy.scalar({2.0}).data(), 6);
}

TEST(MLP, PrintsAsMicrogradDoes) {
  std::ostringstream out;
  out << MLP(2, {2, 1});
  EXPECT_EQ(out.str(), "MLP of [Layer of [ReLUNeuron(2), ReLUNeuron(2)], Layer of [LinearNeuron(2)]]");
  EXPECT_EQ(to_string(MLP(3, {1, 1}, {.activation = Activation::tanh, .output = Activation::sigmoid})),
            "MLP of [Layer of [TanhNeuron(3)], Layer of [SigmoidNeuron(1)]]");
  out.str("");
  const MLP model(2, {1});
  out << model.layers()[0] << " " << model.layers()[0].neurons()[0];
  EXPECT_EQ(out.str(), "Layer of [LinearNeuron(2)] LinearNeuron(2)");
}

TEST(Modules, RejectInputsThatDoNotFit) {
  const MLP model(2, {3, 2});
  EXPECT_EQ(error_of([&] { model({1.0, 2.0, 3.0}); }), "MLP: needs 2 inputs, got 3; give one number per input");
  EXPECT_EQ(error_of([&] { model.layers()[0](std::vector<Value>(1)); }),
            "Layer: needs 2 inputs, got 1; give one number per input");
  EXPECT_EQ(error_of([&] { model.layers()[0].neurons()[0](std::vector<double>()); }),
            "Neuron: needs 2 inputs, got 0; give one number per input");
  EXPECT_EQ(error_of([&] { model.scalar({1.0, 2.0}); }),
            "scalar: needs a model with one output, got 2; call the model itself: model(x)");
  EXPECT_EQ(error_of([] { MLP(2, {}); }), "MLP: needs at least one layer, got none; list the layers' sizes: {16, 1}");
  EXPECT_EQ(error_of([] { MLP(0, {1}); }), "Neuron: needs at least one input, got 0; give the number of inputs");
  EXPECT_EQ(error_of([] { MLP(2, {0}); }), "Layer: needs at least one output, got 0; give the number of neurons");
}

// Runs micrograd's demo and returns the fraction of rows that are classified correctly.
double moons_accuracy(std::uint64_t seed) {
  const Dataset data = make_moons(100, 0.1, seed);
  const std::vector<double> labels = signs(data.labels);
  const MLP model(2, {16, 16, 1}, {.seed = seed});
  Optimizer optimizer(model.parameters(), SGD{});
  const Schedule rate = linear_decay(1.0, 0.1, 100);
  const auto scores = [&] {
    std::vector<Value> all;
    for (std::size_t i = 0; i < data.rows(); ++i) all.push_back(model.scalar(data.row(i)));
    return all;
  };
  for (std::uint64_t k = 0; k < 100; ++k) {
    const Value loss = hinge(scores(), labels) + 1e-4 * l2_penalty(model.parameters());
    optimizer.zero_grad();
    loss.backward();
    optimizer.step(rate(k));
  }
  double right = 0;
  const std::vector<Value> last = scores();
  for (std::size_t i = 0; i < labels.size(); ++i) right += (last[i] > 0) == (labels[i] > 0) ? 1 : 0;
  return right / static_cast<double>(labels.size());
}

TEST(Moons, AreLearnedCompletelyWithTheDefaultSeed) { EXPECT_EQ(moons_accuracy(MLPOptions{}.seed), 1); }

TEST(Moons, AreLearnedWithNineSeedsOfTen) {
  int learnt = 0;
  const auto seeds = sized(10, 2);
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) learnt += moons_accuracy(seed) >= 0.99 ? 1 : 0;
  EXPECT_GE(learnt, static_cast<int>(seeds) - 1);
}

TEST(Activations, ComputeTheFunctionsOfTheirNames) {
  const auto of = [](Activation activation, double x) {
    Random random(1);
    const Neuron neuron(1, random, activation);
    std::vector<Value> parameters = neuron.parameters();
    parameters[0].data() = 1, parameters[1].data() = 0;
    const Value result = neuron({x});
    result.backward();
    return std::pair{result.data(), parameters[1].grad()};
  };
  for (const double x : {-800.0, -2.0, -0.5, 0.25, 3.0, 800.0}) {
    EXPECT_DOUBLE_EQ(of(Activation::leaky_relu, x).first, x > 0 ? x : 0.01 * x);
    EXPECT_DOUBLE_EQ(of(Activation::leaky_relu, x).second, x > 0 ? 1 : 0.01);
    EXPECT_NEAR(of(Activation::elu, x).first, x > 0 ? x : std::expm1(x), 1e-15 * std::abs(x) + 1e-16);
    EXPECT_DOUBLE_EQ(of(Activation::elu, x).second, x > 0 ? 1 : std::exp(x));
    EXPECT_NEAR(of(Activation::softplus, x).first, x > 700 ? x : std::log1p(std::exp(x)), 1e-14);
    const double inner = std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x);
    EXPECT_NEAR(of(Activation::gelu_tanh, x).first, 0.5 * x * (1 + std::tanh(inner)), 1e-13);
    EXPECT_TRUE(std::isfinite(of(Activation::gelu_tanh, x).second));
    const Value input = x;
    gelu(input).backward();
    EXPECT_EQ(of(Activation::gelu, x), (std::pair{gelu(input).data(), input.grad()}));
  }
  EXPECT_EQ(name(Activation::leaky_relu), "leaky_relu");
  EXPECT_EQ(name(Activation::gelu_tanh), "gelu_tanh");
}

TEST(ModuleStates, CanBeSetInAnyOrder) {
  const MLP model(2, {3, 1}), other(2, {3, 1}, {.seed = 5});
  std::vector<std::pair<std::string, double>> state = model.state();
  EXPECT_EQ(state.size(), 13u);
  EXPECT_EQ(state[0].first, "layers.0.neurons.0.w.0");
  std::swap(state[0], state[7]);
  other.set_state(state);
  EXPECT_EQ(other.state(), model.state());
  state[0].first = "w";
  EXPECT_EQ(error_of([&] { other.set_state(state); }).substr(0, 34), "set_state: needs a number for laye");
  state.pop_back();
  EXPECT_EQ(error_of([&] { other.set_state(state); }),
            "set_state: needs 13 parameters, got 12; give the state of a module with the same layers");
  EXPECT_EQ(other.state(), model.state());
}

TEST(ClonedNetworks, HaveParametersOfTheirOwn) {
  const MLP model(2, {3, 1}), clone = model.clone();
  EXPECT_EQ(clone.state(), model.state());
  clone.parameters()[0].data() = 7;
  EXPECT_NE(clone.state(), model.state());
}

}  // namespace
}  // namespace gradwalk::nn_test
