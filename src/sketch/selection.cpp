// SPDX-License-Identifier: MIT
// Selects the nodes that are drawn: those nearest to the root.
#include "selection.hpp"

#include <algorithm>

namespace gradwalk::detail {

Selection::Selection(const Snapshot& graph, const DrawOptions& options)
    : graph_(graph),
      hide_constants_(options.hide_constants),
      drawn_(graph.nodes.size(), false),
      rank_(graph.nodes.size(), 0) {
  select(options.limit);
  compute_ranks();
}

// Marks the nodes nearest to the root, by breadth-first search.
void Selection::select(std::size_t limit) {
  std::vector<std::size_t> queue{graph_.root()};
  drawn_[graph_.root()] = true;
  for (std::size_t next = 0; next < queue.size(); ++next) {
    for (const std::size_t operand : graph_.nodes[queue[next]].operands) {
      if (queue.size() >= limit) break;
      if (drawn_[operand] || is_left_out(operand)) continue;
      drawn_[operand] = true;
      queue.push_back(operand);
    }
  }
  for (std::size_t i = 0; i < graph_.nodes.size(); ++i) total += is_left_out(i) ? 0 : 1;
  hidden = total - queue.size();
}

void Selection::compute_ranks() {
  std::vector<std::size_t> cut_ranks;  // the ranks of the nodes with hidden operands
  for (std::size_t user = graph_.nodes.size(); user-- > 0;) {
    if (!drawn_[user]) continue;
    bool is_cut = false;
    for (const std::size_t operand : graph_.nodes[user].operands) {
      rank_[operand] = std::max(rank_[operand], rank_[user] + 1);
      is_cut = is_cut || connection(user, operand) == Connection::hidden;
    }
    if (is_cut) cut_ranks.push_back(rank_[user]);
  }
  for (std::size_t user = 0; user < graph_.nodes.size(); ++user)
    for (const std::size_t operand : graph_.nodes[user].operands)
      has_names = has_names || (drawn_[user] && connection(user, operand) == Connection::name);
  if (cut_ranks.empty()) return;
  const auto [low, high] = std::minmax_element(cut_ranks.begin(), cut_ranks.end());
  hidden_are_one_box = cut_ranks.size() <= most_into_more && *high - *low <= longest_edge;
}

Connection Selection::connection(std::size_t user, std::size_t operand) const {
  if (is_left_out(operand)) return Connection::left_out;
  if (!drawn_[operand]) return Connection::hidden;
  return rank_[operand] - rank_[user] > longest_edge ? Connection::name : Connection::edge;
}

}  // namespace gradwalk::detail
