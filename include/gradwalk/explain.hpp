// SPDX-License-Identifier: MIT
// Where a gradient comes from: the deposits it is the sum of and, behind them, the paths from the root.
#pragma once

#include <string>
#include <vector>

#include "gradwalk/snapshot.hpp"

namespace gradwalk {

struct Explanation {
  struct Deposit {
    std::size_t from;     // the node that pays: a user of this one
    std::size_t operand;  // which of its operands this one is
    double gradient, local, amount;
  };
  // A way from the root down to the node. Its product is what it contributes: the gradient is the sum over all paths.
  struct Path {
    std::vector<std::size_t> nodes;  // from the root to the node
    std::vector<double> locals;      // the local derivative of each by the next
    double product;
  };

  Snapshot graph;
  std::size_t node;
  double gradient;                // the sum of the deposits, in their order; 1 at the root
  std::vector<Deposit> deposits;  // in the order backward() makes them
  std::string path_count;         // exact, however many
  std::vector<Path> paths;        // those that contribute most, largest magnitude first
};

inline constexpr std::size_t most_paths = 10;  // listed, unless told otherwise

GRADWALK_EXPORT Explanation explain(const Value& root, const Value& node, std::size_t paths = most_paths);
GRADWALK_EXPORT Explanation explain(Snapshot graph, std::size_t node, std::size_t paths = most_paths);

GRADWALK_EXPORT std::string to_json(const Explanation& explanation);  // docs/walk-format.md describes it

}  // namespace gradwalk
