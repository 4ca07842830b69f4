// SPDX-License-Identifier: MIT
// Networks as text, as micrograd prints them.
#include <ostream>

#include "gradwalk/nn.hpp"

namespace gradwalk {
namespace {

template <class Part> std::string list(std::string_view kind, const std::vector<Part>& parts) {
  std::string text(kind);
  text += " of [";
  const char* separator = "";
  for (const Part& part : parts) {
    text += separator + to_string(part);
    separator = ", ";
  }
  return text + "]";
}

}  // namespace

std::string_view name(Activation activation) {
  switch (activation) {
    case Activation::relu: return "relu";
    case Activation::tanh: return "tanh";
    case Activation::sigmoid: return "sigmoid";
    case Activation::gelu: return "gelu";
    case Activation::gelu_tanh: return "gelu_tanh";
    case Activation::leaky_relu: return "leaky_relu";
    case Activation::elu: return "elu";
    case Activation::softplus: return "softplus";
    default: return "linear";
  }
}

std::string_view name(Init init) {
  switch (init) {
    case Init::xavier: return "xavier";
    case Init::he: return "he";
    default: return "uniform";
  }
}

std::string to_string(const Neuron& neuron) {
  std::string kind(name(neuron.activation()));
  if (neuron.activation() == Activation::relu)
    kind = "ReLU";
  else
    kind[0] = static_cast<char>(kind[0] - 'a' + 'A');
  return kind + "Neuron(" + std::to_string(neuron.inputs()) + ")";
}
std::string to_string(const Layer& layer) { return list("Layer", layer.neurons()); }
std::string to_string(const MLP& model) { return list("MLP", model.layers()); }

std::ostream& operator<<(std::ostream& out, const Neuron& neuron) { return out << to_string(neuron); }
std::ostream& operator<<(std::ostream& out, const Layer& layer) { return out << to_string(layer); }
std::ostream& operator<<(std::ostream& out, const MLP& model) { return out << to_string(model); }

}  // namespace gradwalk
