// SPDX-License-Identifier: MIT
// more-...: further objectives, whose cost per op is compared with that of moons. All have the same bar: no style of
// code may cost much more per op than another.
#include "more.hpp"

#include "../objective.hpp"

namespace bench {
namespace {

template <class Objective> Case against_moons(const char* name, const Objective& objective,
                                              const std::vector<double>& inputs, const Sizes& sizes) {
  Case c = objective_case(name, objective, inputs, {.ratio = 4});
  c.variants.insert(c.variants.begin(), moons_op(sizes));
  return c;
}

}  // namespace

Case more_options(const Sizes& sizes) {
  Numbers numbers;
  std::vector<double> inputs{0.03};
  for (int asset = 0; asset < (sizes.tiny ? 2 : 10); ++asset) {
    inputs.insert(inputs.end(), {numbers.uniform(80, 120), numbers.uniform(0.1, 0.4), numbers.uniform(80, 120)});
  }
  const std::vector<double> draws = numbers.normal(sizes.tiny ? 5 : 1'000);
  return against_moons("more-options", [draws](const auto& x) { return options(x, draws); }, inputs, sizes);
}

Case more_kalman(const Sizes& sizes) {
  const std::vector<double> measured = Numbers().normal(sizes.tiny ? 5 : 5'000);
  return against_moons(
      "more-kalman", [measured](const auto& x) { return kalman(x, measured); }, {0.1, 0.2, 0.5, 0.3, 0.8}, sizes);
}

Case more_attraction(const Sizes& sizes) {
  return against_moons(
      "more-attract", [](const auto& x) { return attraction(x); }, Numbers().uniform(sizes.tiny ? 16 : 400, 1, 3),
      sizes);
}

Case more_inverse(const Sizes& sizes) {
  const std::size_t n = sizes.tiny ? 4 : 30;
  return against_moons(
      "more-inverse", [n](const auto& x) { return inverse_trace(x, n); }, Numbers().uniform(n * n, -1, 1), sizes);
}

Case more_rosenbrock(const Sizes& sizes) {
  return against_moons(
      "more-valley", [](const auto& x) { return rosenbrock(x); }, Numbers().uniform(sizes.tiny ? 10 : 10'000, -2, 2),
      sizes);
}

Case more_choices(const Sizes& sizes) {
  return against_moons(
      "more-choices", [](const auto& x) { return choices(x); }, Numbers().uniform(sizes.tiny ? 20 : 20'000, -1, 1),
      sizes);
}

Case more_fibonacci(const Sizes& sizes) {
  const int n = sizes.tiny ? 6 : 22;
  return against_moons("more-fibonacci", [n](const auto& x) { return fibonacci(x[0], x[1], n); }, {0.6, 0.5}, sizes);
}

Case more_horner(const Sizes& sizes) {
  const int places = sizes.tiny ? 5 : 200;
  return against_moons(
      "more-horner", [places](const auto& x) { return horner(x, places); },
      Numbers().uniform(sizes.tiny ? 8 : 100, -1, 1), sizes);
}

Case more_walk(const Sizes& sizes) {
  return against_moons(
      "more-walk", [](const auto& x) { return walk(x); }, Numbers().uniform(sizes.tiny ? 10 : 10'000, -1, 1), sizes);
}

Case more_heat(const Sizes& sizes) {
  const int steps = sizes.tiny ? 4 : 200;
  return against_moons(
      "more-heat", [steps](const auto& x) { return heat(x, steps); }, Numbers().uniform(sizes.tiny ? 8 : 100, 0.1, 0.4),
      sizes);
}

}  // namespace bench
