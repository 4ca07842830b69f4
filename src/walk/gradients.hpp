// SPDX-License-Identifier: MIT
// The chain rule on a snapshot: gradients, and the number of paths to each node.
#pragma once

#include <cmath>
#include <span>

#include "big_count.hpp"
#include "gradwalk/snapshot.hpp"

namespace gradwalk::detail {

// Returns a deposit as the engine computes it: a gradient of 0 gives 0, even times an infinite local derivative.
inline double deposit_of(double gradient, double local) { return gradient == 0 ? 0 : gradient * local; }

// Returns true if two sums differ by more than rounding. `magnitude` is the sum of the magnitudes of their terms.
inline bool differ(double a, double b, double magnitude) {
  return a != b && !(std::isnan(a) && std::isnan(b)) && !(std::abs(a - b) <= 1e-12 * magnitude);
}

// Returns true for a node that was computed, and so passes its gradient on to operands.
inline bool has_operands(const Snapshot::Node& node) { return !node.operands.empty(); }

// Returns all nodes except constants, operands before their users.
std::vector<std::size_t> nodes_in_order(const Snapshot& graph);

// The derivatives of a root with respect to each node.
struct Gradients {
  std::vector<double> values;
  std::vector<double>
      magnitudes;  // the sum of the magnitudes of the paths to each node, which bounds its rounding error
};
// Computes the derivatives of a node with respect to each node below it.
Gradients gradients_of(const Snapshot& graph, std::size_t root);
// The same with local derivatives that replace those of the snapshot.
Gradients gradients_of(const Snapshot& graph, std::size_t root, std::span<const std::vector<double>> locals);

// Returns the number of paths from the root to all nodes together, which is the number of visits of a walk per path.
BigCount count_visits(const Snapshot& graph);
// Returns the number of paths from the root to one node.
BigCount count_paths(const Snapshot& graph, std::size_t to);

}  // namespace gradwalk::detail
