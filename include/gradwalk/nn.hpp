// SPDX-License-Identifier: MIT
// Neural networks of Values, as in micrograd: Neuron, Layer, MLP.
//
//   MLP model(2, {16, 16, 1});        // 2 inputs, two hidden layers of 16 neurons, 1 output
//   Value y = model.scalar({0.5, 1.0});
//
// Parameters are leaves; a copy of a module refers to the same parameters. They are ordered neuron by neuron, the
// weights before the bias: in parameters(), in memory, and in the order of the random numbers. Their names are paths:
// layers.0.neurons.3.w.1 and layers.0.neurons.3.b in an MLP, neurons.3.b in a Layer, b in a Neuron.
//
// Calling a module with the wrong number of inputs throws an Error.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gradwalk/random.hpp"
#include "gradwalk/value.hpp"

namespace gradwalk {

// The activation function of a neuron. An enumerator with the name of an operation is that operation; the others are:
//   linear      x
//   gelu_tanh   the tanh approximation of gelu: x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)))
//   leaky_relu  x, and 0.01 * x below 0
//   elu         x, and exp(x) - 1 below 0
enum class Activation { linear, relu, tanh, sigmoid, gelu, gelu_tanh, leaky_relu, elu, softplus };
inline constexpr std::array all_activations{Activation::linear,     Activation::relu, Activation::tanh,
                                            Activation::sigmoid,    Activation::gelu, Activation::gelu_tanh,
                                            Activation::leaky_relu, Activation::elu,  Activation::softplus};
GRADWALK_EXPORT std::string_view name(Activation activation);  // "relu"

// The distribution of the initial weights. Biases start at 0.
enum class Init {
  uniform,  // uniform between -1 and 1, as in micrograd
  xavier,   // uniform between -a and a with a = sqrt(6 / (inputs + outputs of the layer)); suits tanh and sigmoid
  he,       // normal with standard deviation sqrt(2 / inputs); suits relu
};
inline constexpr std::array all_inits{Init::uniform, Init::xavier, Init::he};
GRADWALK_EXPORT std::string_view name(Init init);  // "he"

// Something with parameters.
class GRADWALK_EXPORT Module {
 public:
  virtual ~Module() = default;
  virtual std::vector<Value> parameters() const = 0;  // the parameters themselves: changing one changes the module
  virtual std::vector<std::string> parameter_names() const = 0;  // one name per parameter, in the same order
  // Returns each parameter with its name, in the order of parameters().
  std::vector<std::pair<std::string, Value>> named_parameters() const;
  // Returns the number of parameters. Override it where the number is known without making the list.
  virtual std::size_t parameter_count() const { return parameters().size(); }
  void zero_grad() const;  // sets the gradients of all parameters to 0

  // Returns the name and the number of each parameter.
  std::vector<std::pair<std::string, double>> state() const;
  // Sets all parameters, by their names and in any order. Throws an Error, and changes nothing, if one is missing.
  void set_state(std::span<const std::pair<std::string, double>> state) const;

 protected:
  Module() = default;
  Module(const Module&) = default;
  Module(Module&&) = default;
  Module& operator=(const Module&) = default;
  Module& operator=(Module&&) = default;
};

// Computes activation(b + w[0] * x[0] + w[1] * x[1] + ...), added from left to right.
class GRADWALK_EXPORT Neuron : public Module {
 public:
  // Draws its weights from `random`. `neurons_in_layer` matters for Init::xavier.
  Neuron(std::size_t inputs, Random& random, Activation activation = Activation::relu, Init init = Init::uniform,
         std::size_t neurons_in_layer = 1);
  Value operator()(std::span<const Value> x) const;
  Value operator()(std::span<const double> x) const;  // the inputs are constants, not nodes of the graph
  Value operator()(std::initializer_list<double> x) const { return (*this)(std::span<const double>(x)); }
  Value operator()(std::initializer_list<Value> x) const { return (*this)(std::span<const Value>(x)); }

  std::size_t inputs() const { return parameters_.size() - 1; }  // the number of weights
  // Returns a view of the weights, one per input. It is valid while the neuron lives.
  std::span<const Value> weights() const { return {parameters_.data(), inputs()}; }
  const Value& bias() const { return parameters_.back(); }  // the summand that is multiplied by no input
  Activation activation() const { return activation_; }
  std::vector<Value> parameters() const override { return parameters_; }
  std::vector<std::string> parameter_names() const override;
  std::size_t parameter_count() const override { return parameters_.size(); }

 private:
  std::vector<Value> parameters_;  // the weights, then the bias
  Activation activation_;
};

// Neurons with the same inputs. It returns one output per neuron.
class GRADWALK_EXPORT Layer : public Module {
 public:
  Layer(std::size_t inputs, std::size_t outputs, Random& random, Activation activation = Activation::relu,
        Init init = Init::uniform);
  // Returns the outputs of the neurons in their order. Inputs that are numbers become constants, not nodes.
  std::vector<Value> operator()(std::span<const Value> x) const;
  std::vector<Value> operator()(std::span<const double> x) const;
  std::vector<Value> operator()(std::initializer_list<double> x) const { return (*this)(std::span<const double>(x)); }
  std::vector<Value> operator()(std::initializer_list<Value> x) const { return (*this)(std::span<const Value>(x)); }

  std::size_t inputs() const { return neurons_.front().inputs(); }
  std::size_t outputs() const { return neurons_.size(); }          // the number of neurons
  const std::vector<Neuron>& neurons() const { return neurons_; }  // one per output
  std::vector<Value> parameters() const override;
  std::vector<std::string> parameter_names() const override;
  std::size_t parameter_count() const override { return outputs() * (inputs() + 1); }

 private:
  std::vector<Neuron> neurons_;
};

// How an MLP is built, besides the sizes of its layers.
struct MLPOptions {
  Activation activation = Activation::relu;  // the activation of the hidden layers
  Activation output = Activation::linear;    // the activation of the last layer
  Init init = Init::uniform;                 // the distribution of the initial weights, in all layers
  std::uint64_t seed = 1337;                 // the seed of the generator that draws the weights
};

// A multi-layer perceptron: layers, each of which takes the outputs of the one before.
class GRADWALK_EXPORT MLP : public Module {
 public:
  MLP(std::size_t inputs, const std::vector<std::size_t>& outputs_of_layers, const MLPOptions& options = {});
  // Returns the outputs of the last layer. Inputs that are numbers become constants, not nodes.
  std::vector<Value> operator()(std::span<const Value> x) const;
  std::vector<Value> operator()(std::span<const double> x) const;
  std::vector<Value> operator()(std::initializer_list<double> x) const { return (*this)(std::span<const double>(x)); }
  std::vector<Value> operator()(std::initializer_list<Value> x) const { return (*this)(std::span<const Value>(x)); }
  // Returns the output of a model with one output. Throws an Error for a model with several.
  Value scalar(std::span<const Value> x) const;
  Value scalar(std::span<const double> x) const;
  Value scalar(std::initializer_list<double> x) const { return scalar(std::span<const double>(x)); }
  Value scalar(std::initializer_list<Value> x) const { return scalar(std::span<const Value>(x)); }

  // Returns the outputs when the output of each hidden neuron is multiplied by a factor; factors are ordered layer by
  // layer. Dropout with probability p uses the factors 0 and 1 / (1 - p).
  std::vector<Value> with_factors(std::span<const Value> x, std::span<const Value> factors) const;
  std::vector<Value> with_factors(std::span<const double> x, std::span<const double> factors) const;

  std::size_t inputs() const { return layers_.front().inputs(); }  // the number of inputs of the first layer
  std::size_t outputs() const { return layers_.back().outputs(); }
  std::size_t hidden() const;  // the number of neurons in all layers but the last
  const std::vector<Layer>& layers() const { return layers_; }
  const MLPOptions& options() const { return options_; }  // the options that it was built with
  MLP clone() const;                                      // a copy with parameters of its own; a plain copy shares them
  std::vector<Value> parameters() const override;
  std::vector<std::string> parameter_names() const override;

 private:
  template <class Input>
  std::vector<Value> forward(std::span<const Input> x, std::span<const Input> factors = {}) const;
  template <class Input> Value only_output(std::span<const Input> x) const;

  std::vector<Layer> layers_;
  MLPOptions options_;
};

// Prints a module as micrograd does: MLP of [Layer of [ReLUNeuron(2), ReLUNeuron(2)], Layer of [LinearNeuron(2)]]
GRADWALK_EXPORT std::string to_string(const Neuron& neuron);
GRADWALK_EXPORT std::string to_string(const Layer& layer);
GRADWALK_EXPORT std::string to_string(const MLP& model);
GRADWALK_EXPORT std::ostream& operator<<(std::ostream& out, const Neuron& neuron);
GRADWALK_EXPORT std::ostream& operator<<(std::ostream& out, const Layer& layer);
GRADWALK_EXPORT std::ostream& operator<<(std::ostream& out, const MLP& model);

}  // namespace gradwalk
