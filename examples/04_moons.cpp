// SPDX-License-Identifier: MIT
// Goal: micrograd's demo. A network of 337 parameters learns to separate two half moons.
// The program prints how the loss falls and the accuracy reaches 100%. Then it prints a map of the network's answers:
// # for one moon and . for the other, with the points 1 and 0 that it learned from.
#include <cmath>
#include <cstdio>
#include <gradwalk/gradwalk.hpp>

using namespace gradwalk;

struct Result {
  Value loss;
  double accuracy;
};

// Returns the mean of the hinge losses, max(0, 1 - sign * score), plus a penalty for large parameters.
Result evaluate(const MLP& model, const Dataset& data, const std::vector<double>& sign) {
  std::vector<Value> scores;
  std::size_t right = 0;
  for (std::size_t i = 0; i < data.rows(); ++i) {
    scores.push_back(model.scalar(data.row(i)));
    if ((scores[i] > 0) == (sign[i] > 0)) ++right;
  }
  Value loss = hinge(scores, sign) + 1e-4 * l2_penalty(model.parameters());
  return {loss, 100.0 * static_cast<double>(right) / static_cast<double>(data.rows())};
}

void print_map(const MLP& model, const Dataset& data) {
  const NoGrad guard;
  const double width = 1.0 / 15, height = 1.0 / 8;  // the size of one character
  for (int line = 0; line <= 20; ++line) {
    for (int column = 0; column <= 60; ++column) {
      const double x = -1.5 + column * width, y = 1.5 - line * height;
      char mark = model.scalar({x, y}) > 0 ? '#' : '.';
      for (std::size_t i = 0; i < data.rows(); ++i) {
        const bool here = std::abs(data.row(i)[0] - x) <= width / 2 && std::abs(data.row(i)[1] - y) <= height / 2;
        if (here) mark = data.labels[i] == 1 ? '1' : '0';
      }
      std::putchar(mark);
    }
    std::putchar('\n');
  }
}

int main() {
  const Dataset data = make_moons(100, 0.1, 1337);
  const std::vector<double> sign = signs(data.labels);
  const MLP model(2, {16, 16, 1});
  std::vector<Value> parameters = model.parameters();
  std::printf("%zu parameters\n", parameters.size());

  for (int step = 0; step < 100; ++step) {
    const auto [loss, accuracy] = evaluate(model, data, sign);
    model.zero_grad();
    loss.backward();
    const double rate = 1.0 - 0.9 * step / 100;
    for (Value& p : parameters) p.data() -= rate * p.grad();
    if (step % 10 == 0) std::printf("step %3d  loss %.4f  accuracy %.0f%%\n", step, loss.data(), accuracy);
  }
  const auto [loss, accuracy] = evaluate(model, data, sign);
  std::printf("step 100  loss %.4f  accuracy %.0f%%\n\n", loss.data(), accuracy);
  print_map(model, data);
}
