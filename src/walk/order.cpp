// SPDX-License-Identifier: MIT
// Visiting orders: parses one from names, and tries all of them.
#include <algorithm>
#include <map>

#include "gradients.hpp"
#include "gradwalk/walk.hpp"

namespace gradwalk {

using namespace detail;

namespace {

std::string_view trim(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\n"), end = text.find_last_not_of(" \t\n");
  return begin == std::string_view::npos ? "" : text.substr(begin, end - begin + 1);
}

// Calls take(name) for each name between commas. Commas in parentheses do not separate: max(a, b) is one name.
template <class Take> void split(std::string_view text, Take take) {
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '(') ++depth;
    if (text[i] == ')') --depth;
    if (text[i] != ',' || depth > 0) continue;
    take(trim(text.substr(begin, i - begin)));
    begin = i + 1;
  }
  take(trim(text.substr(begin)));
}

std::string names_of(const Snapshot& graph) {
  std::string names;
  for (const std::size_t i : nodes_in_order(graph)) {
    if (names.size() > 200) return names + ", ...";
    names += (names.empty() ? "" : ", ") + graph.nodes[i].name;
  }
  return names;
}

// Returns the gradients of the leaves after a backward pass in this order. It keeps no record, because it runs for each
// of n! orders.
std::vector<double> leaf_gradients(const Snapshot& graph, const std::vector<std::size_t>& order,
                                   const std::vector<std::size_t>& leaves) {
  std::vector<double> grad(graph.nodes.size());
  grad.back() = 1;
  for (const std::size_t i : order) {
    const Snapshot::Node& node = graph.nodes[i];
    for (std::size_t k = 0; k < node.operands.size(); ++k)
      grad[node.operands[k]] += deposit_of(grad[i], node.locals[k]);
  }
  std::vector<double> result;
  result.reserve(leaves.size());
  for (const std::size_t leaf : leaves) result.push_back(grad[leaf]);
  return result;
}

}  // namespace

std::vector<std::size_t> parse_order(const Snapshot& graph, std::string_view names) {
  std::vector<std::size_t> order;
  split(names, [&](std::string_view name) {
    const std::optional<std::size_t> found = graph.find(name);
    if (!found)
      throw Error("walk", "an order of node names separated by commas", "'" + std::string(name) + "'",
                  "name each of: " + names_of(graph));
    order.push_back(*found);
  });
  return order;
}

OrderTally try_all_orders(const Snapshot& graph) {
  const std::vector<std::size_t> nodes = nodes_in_order(graph);
  if (nodes.size() > most_nodes_to_tally)
    throw Error("walk", "at most " + std::to_string(most_nodes_to_tally) + " nodes to try every order",
                std::to_string(nodes.size()), "try a smaller graph, or an order of your own");
  OrderTally tally{{}, 0, {}};
  for (const std::size_t i : nodes)
    if (graph.nodes[i].is_leaf()) tally.leaves.push_back(i);

  const std::vector<std::size_t> right_order(nodes.rbegin(), nodes.rend());
  tally.results.push_back({leaf_gradients(graph, right_order, tally.leaves), 0, true, right_order});
  const Gradients right = gradients_of(graph, graph.root());
  const auto same = [&](const std::vector<double>& a, const std::vector<double>& b) {
    for (std::size_t i = 0; i < a.size(); ++i)
      if (differ(a[i], b[i], right.magnitudes[tally.leaves[i]])) return false;
    return true;
  };
  std::vector<std::size_t> order = nodes;
  do {
    ++tally.orders;
    std::vector<double> gradients = leaf_gradients(graph, order, tally.leaves);
    const auto known = std::find_if(tally.results.begin(), tally.results.end(), [&](const OrderTally::Result& result) {
      return same(result.gradients, gradients);
    });
    if (known == tally.results.end()) {
      tally.results.push_back({std::move(gradients), 1, false, order});
    } else {
      ++known->orders;
    }
  } while (std::next_permutation(order.begin(), order.end()));
  std::sort(tally.results.begin() + 1, tally.results.end(),
            [](const OrderTally::Result& a, const OrderTally::Result& b) {
              return a.orders != b.orders ? a.orders > b.orders : a.example < b.example;
            });
  return tally;
}

}  // namespace gradwalk
