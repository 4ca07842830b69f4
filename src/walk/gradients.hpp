// SPDX-License-Identifier: MIT
// The chain rule on a snapshot: gradients, and how many paths lead to each node.
#pragma once

#include <cmath>
#include <span>

#include "big_count.hpp"
#include "gradwalk/snapshot.hpp"

namespace gradwalk::detail {

// A deposit, as the engine makes it: nothing times a local derivative without bounds is still nothing.
inline double deposit_of(double gradient, double local) { return gradient == 0 ? 0 : gradient * local; }

// Two sums of the same deposits in different orders differ by rounding; anything more is a difference.
inline bool differ(double a, double b, double magnitude) {
  return a != b && !(std::isnan(a) && std::isnan(b)) && !(std::abs(a - b) <= 1e-12 * magnitude);
}

inline bool has_operands(const Snapshot::Node& node) { return !node.operands.empty(); }

// Every node but the constants, operands before their users.
std::vector<std::size_t> nodes_in_order(const Snapshot& graph);

// The derivative of one node by each node, and the sum of the magnitudes it is made of: the measure of its rounding.
struct Gradients {
  std::vector<double> values, magnitudes;
};
Gradients gradients_of(const Snapshot& graph, std::size_t root);
// The same with other local derivatives than the snapshot's, by node.
Gradients gradients_of(const Snapshot& graph, std::size_t root, std::span<const std::vector<double>> locals);

// How many paths lead from the root to the nodes together, and to one of them.
BigCount count_visits(const Snapshot& graph);
BigCount count_paths(const Snapshot& graph, std::size_t to);

}  // namespace gradwalk::detail
