// SPDX-License-Identifier: MIT
// Simulations in plain scalar code, one row each: their graphs repeat the same nodes for each time step. The benchmark
// of gradwalk::gpu and its tests record them.
#pragma once

#include <cmath>
#include <vector>

#include "../objectives/kinds.hpp"
#include "gradwalk/gradwalk.hpp"

namespace gradwalk::simulations {

struct Recorded {
  Value loss;
  std::vector<Value> inputs, parameters;
};

// A call option in Heston's model: six parameters, and two inputs per time step.
inline Recorded heston(int steps) {
  Recorded made;
  for (const double number : {100.0, 0.04, 1.5, 0.04, 0.3, -0.7}) made.parameters.emplace_back(number);
  for (int i = 0; i < 2 * steps; ++i) made.inputs.emplace_back(0.1 * ((i * 7) % 11 - 5));
  made.loss = bench::heston(made.parameters, made.inputs);
  return made;
}

// Predators and prey (Lotka and Volterra) by the method of Runge and Kutta. A row has both numbers at the start, and
// the number of prey that was seen at the end.
inline Recorded lotka_volterra(int steps) {
  Recorded made;
  for (const double number : {1.1, 0.4, 0.1, 0.4}) made.parameters.emplace_back(number);
  for (const double number : {1.0, 0.5, 1.2}) made.inputs.emplace_back(number);
  const Value &a = made.parameters[0], &b = made.parameters[1], &c = made.parameters[2], &d = made.parameters[3];
  const double h = 4.0 / steps;
  Value x = made.inputs[0], y = made.inputs[1];
  const auto prey = [&](const Value& u, const Value& w) { return a * u - b * u * w; };
  const auto predators = [&](const Value& u, const Value& w) { return c * u * w - d * w; };
  for (int t = 0; t < steps; ++t) {
    const Value k1 = prey(x, y), l1 = predators(x, y);
    const Value x2 = x + 0.5 * h * k1, y2 = y + 0.5 * h * l1, k2 = prey(x2, y2), l2 = predators(x2, y2);
    const Value x3 = x + 0.5 * h * k2, y3 = y + 0.5 * h * l2, k3 = prey(x3, y3), l3 = predators(x3, y3);
    const Value x4 = x + h * k3, y4 = y + h * l3, k4 = prey(x4, y4), l4 = predators(x4, y4);
    x = x + (h / 6) * (k1 + 2.0 * k2 + 2.0 * k3 + k4);
    y = y + (h / 6) * (l1 + 2.0 * l2 + 2.0 * l3 + l4);
  }
  const Value off = x - made.inputs[2];
  made.loss = off * off;
  return made;
}

// The loss of a network on a row, with relu in the hidden layers. The last input is the class: with one output, 1 or
// -1, and the loss is the hinge loss; otherwise a number from 0 on, and the loss is the cross-entropy of softmax. A
// network has no time steps, and many parameters.
inline Recorded network(const std::vector<std::size_t>& widths) {
  Recorded made;
  for (std::size_t i = 0; i < widths[0]; ++i) made.inputs.emplace_back(i % 2 == 0 ? 0.5 : -0.25);
  made.inputs.emplace_back(1.0);
  std::vector<Value> values(made.inputs.begin(), made.inputs.end() - 1);
  const auto weight = [&](std::size_t inputs) {
    const auto i = static_cast<double>(made.parameters.size());
    return made.parameters.emplace_back(std::sin(12.9898 * i) / std::sqrt(static_cast<double>(inputs)));
  };
  for (std::size_t layer = 1; layer < widths.size(); ++layer) {
    std::vector<Value> next;
    for (std::size_t k = 0; k < widths[layer]; ++k) {
      Value sum = weight(values.size());
      for (const Value& value : values) sum = sum + weight(values.size()) * value;
      next.push_back(layer + 1 == widths.size() ? sum : relu(sum));
    }
    values = next;
  }
  made.loss =
      widths.back() == 1 ? hinge(values[0], made.inputs.back()) : softmax_cross_entropy(values, made.inputs.back());
  return made;
}

}  // namespace gradwalk::simulations
