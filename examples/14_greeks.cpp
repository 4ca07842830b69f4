// SPDX-License-Identifier: MIT
// The price of a call option in Heston's model, and its derivatives by the six parameters of the model ("greeks"), by
// simulation. The same scalar code runs on a GPU where there is one, and otherwise on the CPU.
#include <cmath>
#include <cstdio>

#include "gradwalk/compile.hpp"
#include "gradwalk/gpu.hpp"
#include "gradwalk/gradwalk.hpp"

using namespace gradwalk;

int main() {
  // The model: the price of a share, and its variance, which returns to a level and is random, too.
  const std::vector<const char*> names{"price", "variance", "speed", "level", "volatility", "correlation"};
  std::vector<Value> parameters;
  for (const double number : {100.0, 0.04, 1.5, 0.04, 0.3, -0.7}) parameters.emplace_back(number);
  const Value &price = parameters[0], &variance = parameters[1], &speed = parameters[2], &level = parameters[3],
              &volatility = parameters[4], &correlation = parameters[5];

  // One path of 32 steps, from two random numbers per step.
  constexpr std::size_t steps = 32, paths = 20000;
  std::vector<Value> inputs(2 * steps);
  const double dt = 1.0 / steps, root = std::sqrt(dt);
  Value x = log(price), v = variance;
  const Value other = sqrt(1.0 - correlation * correlation);
  for (std::size_t t = 0; t < steps; ++t) {
    const Value &z = inputs[2 * t], w = correlation * z + other * inputs[2 * t + 1];
    const Value positive = relu(v) + 1e-8, deviation = sqrt(positive) * root;
    x = x - 0.5 * dt * positive + deviation * z;
    v = v + speed * (level - positive) * dt + volatility * deviation * w;
  }
  const Value payoff = relu(exp(x) - 100.0);

  Random random(1);
  std::vector<double> numbers(paths * inputs.size());
  for (double& number : numbers) number = random.normal();

  std::vector<double> greeks(parameters.size());
  double sum = 0;
  if (gpu::devices().empty()) {
    Program program = compile(payoff, {.inputs = inputs, .parameters = parameters});
    sum = program.gradients(numbers, greeks);
  } else {
    gpu::Program program =
        gpu::compile(payoff, {.inputs = inputs, .parameters = parameters, .precision = Precision::float64});
    sum = program.gradients(gpu::DeviceRows(numbers, inputs.size(), Precision::float64), greeks);
  }
  std::printf("the option costs %.4f\n", sum / paths);
  for (std::size_t i = 0; i < greeks.size(); ++i) std::printf("by %-12s %9.4f\n", names[i], greeks[i] / paths);

  const CudaSource source = emit_cuda(payoff, {.inputs = inputs, .parameters = parameters});
  std::printf("on a GPU: %s\n", source.about.c_str());
}
