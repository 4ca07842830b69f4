// SPDX-License-Identifier: MIT
// Goal: the same scalar code, many times faster. The loss of one row is recorded once. compile() turns its graph into a
// program that runs all rows at once with SIMD instructions, forward and backward. The program prints that both ways
// give the same loss and gradient, the time per step of each way, and what the loops became: three matrix products.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <gradwalk/compile.hpp>
#include <gradwalk/gradwalk.hpp>

using namespace gradwalk;

// Returns the time of the shortest of several runs.
double microseconds(auto what) {
  double shortest = 1e9;
  for (int i = 0; i < 20; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    what();
    shortest =
        std::min(shortest, std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count());
  }
  return shortest;
}

// Returns the squared error of the network for one row. Any function of Values can be compiled.
Value loss(const MLP& model, const Value& x0, const Value& x1, const Value& y) {
  return pow(tanh(model(std::vector{x0, x1})[0]) - y, 2);
}

int main() {
  const MLP model(2, {16, 16, 1});
  std::vector<Value> parameters = model.parameters();
  std::vector<double> rows;  // x0, x1 and y of one row after another
  for (int i = 0; i < 200; ++i) {
    const double x0 = -1 + i % 20 * 0.1, x1 = -1 + i / 20 * 0.2;
    rows.insert(rows.end(), {x0, x1, x0 * x1 > 0 ? 1.0 : -1.0});
  }

  double sum = 0;
  const double eager = microseconds([&] {
    for (Value& p : parameters) p.grad() = 0;
    sum = 0;
    for (std::size_t i = 0; i < rows.size(); i += 3) {
      const Value row_loss = loss(model, rows[i], rows[i + 1], rows[i + 2]);
      row_loss.backward();
      sum += row_loss.data();
    }
  });
  std::printf("eager:    loss %.6f, first gradient %.6f, %.1f us per step\n", sum, parameters[0].grad(), eager);

  // The inputs stand for the numbers of one row. The same function records the loss, and compile() makes the program.
  Value x0, x1, y;
  Program program = compile(loss(model, x0, x1, y), {.inputs = {x0, x1, y}, .parameters = parameters});
  const double compiled = microseconds([&] {
    for (Value& p : parameters) p.grad() = 0;
    sum = program.run(rows);
  });
  std::printf("compiled: loss %.6f, first gradient %.6f, %.1f us per step\n", sum, parameters[0].grad(), compiled);

  const Program::Description about = program.describe();
  std::printf("%zu nodes became %zu instructions, among them matrix products of", about.recorded, about.instructions);
  for (const std::string& layer : about.layers) std::printf(" %s", layer.c_str());
  std::printf("\n");

  // A Trainer keeps the parameters in the program between steps.
  Trainer trainer(program, Adam{.lr = 0.01});
  const RunOptions mean{.result = RunOptions::Result::mean};
  const double before = trainer.step(rows, mean);
  double after = before;
  for (int step = 1; step < 1000; ++step) after = trainer.step(rows, mean);
  std::printf("trained:  mean loss %.3f, after 1000 steps %s\n", before,
              after < 0.01 ? "below 0.01" : "not below 0.01");
}
