// SPDX-License-Identifier: MIT
// Neuron, Layer and MLP: initial parameters and the forward pass.
#include "gradwalk/nn.hpp"

#include <cmath>
#include <map>

#include "text/numbers.hpp"

namespace gradwalk {
namespace {

double draw(Random& random, Init init, std::size_t inputs, std::size_t outputs) {
  const auto in = static_cast<double>(inputs), out = static_cast<double>(outputs);
  switch (init) {
    case Init::xavier: {
      const double most = std::sqrt(6 / (in + out));
      return random.uniform(-most, most);
    }
    case Init::he: return random.normal(0, std::sqrt(2 / in));
    default: return random.uniform(-1, 1);
  }
}

void need_inputs(const char* call, std::size_t wanted, std::size_t got) {
  if (got == wanted) return;
  throw Error(call, detail::counted(wanted, "input", "inputs"), std::to_string(got), "give one number per input");
}

void need_factors(std::size_t wanted, std::size_t got) {
  if (got == wanted) return;
  throw Error("with_factors", detail::counted(wanted, "factor", "factors"), std::to_string(got),
              "give one factor per hidden neuron");
}

// The products are temporaries, so the sum fuses with them into one record (sums.hpp). This is a function of its own so
// that its loop has all registers: inlined, a step of moons took 6% longer.
template <class Input> [[gnu::noinline]] Value weighted_sum(const Neuron& neuron, std::span<const Input> x) {
  const Value* w = neuron.weights().data();
  Value sum = neuron.bias() + w[0] * x[0];
  for (std::size_t i = 1; i < x.size(); ++i) sum += w[i] * x[i];
  return sum;
}

Value gelu_tanh(const Value& x) {
  constexpr double root = 0.79788456080286536;  // sqrt(2 / pi)
  return 0.5 * x * (1.0 + tanh(root * (x + 0.044715 * x * x * x)));
}

// Returns the outputs of neurons with the same activation. The switch is outside the loop, so each loop stays small.
template <class Input> std::vector<Value> forward(std::span<const Neuron> neurons, std::span<const Input> x) {
  std::vector<Value> outputs;
  outputs.reserve(neurons.size());
  const auto each = [&](auto activation) {
    for (const Neuron& neuron : neurons) outputs.push_back(activation(weighted_sum(neuron, x)));
  };
  switch (neurons.front().activation()) {
    case Activation::relu: each([](const Value& sum) { return relu(sum); }); break;
    case Activation::tanh: each([](const Value& sum) { return tanh(sum); }); break;
    case Activation::sigmoid: each([](const Value& sum) { return sigmoid(sum); }); break;
    case Activation::gelu: each([](const Value& sum) { return gelu(sum); }); break;
    case Activation::gelu_tanh: each(gelu_tanh); break;
    case Activation::leaky_relu: each([](const Value& sum) { return max(sum, 0.01 * sum); }); break;
    case Activation::elu:
      each([](const Value& sum) { return select(sum > 0.0, sum, exp(min(sum, 0.0)) - 1.0); });
      break;
    case Activation::softplus: each([](const Value& sum) { return softplus(sum); }); break;
    case Activation::linear: each([](Value&& sum) { return std::move(sum); }); break;
  }
  return outputs;
}

template <class Part> void append_parameters(const std::vector<Part>& parts, std::vector<Value>& all) {
  for (const Part& part : parts)
    for (Value& parameter : part.parameters()) all.push_back(std::move(parameter));
}

template <class Part> std::vector<std::string> names_in(const char* kind, const std::vector<Part>& parts) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < parts.size(); ++i)
    for (const std::string& name : parts[i].parameter_names())
      names.push_back(std::string(kind).append(".").append(std::to_string(i)).append(".").append(name));
  return names;
}

}  // namespace

std::vector<std::pair<std::string, Value>> Module::named_parameters() const {
  std::vector<std::pair<std::string, Value>> named;
  const std::vector<Value> values = parameters();
  const std::vector<std::string> names = parameter_names();
  named.reserve(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) named.emplace_back(names[i], values[i]);
  return named;
}

void Module::zero_grad() const {
  for (Value& parameter : parameters()) parameter.grad() = 0;
}

std::vector<std::pair<std::string, double>> Module::state() const {
  std::vector<std::pair<std::string, double>> result;
  for (const auto& [name, parameter] : named_parameters()) result.emplace_back(name, parameter.data());
  return result;
}

void Module::set_state(std::span<const std::pair<std::string, double>> state) const {
  std::vector<std::pair<std::string, Value>> own = named_parameters();
  if (state.size() != own.size())
    throw Error("set_state", detail::counted(own.size(), "parameter", "parameters"), std::to_string(state.size()),
                "give the state of a module with the same layers");
  std::map<std::string_view, double> given;
  for (const auto& [name, number] : state) given.emplace(name, number);
  for (const auto& [name, parameter] : own)
    if (!given.contains(name))
      throw Error("set_state", "a number for " + name, "none", "give the state of a module with the same layers");
  for (auto& [name, parameter] : own) parameter.data() = given.at(name);
}

Neuron::Neuron(std::size_t inputs, Random& random, Activation activation, Init init, std::size_t neurons_in_layer)
    : activation_(activation) {
  if (inputs == 0) throw Error("Neuron", "at least one input", "0", "give the number of inputs");
  parameters_.reserve(inputs + 1);
  for (std::size_t i = 0; i < inputs; ++i) parameters_.emplace_back(draw(random, init, inputs, neurons_in_layer));
  parameters_.emplace_back(0.0);
}

Value Neuron::operator()(std::span<const Value> x) const {
  need_inputs("Neuron", inputs(), x.size());
  return std::move(forward({this, 1}, x).front());
}
Value Neuron::operator()(std::span<const double> x) const {
  need_inputs("Neuron", inputs(), x.size());
  return std::move(forward({this, 1}, x).front());
}

std::vector<std::string> Neuron::parameter_names() const {
  std::vector<std::string> names;
  names.reserve(inputs() + 1);
  for (std::size_t i = 0; i < inputs(); ++i) names.push_back("w." + std::to_string(i));
  names.emplace_back("b");
  return names;
}

Layer::Layer(std::size_t inputs, std::size_t outputs, Random& random, Activation activation, Init init) {
  if (outputs == 0) throw Error("Layer", "at least one output", "0", "give the number of neurons");
  neurons_.reserve(outputs);
  for (std::size_t i = 0; i < outputs; ++i) neurons_.emplace_back(inputs, random, activation, init, outputs);
}

std::vector<Value> Layer::operator()(std::span<const Value> x) const {
  need_inputs("Layer", inputs(), x.size());
  return forward<Value>(neurons_, x);
}
std::vector<Value> Layer::operator()(std::span<const double> x) const {
  need_inputs("Layer", inputs(), x.size());
  return forward<double>(neurons_, x);
}

std::vector<Value> Layer::parameters() const {
  std::vector<Value> all;
  all.reserve(parameter_count());
  append_parameters(neurons_, all);
  return all;
}

std::vector<std::string> Layer::parameter_names() const { return names_in("neurons", neurons_); }

MLP::MLP(std::size_t inputs, const std::vector<std::size_t>& outputs_of_layers, const MLPOptions& options)
    : options_(options) {
  if (outputs_of_layers.empty()) throw Error("MLP", "at least one layer", "none", "list the layers' sizes: {16, 1}");
  Random random(options.seed);
  layers_.reserve(outputs_of_layers.size());
  for (const std::size_t outputs : outputs_of_layers) {
    const bool last = layers_.size() + 1 == outputs_of_layers.size();
    layers_.emplace_back(inputs, outputs, random, last ? options.output : options.activation, options.init);
    inputs = outputs;
  }
}

MLP MLP::clone() const {
  std::vector<std::size_t> sizes;
  for (const Layer& layer : layers_) sizes.push_back(layer.outputs());
  MLP result(inputs(), sizes, options_);
  const std::vector<Value> from = parameters();
  std::vector<Value> to = result.parameters();
  for (std::size_t i = 0; i < to.size(); ++i) to[i].data() = from[i].data();
  return result;
}

template <class Input> std::vector<Value> MLP::forward(std::span<const Input> x, std::span<const Input> factors) const {
  need_inputs("MLP", inputs(), x.size());
  std::vector<Value> values = gradwalk::forward<Input>(layers_.front().neurons(), x);
  for (std::size_t i = 1; i < layers_.size(); ++i) {
    if (!factors.empty()) {
      for (std::size_t k = 0; k < values.size(); ++k) values[k] = values[k] * factors[k];
      factors = factors.subspan(values.size());
    }
    values = gradwalk::forward<Value>(layers_[i].neurons(), values);
  }
  return values;
}

template <class Input> Value MLP::only_output(std::span<const Input> x) const {
  if (outputs() != 1)
    throw Error("scalar", "a model with one output", std::to_string(outputs()), "call the model itself: model(x)");
  return std::move(forward(x).front());
}

std::vector<Value> MLP::operator()(std::span<const Value> x) const { return forward(x); }
std::vector<Value> MLP::operator()(std::span<const double> x) const { return forward(x); }
std::vector<Value> MLP::with_factors(std::span<const Value> x, std::span<const Value> factors) const {
  need_factors(hidden(), factors.size());
  return forward(x, factors);
}
std::vector<Value> MLP::with_factors(std::span<const double> x, std::span<const double> factors) const {
  need_factors(hidden(), factors.size());
  return forward(x, factors);
}
Value MLP::scalar(std::span<const Value> x) const { return only_output(x); }
Value MLP::scalar(std::span<const double> x) const { return only_output(x); }

std::size_t MLP::hidden() const {
  std::size_t neurons = 0;
  for (std::size_t i = 0; i + 1 < layers_.size(); ++i) neurons += layers_[i].outputs();
  return neurons;
}

std::vector<Value> MLP::parameters() const {
  std::vector<Value> all;
  append_parameters(layers_, all);
  return all;
}

std::vector<std::string> MLP::parameter_names() const { return names_in("layers", layers_); }

}  // namespace gradwalk
