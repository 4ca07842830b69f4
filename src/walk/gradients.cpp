// SPDX-License-Identifier: MIT
// Computes gradients and counts of paths, each in one loop from the root down.
#include "gradients.hpp"

#include <cmath>
#include <utility>

namespace gradwalk::detail {
namespace {

// Calls visit(node, number of paths from the root) for each node, from the root down, until it returns false. A count
// is freed once it has been added to the operands, so only those between visited and unvisited nodes are in memory.
template <class Visit> void each_path_count(const Snapshot& graph, Visit visit) {
  std::vector<BigCount> counts(graph.nodes.size());
  counts.back() = BigCount(1);
  for (std::size_t node = graph.nodes.size(); node-- > 0;) {
    const BigCount count = std::exchange(counts[node], BigCount());
    for (const std::size_t operand : graph.nodes[node].operands)
      if (!graph.nodes[operand].is_constant()) counts[operand] += count;
    if (!visit(node, count)) return;
  }
}

// Runs a backward pass. locals(i) returns the local derivatives of node i.
template <class Locals> Gradients chain_rule(const Snapshot& graph, std::size_t root, Locals locals) {
  Gradients result{std::vector<double>(graph.nodes.size()), std::vector<double>(graph.nodes.size())};
  result.values[root] = result.magnitudes[root] = 1;
  for (std::size_t i = root + 1; i-- > 0;) {
    if (result.magnitudes[i] == 0) continue;  // not below the root
    const Snapshot::Node& node = graph.nodes[i];
    const std::vector<double>& local = locals(i);
    for (std::size_t k = 0; k < node.operands.size(); ++k) {
      if (graph.nodes[node.operands[k]].is_constant()) continue;
      result.values[node.operands[k]] += deposit_of(result.values[i], local[k]);
      result.magnitudes[node.operands[k]] += std::abs(result.magnitudes[i] * local[k]);
    }
  }
  return result;
}

}  // namespace

std::vector<std::size_t> nodes_in_order(const Snapshot& graph) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    if (!graph.nodes[i].is_constant()) order.push_back(i);
  return order;
}

Gradients gradients_of(const Snapshot& graph, std::size_t root) {
  return chain_rule(graph, root, [&](std::size_t i) -> const std::vector<double>& { return graph.nodes[i].locals; });
}

Gradients gradients_of(const Snapshot& graph, std::size_t root, std::span<const std::vector<double>> locals) {
  return chain_rule(graph, root, [&](std::size_t i) -> const std::vector<double>& { return locals[i]; });
}

BigCount count_visits(const Snapshot& graph) {
  BigCount total;
  each_path_count(graph, [&](std::size_t, const BigCount& count) {
    total += count;
    return true;
  });
  return total;
}

BigCount count_paths(const Snapshot& graph, std::size_t to) {
  BigCount paths;
  each_path_count(graph, [&](std::size_t node, const BigCount& count) {
    if (node == to) paths = count;
    return node != to;
  });
  return paths;
}

}  // namespace gradwalk::detail
