// SPDX-License-Identifier: MIT
// explain(): computes deposits by the chain rule, and the largest paths by best-first search.
//
// One loop over the graph computes the largest magnitude that a path from each node to the target can have. The
// priority of a partial path is its product times that magnitude, which its best continuation reaches exactly. So paths
// come out largest first, and the search completes only the paths that it lists.
#include "gradwalk/explain.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>

#include "gradients.hpp"

namespace gradwalk {

using namespace detail;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double unreachable = -1;
constexpr std::size_t most_links = 4'000'000;  // the largest total length of the listed paths, to bound their memory

double magnitude(double x) { return std::isnan(x) ? infinity : std::abs(x); }

class PathSearch {
 public:
  PathSearch(const Snapshot& graph, std::size_t target) : graph_(graph), target_(target), best_(target_reach()) {}

  std::vector<Explanation::Path> largest(std::size_t count) {
    std::vector<Explanation::Path> paths;
    std::size_t links = 0;
    add(graph_.root(), none, 1, 1);
    while (!queue_.empty() && paths.size() < count && links < most_links) {
      const std::size_t at = queue_.top().partial;
      queue_.pop();
      if (partials_[at].node == target_) {
        paths.push_back(path_to(at));
        links += paths.back().nodes.size();
      } else {
        extend(at);
      }
    }
    // Rounding may have changed the order slightly.
    std::sort(paths.begin(), paths.end(), [](const Explanation::Path& a, const Explanation::Path& b) {
      const double x = magnitude(a.product), y = magnitude(b.product);
      return x != y ? x > y : a.nodes < b.nodes;
    });
    return paths;
  }

 private:
  static constexpr std::size_t none = ~std::size_t{0};
  // A path from the root, stored as its last node and the index of the partial path before it.
  struct Partial {
    std::size_t node, before;
    double local, product;
  };
  struct Candidate {
    double worth;
    std::size_t partial;
    // Among candidates of equal worth the newest comes first, so that ties do not make the search breadth-first.
    bool operator<(const Candidate& other) const {
      return worth != other.worth ? worth < other.worth : partial < other.partial;
    }
  };

  // Returns the largest magnitude of a path from each node to the target; `unreachable` if there is no path.
  std::vector<double> target_reach() const {
    std::vector<double> best(graph_.nodes.size(), unreachable);
    best[target_] = 1;
    for (std::size_t i = target_ + 1; i < best.size(); ++i) {
      const Snapshot::Node& node = graph_.nodes[i];
      for (std::size_t k = 0; k < node.operands.size(); ++k)
        if (best[node.operands[k]] != unreachable)
          best[i] = std::max(best[i], magnitude(node.locals[k] * best[node.operands[k]]));
    }
    return best;
  }

  void add(std::size_t node, std::size_t before, double local, double product) {
    if (best_[node] == unreachable) return;
    partials_.push_back({node, before, local, product});
    queue_.push({magnitude(product * best_[node]), partials_.size() - 1});
  }

  void extend(std::size_t at) {
    const Partial partial = partials_[at];
    const Snapshot::Node& node = graph_.nodes[partial.node];
    for (std::size_t k = node.operands.size(); k-- > 0;)
      add(node.operands[k], at, node.locals[k], deposit_of(partial.product, node.locals[k]));
  }

  Explanation::Path path_to(std::size_t at) const {
    Explanation::Path path{{}, {}, partials_[at].product};
    for (; at != none; at = partials_[at].before) {
      path.nodes.push_back(partials_[at].node);
      if (partials_[at].before != none) path.locals.push_back(partials_[at].local);
    }
    std::reverse(path.nodes.begin(), path.nodes.end());
    std::reverse(path.locals.begin(), path.locals.end());
    return path;
  }

  const Snapshot& graph_;
  std::size_t target_;
  std::vector<double> best_;
  std::vector<Partial> partials_;
  std::priority_queue<Candidate> queue_;
};

}  // namespace

Explanation explain(const Value& root, const Value& node, std::size_t paths) {
  Snapshot graph = snapshot(root);
  const std::optional<std::size_t> found = graph.find(node);
  if (!found) {
    const std::string label = node.label();
    throw Error("explain", "a node below the root", label.empty() ? "one that is not" : "'" + label + "'",
                "its gradient from this root is 0");
  }
  return explain(std::move(graph), *found, paths);
}

Explanation explain(Snapshot graph, std::size_t node, std::size_t paths) {
  if (node >= graph.nodes.size())
    throw Error("explain", "a node of the graph", "the number " + std::to_string(node),
                "there are " + std::to_string(graph.nodes.size()) + ", from 0");
  if (graph.nodes[node].is_constant())
    throw Error("explain", "a node that takes a gradient", "the constant " + graph.nodes[node].name,
                "give it a name to make it a leaf");
  Explanation result{{}, node, node == graph.root() ? 1.0 : 0.0, {}, count_paths(graph, node).to_string(), {}};
  const std::vector<double> gradients = gradients_of(graph, graph.root()).values;
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    const Snapshot::Node& user = graph.nodes[i];
    for (std::size_t k = 0; k < user.operands.size(); ++k) {
      if (user.operands[k] != node) continue;
      const double amount = deposit_of(gradients[i], user.locals[k]);
      result.deposits.push_back({i, k, gradients[i], user.locals[k], amount});
      result.gradient += amount;
    }
  }
  result.paths = PathSearch(graph, node).largest(paths);
  result.graph = std::move(graph);
  return result;
}

}  // namespace gradwalk
