// SPDX-License-Identifier: MIT
// kind-...: programs of one row, compiled as a whole. Their bars are ratios to the same function of plain doubles.
#include "kinds.hpp"

#include "../objective.hpp"
#include "more.hpp"

namespace bench {
namespace {

template <class Objective>
Case kind(const char* name, const Objective& objective, const std::vector<double>& inputs, double bar) {
  return objective_case(name, objective, inputs, {}, over_primal(bar, bar));
}

// Points of a cubic lattice, moved a little, so that no two are close.
std::vector<double> lattice(std::size_t points, double distance) {
  Numbers numbers;
  std::size_t side = 1;
  while (side * side * side < points) ++side;
  std::vector<double> x;
  for (std::size_t i = 0; i < points; ++i)
    for (const std::size_t place : {i % side, i / side % side, i / side / side})
      x.push_back(distance * (static_cast<double>(place) + numbers.uniform(-0.1, 0.1)));
  return x;
}

}  // namespace

Case kind_pairs(const Sizes& sizes) {
  return kind("kind-pairs", [](const auto& x) { return lennard_jones(x); }, lattice(sizes.tiny ? 5 : 500, 1.2), 6);
}

Case kind_gravity(const Sizes& sizes) {
  Numbers numbers;
  std::vector<double> x;
  const std::vector<double> places = lattice(sizes.tiny ? 5 : 200, 1);
  for (std::size_t i = 0; i < places.size(); i += 3)
    x.insert(x.end(), {numbers.uniform(1, 3), places[i], places[i + 1], places[i + 2]});
  return kind("kind-gravity", [](const auto& all) { return attraction(all); }, x, 2.5);
}

Case kind_chain(const Sizes& sizes) {
  const std::size_t states = sizes.tiny ? 3 : 10;
  const int steps = sizes.tiny ? 4 : 1'000;
  return kind(
      "kind-hmm", [=](const auto& x) { return hidden_chain(x, states, steps); },
      Numbers().uniform(inputs_of_chain(states), -2, 0), 2.5);
}

Case kind_path(const Sizes& sizes) {
  const std::size_t states = sizes.tiny ? 3 : 10;
  const int steps = sizes.tiny ? 4 : 500;
  return kind(
      "kind-viterbi", [=](const auto& x) { return best_path(x, states, steps); },
      Numbers().uniform(inputs_of_chain(states), -2, 0), 3);
}

Case kind_kalman(const Sizes& sizes) {
  const std::vector<double> measured = Numbers().normal(sizes.tiny ? 3 : 200);
  std::vector<double> step = Numbers().uniform(16, -0.1, 0.1);
  for (std::size_t i = 0; i < 4; ++i) step[5 * i] += 0.9;
  return kind("kind-kalman", [measured](const auto& x) { return kalman4(x, measured); }, step, 2.5);
}

Case kind_euler(const Sizes& sizes) {
  const int steps = sizes.tiny ? 3 : 1'000;
  return kind("kind-euler", [steps](const auto& x) { return implicit_euler(x, steps); }, {1.5, 0.5, 2.0}, 4);
}

Case kind_mixed(const Sizes& sizes) {
  return kind(
      "kind-mixed", [](const auto& x) { return mixed_sum(x); }, Numbers().uniform(sizes.tiny ? 10 : 50'000, -1, 1), 1);
}

}  // namespace bench
