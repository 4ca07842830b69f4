// SPDX-License-Identifier: MIT
// Explains where a gradient comes from: the deposits that it is the sum of, and the paths from the root behind them.
#pragma once

#include <string>
#include <vector>

#include "gradwalk/snapshot.hpp"

namespace gradwalk {

// The gradient of one node, split into its contributions.
struct Explanation {
  // One contribution to the gradient: amount = gradient * local.
  struct Deposit {
    std::size_t from;     // the node that pays it, which uses the explained node as an operand
    std::size_t operand;  // which operand of `from` the explained node is
    double gradient;      // the gradient of `from`
    double local;         // the local derivative of `from` with respect to this operand
    double amount;        // the deposit
  };
  // A path from the root to the node. The gradient is the sum of the products of all paths.
  struct Path {
    std::vector<std::size_t> nodes;  // the nodes from the root to the explained node
    std::vector<double> locals;      // the local derivative of each node with respect to the next
    double product;                  // the product of the locals: the contribution of this path
  };

  Snapshot graph;                 // the graph
  std::size_t node;               // the explained node
  double gradient;                // the sum of the deposits, in their order; 1 for the root
  std::vector<Deposit> deposits;  // in the order in which backward() makes them
  std::string path_count;         // the exact number of paths, which may have thousands of digits
  std::vector<Path> paths;        // the paths that contribute most, largest magnitude first
};

inline constexpr std::size_t default_paths = 10;  // the number of paths that explain() lists by default
[[deprecated("use default_paths")]] inline constexpr std::size_t most_paths = default_paths;  // the old name

// Explains the gradient of a node with respect to the root, listing at most `paths` paths. The time grows with the size
// of the graph and the length of the listed paths, not with the number of paths. Throws an Error if the node is not
// below the root or is a constant.
GRADWALK_EXPORT Explanation explain(const Value& root, const Value& node, std::size_t paths = default_paths);
// The same for a node of a snapshot. Throws an Error if there is no such node.
GRADWALK_EXPORT Explanation explain(Snapshot graph, std::size_t node, std::size_t paths = default_paths);

// Returns the explanation as JSON. docs/walk-format.md describes the format.
GRADWALK_EXPORT std::string to_json(const Explanation& explanation);

}  // namespace gradwalk
