// SPDX-License-Identifier: MIT
// A network that learns while one watches: micrograd's recipe but for its loss, which is the logistic one with two
// classes (never zero, so every point still teaches) and softmax with three; always on all points. One run at a time.
#include <algorithm>
#include <cmath>

#include "exchange.hpp"
#include "gradwalk/walk.hpp"
#include "run.hpp"

using namespace gradwalk;
using namespace gradwalk::web;

namespace {

constexpr std::size_t most_points = 5'000, most_hidden = 3, most_neurons = 64, most_cells = 250'000;

std::optional<Run> run;

// Two clouds that a line can part, if the noise is small.
Dataset make_clouds(std::size_t n, double noise, std::uint64_t seed) {
  Dataset data{2, {}, {}, {"x1", "x2"}, {"0", "1"}};
  Random random(seed);
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t label = i % 2;
    const double side = label == 1 ? 1 : -1;
    data.x.push_back(random.normal(side, noise));
    data.x.push_back(random.normal(0.5 * side, noise));
    data.labels.push_back(label);
  }
  return data;
}

Dataset make_data(std::string_view kind, std::size_t n, double noise, std::uint64_t seed) {
  if (kind == "neuron") return make_clouds(n, noise, seed);
  if (kind == "moons") return make_moons(n, noise, seed);
  if (kind == "spiral") return make_spiral(n, 3, noise, seed);
  throw Error("train", "data of neuron, moons or spiral", "'" + std::string(kind) + "'", "choose one of them");
}

Activation activation_of(std::string_view wanted) {
  for (const Activation one : {Activation::linear, Activation::relu, Activation::tanh, Activation::sigmoid})
    if (name(one) == wanted) return one;
  throw Error("train", "an activation of linear, relu, tanh or sigmoid", "'" + std::string(wanted) + "'",
              "choose one of them");
}

void give_report(const TrainingRun::Report& report) {
  JsonWriter json;
  json.object([&] {
    json("step").value(static_cast<std::size_t>(report.step));
    json("loss").value(report.loss);
    json("accuracy").value(report.accuracy);
  });
  give(json.take());
}

// Which part of the network a node belongs to.
struct Group {
  std::string_view part;
  std::size_t layer = 0, neuron = 0;
};

// Gives the group to the node and all below it that have none yet.
void assign(const Snapshot& graph, std::size_t from, const Group& group, std::vector<std::optional<Group>>& groups) {
  std::vector<std::size_t> stack{from};
  while (!stack.empty()) {
    const std::size_t node = stack.back();
    stack.pop_back();
    if (groups[node]) continue;
    groups[node] = group;
    for (const std::size_t operand : graph.nodes[node].operands) stack.push_back(operand);
  }
}

// The loss of one point, every node with a name that says where it is.
struct PointGraph {
  Snapshot graph;
  std::vector<std::optional<Group>> groups;
};

PointGraph graph_of_point(const Classifier& model, std::span<const double> row, std::size_t label) {
  for (auto& [name, parameter] : model.network.named_parameters()) parameter.label(name);
  std::vector<Value> inputs;
  for (std::size_t i = 0; i < row.size(); ++i) inputs.push_back(Value(row[i]).label("x" + std::to_string(i + 1)));
  std::vector<std::vector<Value>> outputs;
  for (const Layer& layer : model.network.layers()) {
    std::vector<Value> of_layer;
    const std::vector<Value>& x = outputs.empty() ? inputs : outputs.back();
    for (const Neuron& neuron : layer.neurons())
      of_layer.push_back(
          neuron(x).label("layers." + std::to_string(outputs.size()) + ".neurons." + std::to_string(of_layer.size())));
    outputs.push_back(std::move(of_layer));
  }
  Value loss = row_loss(model.loss, outputs.back(), label);
  loss.label("loss");
  PointGraph point{snapshot(loss), {}};
  point.groups.resize(point.graph.nodes.size());
  const auto assign_value = [&](const Value& value, const Group& group) {
    if (const auto node = point.graph.find(value)) assign(point.graph, *node, group, point.groups);
  };
  for (std::size_t i = 0; i < inputs.size(); ++i) assign_value(inputs[i], {"input", 0, i});
  for (std::size_t layer = 0; layer < outputs.size(); ++layer)
    for (std::size_t neuron = 0; neuron < outputs[layer].size(); ++neuron)
      assign_value(outputs[layer][neuron], {"neuron", layer, neuron});
  assign_value(loss, {"loss"});
  return point;
}

// One step's gradient alone jumps; ten together tell where a weight is pushed.
void remember_gradient(Run& now) {
  const std::vector<Value> parameters = now.training.classifier().network.parameters();
  const bool is_first = now.mean_gradient.empty();
  now.mean_gradient.resize(parameters.size());
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    double& mean = now.mean_gradient[i];
    mean = is_first ? parameters[i].grad() : 0.9 * mean + 0.1 * parameters[i].grad();
  }
}

}  // namespace

Run& gradwalk::web::present() {
  if (!run) throw Error("train", "a network", "none", "create one first");
  return *run;
}

GRADWALK_CALL(train)(const char* kind, std::size_t kind_size, double samples, double noise, double seed,
                     const double* hidden, std::size_t hidden_size, double rate, const char* activation,
                     std::size_t activation_size) {
  const std::size_t points = count(samples, "samples", most_points);
  if (points < 3) throw Error("train", "at least 3 points", std::to_string(points), "ask for more");
  if (!(noise >= 0 && noise <= 10)) throw Error("train", "noise from 0 to 10", "another", "choose less");
  Recipe recipe = micrograd_recipe();
  recipe.hidden.clear();
  recipe.loss = LossKind::bce;
  recipe.seed = count(seed, "seed", 0xffffffff);
  count(static_cast<double>(hidden_size), "hidden layers", most_hidden);
  for (std::size_t i = 0; i < hidden_size; ++i) {
    const std::size_t neurons = count(hidden[i], "neurons in a layer", most_neurons);
    if (neurons == 0) throw Error("train", "neurons in every layer", "0", "leave the layer out");
    recipe.hidden.push_back(neurons);
  }
  recipe.activation = activation_of({activation, activation_size});
  Dataset data = make_data({kind, kind_size}, points, noise, recipe.seed);
  if (data.label_names.size() > 2) {
    recipe.loss = LossKind::softmax;
    recipe.init = recipe.activation == Activation::relu ? Init::he : Init::xavier;
  }
  run.reset();
  TrainingRun training(data, recipe);
  training.set_learning_rate(rate);
  run.emplace(Run{std::move(data), std::move(training)});
  give_report(run->last);
}

GRADWALK_CALL(train_step)(double steps) {
  Run& now = present();
  for (std::size_t left = count(steps, "steps", 1'000'000); left > 0; --left) {
    now.last = now.training.step();
    remember_gradient(now);
  }
  give_report(now.last);
}

GRADWALK_CALL(train_set_rate)(double rate) {
  present().training.set_learning_rate(rate);
  give_report(run->last);
}

// The x of all, the y of all, the labels of all.
GRADWALK_CALL(train_points)() {
  const Dataset& data = present().data;
  std::vector<double> numbers;
  for (const std::size_t column : {0u, 1u})
    for (std::size_t i = 0; i < data.rows(); ++i) numbers.push_back(data.row(i)[column]);
  for (const std::size_t label : data.labels) numbers.push_back(static_cast<double>(label));
  give(numbers);
}

GRADWALK_CALL(train_set_points)(const double* x, std::size_t size, const double* y, std::size_t y_size,
                                const double* label, std::size_t label_size) {
  Run& now = present();
  if (y_size != size || label_size != size || size == 0 || size > most_points)
    return refuse(Error("points", "1 to " + std::to_string(most_points) + " of them", std::to_string(size),
                        size == 0 ? "keep one" : "take some away"));
  Dataset data = now.data;
  data.x.clear(), data.labels.clear();
  for (std::size_t i = 0; i < size; ++i) {
    if (!(std::abs(x[i]) <= 1e6) || !(std::abs(y[i]) <= 1e6))
      return refuse(Error("points", "numbers up to 1000000", "others", "keep them in view"));
    data.x.push_back(x[i]);
    data.x.push_back(y[i]);
    data.labels.push_back(count(label[i], "label", data.label_names.size() - 1));
  }
  now.training.set_data(data);
  now.data = std::move(data);
  give_report(now.last);
}

// The class of each cell, the top row first; then how sure the network is of each.
GRADWALK_CALL(train_regions)(double x0, double x1, double y0, double y1, double width, double height) {
  const Classifier& model = present().training.classifier();
  const std::size_t columns = count(width, "width", 1'000), rows = count(height, "height", 1'000);
  const std::size_t cells = count(static_cast<double>(columns * rows), "cells", most_cells);
  std::vector<double> numbers(2 * cells);
  for (std::size_t cell = 0; cell < cells; ++cell) {
    const double right = (static_cast<double>(cell % columns) + 0.5) / width;
    const double down = (static_cast<double>(cell / columns) + 0.5) / height;
    const std::vector<double> scores = model.scores(std::array{x0 + (x1 - x0) * right, y1 + (y0 - y1) * down});
    const std::size_t label = Classifier::label_of(scores);
    numbers[cell] = static_cast<double>(label);
    numbers[cells + cell] = model.probability(scores, label);
  }
  give(numbers);
}

GRADWALK_CALL(train_walk_point)(double index) {
  const Run& now = present();
  const std::size_t row = count(index, "point", now.data.rows() - 1);
  PointGraph point = graph_of_point(now.training.classifier(), now.data.row(row), now.data.labels[row]);
  JsonWriter json;
  json.object([&] {
    json("groups").array(point.groups, [&](const std::optional<Group>& group) {
      json.object([&] {
        json("part").value(group->part);
        json("layer").value(group->layer);
        json("neuron").value(group->neuron);
      });
    });
  });
  give(merged(to_json(Walk(std::move(point.graph))), json.take()));
}

GRADWALK_CALL(train_history)() {
  const History& history = present().training.history();
  JsonWriter json;
  const auto list = [&](std::string_view name, const std::vector<double>& numbers) {
    json(name).array(numbers, [&](double number) { json.value(number); });
  };
  json.object([&] {
    list("step", history.steps);
    list("loss", history.loss);
    list("accuracy", history.accuracy);
  });
  give(json.take());
}
