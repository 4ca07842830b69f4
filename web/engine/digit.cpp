// SPDX-License-Identifier: MIT
// One digit in the network: its scores, the gradient of one score at every pixel, and one neuron opened. All of it is
// recorded as scalar Values, and the engine makes the backward pass.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "digits.hpp"
#include "exchange.hpp"

using namespace gradwalk;
using namespace gradwalk::web;

namespace {

constexpr std::size_t shown_rows = 5;  // of an opened neuron

struct Pass {
  std::vector<Value> inputs, hidden_neurons, scores;
};

Pass forward(const double* picture, std::size_t size) {
  if (size != pixels)
    throw Error("digit", std::to_string(pixels) + " pixels", std::to_string(size), "draw 28 rows of 28");
  Pass pass;
  for (std::size_t i = 0; i < pixels; ++i) pass.inputs.emplace_back(picture[i]);
  const std::vector<Layer>& layers = network_of_digits().layers();
  pass.hidden_neurons = layers[0](pass.inputs);
  pass.scores = layers[1](pass.hidden_neurons);
  return pass;
}

Pass forward_and_back(const double* picture, std::size_t size, double asked) {
  Pass pass = forward(picture, size);
  pass.scores[count(asked, "score", classes - 1)].backward();
  return pass;
}

void write(JsonWriter& json, std::string_view name, const Value& value) {
  json(name).object([&] {
    json("data").value(value.data());
    json("grad").value(value.grad());
  });
}

}  // namespace

// A held-out picture: its pixels, then the digit it shows.
GRADWALK_CALL(digit_held)(double index) {
  const std::size_t digit = count(index, "digit", held_out().size() - 1);
  std::vector<double> numbers(pixels + 1);
  held_out().pixels_of(digit, numbers.data());
  numbers.back() = held_out().labels[digit];
  give(numbers);
}

// The outputs of the hidden neurons, the scores, and the probability of each digit.
GRADWALK_CALL(digit_scores)(const double* picture, std::size_t size) {
  const Pass pass = forward(picture, size);
  std::vector<double> numbers;
  for (const Value& neuron : pass.hidden_neurons) numbers.push_back(neuron.data());
  for (const Value& score : pass.scores) numbers.push_back(score.data());
  const std::vector<double> scores(numbers.end() - classes, numbers.end());
  const double top = scores[largest(scores)];
  double sum = 0;
  for (const double score : scores) sum += std::exp(score - top);
  for (const double score : scores) numbers.push_back(std::exp(score - top) / sum);
  give(numbers);
}

// The gradient of one score: at each hidden neuron, then at each pixel.
GRADWALK_CALL(digit_why)(const double* picture, std::size_t size, double asked) {
  const Pass pass = forward_and_back(picture, size, asked);
  std::vector<double> numbers;
  for (const Value& neuron : pass.hidden_neurons) numbers.push_back(neuron.grad());
  for (const Value& pixel : pass.inputs) numbers.push_back(pixel.grad());
  give(numbers);
}

// One neuron, layer 0 or 1: the inputs whose products are largest, the products of all others together, its sum and
// what it gives. Gradients are those of the score that is asked for; at an input stands this neuron's deposit alone.
GRADWALK_CALL(digit_neuron)(const double* picture, std::size_t size, double asked, double layer, double neuron) {
  const Pass pass = forward_and_back(picture, size, asked);
  const std::vector<Layer>& layers = network_of_digits().layers();
  const bool is_hidden = count(layer, "layer", 1) == 0;
  const std::vector<Neuron>& neurons = layers[is_hidden ? 0 : 1].neurons();
  const std::size_t index = count(neuron, "neuron", neurons.size() - 1);
  const Neuron& opened = neurons[index];
  // The neuron recorded alone, product by product, and paid what it was paid in the whole graph.
  std::vector<Value> inputs, products;
  Value sum = opened.bias();
  opened.zero_grad();
  for (std::size_t i = 0; i < opened.inputs(); ++i) {
    inputs.emplace_back(is_hidden ? pass.inputs[i].data() : pass.hidden_neurons[i].data());
    products.push_back(opened.weights()[i] * inputs[i]);
    sum = sum + products[i];
  }
  const Value output = is_hidden ? tanh(sum) : sum;
  output.backward((is_hidden ? pass.hidden_neurons : pass.scores)[index].grad());

  std::vector<std::size_t> order(inputs.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater{}, [&](std::size_t i) { return std::abs(products[i].data()); });
  const std::span<const std::size_t> top = std::span(order).first(shown_rows),
                                     others = std::span(order).subspan(shown_rows);
  JsonWriter json;
  json.object([&] {
    json("inputs").array(top, [&](std::size_t i) { json.value(i); });
    json("rows").array(top, [&](std::size_t i) {
      json.object([&] {
        write(json, "input", inputs[i]);
        write(json, "weight", opened.weights()[i]);
        json("product").value(products[i].data());
      });
    });
    json("others").object([&] {
      json("count").value(others.size());
      double rest = 0;
      for (const std::size_t i : others) rest += products[i].data();
      json("product").value(rest);
    });
    write(json, "bias", opened.bias());
    write(json, "sum", sum);
    json("output");
    if (is_hidden)
      json.object([&] {
        json("op").value(std::string_view("tanh"));
        json("data").value(output.data());
        json("grad").value(output.grad());
        json("local").value(snapshot(tanh(Value(sum.data()))).nodes.back().locals[0]);
      });
    else
      json.null();
  });
  give(json.take());
}
