// SPDX-License-Identifier: MIT
// Inside the network that learns: its weights and their gradients, what each neuron sees of the plane, and what one
// weight does to the loss while all others are held.
#include <array>
#include <cmath>

#include "exchange.hpp"
#include "gradwalk/graph.hpp"
#include "run.hpp"

using namespace gradwalk;
using namespace gradwalk::web;

namespace {

constexpr std::size_t most_grid = 64, most_probes = 1'000;

// A weight by its place; the bias is the input after the last.
Value weight_at(const Run& now, double layer, double neuron, double input) {
  const std::vector<Layer>& layers = now.training.classifier().network.layers();
  const Layer& of = layers[count(layer, "layer", layers.size() - 1)];
  const Neuron& one = of.neurons()[count(neuron, "neuron", of.outputs() - 1)];
  return one.parameters()[count(input, "input", one.inputs())];
}

double loss_now(const Run& now) { return now.training.classifier().evaluate(now.data).loss; }

// The mean loss of all points and its gradient, without a step; what a step would do first.
double walk_back(const Run& now) {
  const Classifier& model = now.training.classifier();
  for (Value parameter : model.network.parameters()) parameter.grad() = 0;
  const double share = 1.0 / static_cast<double>(now.data.rows());
  double loss = 0;
  for (std::size_t row = 0; row < now.data.rows(); ++row) {
    const std::vector<Value> outputs = model.network(now.data.row(row));
    const Value one = row_loss(model.loss, outputs, now.data.labels[row]);
    loss += share * one.data();
    one.backward(share);
  }
  return loss;
}

}  // namespace

// All parameters, layer by layer and neuron by neuron, each neuron's weights and then its bias; then their gradients in
// the same order: the mean of the last steps, or those of the last walk where there was no step.
GRADWALK_CALL(train_weights)() {
  const Run& now = present();
  const std::vector<Value> parameters = now.training.classifier().network.parameters();
  std::vector<double> numbers;
  for (const Value& parameter : parameters) numbers.push_back(parameter.data());
  if (now.mean_gradient.size() == parameters.size())
    numbers.insert(numbers.end(), now.mean_gradient.begin(), now.mean_gradient.end());
  else
    for (const Value& parameter : parameters) numbers.push_back(parameter.grad());
  give(numbers);
}

// The output of each neuron over a grid of the plane: neuron after neuron, each row by row, the top row first.
GRADWALK_CALL(train_neurons)(double x0, double x1, double y0, double y1, double size) {
  const MLP& network = present().training.classifier().network;
  const std::size_t cells = count(size, "grid", most_grid);
  std::size_t neurons = 0;
  for (const Layer& layer : network.layers()) neurons += layer.outputs();
  std::vector<double> numbers(neurons * cells * cells);
  std::vector<double> x, next;
  for (std::size_t cell = 0; cell < cells * cells; ++cell) {
    const double right = (static_cast<double>(cell % cells) + 0.5) / size;
    const double down = (static_cast<double>(cell / cells) + 0.5) / size;
    x = {x0 + (x1 - x0) * right, y1 + (y0 - y1) * down};
    std::size_t at = 0;
    for (const Layer& layer : network.layers()) {
      next.clear();
      for (const Neuron& neuron : layer.neurons()) {
        next.push_back(neuron(x).data());
        numbers[at++ * cells * cells + cell] = next.back();
      }
      x.swap(next);
    }
  }
  give(numbers);
}

// The loss with one weight at each of the values, all others as they are.
GRADWALK_CALL(train_probe)(double layer, double neuron, double input, const double* values, std::size_t size) {
  const Run& now = present();
  Value weight = weight_at(now, layer, neuron, input);
  const double before = weight.data();
  std::vector<double> losses;
  for (std::size_t i = 0; i < count(static_cast<double>(size), "values", most_probes); ++i) {
    weight.data() = values[i];
    losses.push_back(loss_now(now));
  }
  weight.data() = before;
  give(losses);
}

// One point's index, loss and scores; of a negative index, those of the point whose loss is largest.
GRADWALK_CALL(train_point)(double index) {
  const Run& now = present();
  const Classifier& model = now.training.classifier();
  const auto look = [&](std::size_t row) {
    const std::vector<Value> outputs = model.network(now.data.row(row));
    std::vector<double> numbers{static_cast<double>(row), row_loss(model.loss, outputs, now.data.labels[row]).data()};
    for (const Value& output : outputs) numbers.push_back(output.data());
    return numbers;
  };
  if (index >= 0) return give(look(count(index, "point", now.data.rows() - 1)));
  std::vector<double> worst = look(0);
  for (std::size_t row = 1; row < now.data.rows(); ++row)
    if (std::vector<double> one = look(row); one[1] > worst[1]) worst = std::move(one);
  give(worst);
}

// Puts a weight somewhere; gives the loss there and the weight's gradient.
GRADWALK_CALL(train_set_weight)(double layer, double neuron, double input, double value) {
  Run& now = present();
  if (!(std::abs(value) <= 1e6)) return refuse(Error("weight", "a number up to 1000000", "another", "keep it in view"));
  Value weight = weight_at(now, layer, neuron, input);
  weight.data() = value;
  now.mean_gradient.clear();
  const double loss = walk_back(now);
  JsonWriter json;
  json.object([&] {
    json("loss").value(loss);
    json("gradient").value(weight.grad());
  });
  give(json.take());
}
