// SPDX-License-Identifier: MIT
// Goal: code with a branch and an early return, over many rows, compiled. A knock-out option pays nothing once the
// price has crossed the barrier. The price of the option is the mean payoff of 20,000 simulated paths, and its
// gradients are the sensitivities (delta, vega, rho). A Function compiles the ways that rows take through the code; the
// program prints that it agrees with the engine, row by row, and what it compiled.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <gradwalk/function.hpp>
#include <gradwalk/gradwalk.hpp>

using namespace gradwalk;

constexpr std::size_t steps = 12;  // months
constexpr double strike = 100, barrier = 130;

int main() {
  Value price = Value(100.0).label("price"), volatility{0.2}, rate{0.03};
  std::vector<Value> parameters{price, volatility, rate};

  // The payoff of one path. The inputs are its normally distributed numbers, one per month.
  const auto payoff = [&](const std::vector<Value>& normal) -> Value {
    constexpr double dt = 1.0 / steps;
    const Value drift = (rate - volatility * volatility / 2) * dt, scale = volatility * std::sqrt(dt);
    Value now = price;
    for (const Value& z : normal) {
      now = (now * exp(drift + scale * z)).label("price");
      if (now > barrier) return 0.0;
    }
    if (now <= strike) return 0.0;
    return (now - strike) * exp(-rate);
  };

  Random random(1);
  std::vector<double> rows(20'000 * steps);
  for (double& number : rows) number = random.normal();

  Function function(payoff, {.inputs = steps, .parameters = parameters});
  std::vector<double> greeks(parameters.size()), payoffs(rows.size() / steps);
  const double value = function.gradients(rows, greeks, {.result = RunOptions::Result::mean, .outputs = payoffs});
  std::printf("price %.4f, delta %.4f, vega %.4f, rho %.4f\n", value, greeks[0], greeks[1], greeks[2]);

  double largest_difference = 0;
  for (std::size_t i = 0; i < payoffs.size(); i += 97) {
    const std::vector<Value> normal(&rows[i * steps], &rows[i * steps] + steps);
    largest_difference = std::max(largest_difference, std::abs(payoff(normal).data() - payoffs[i]));
  }
  std::printf("largest difference to the engine: %s\n", largest_difference < 1e-11 ? "below 1e-11" : "too large");

  const Function::Description about = function.describe(3);
  std::printf("%zu paths, %zu of them compiled; the most used:\n", about.paths, about.programs);
  for (const Function::Path& path : about.most_used)
    std::printf("  %5zu rows, %2zu comparisons%s%s\n", path.rows, path.comparisons,
                path.parts_at.empty() ? "" : ", parts at ", path.parts_at.c_str());
}
