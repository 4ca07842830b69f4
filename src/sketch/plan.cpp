// SPDX-License-Identifier: MIT
// Chooses what is drawn.
#include "plan.hpp"

#include <algorithm>

namespace gradwalk::detail {

Plan::Plan(const Snapshot& graph, const DrawOptions& options)
    : graph_(graph),
      hide_constants_(options.hide_constants),
      drawn_(graph.nodes.size(), false),
      rank_(graph.nodes.size(), 0) {
  choose(options.limit);
  rank();
}

// The nodes nearest to the root.
void Plan::choose(std::size_t limit) {
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

void Plan::rank() {
  std::vector<std::size_t> cut;  // ranks of the users of hidden nodes
  for (std::size_t user = graph_.nodes.size(); user-- > 0;) {
    if (!drawn_[user]) continue;
    bool is_cut = false;
    for (const std::size_t operand : graph_.nodes[user].operands) {
      rank_[operand] = std::max(rank_[operand], rank_[user] + 1);
      is_cut = is_cut || join(user, operand) == Join::hidden;
    }
    if (is_cut) cut.push_back(rank_[user]);
  }
  for (std::size_t user = 0; user < graph_.nodes.size(); ++user)
    for (const std::size_t operand : graph_.nodes[user].operands)
      has_names = has_names || (drawn_[user] && join(user, operand) == Join::name);
  if (cut.empty()) return;
  const auto [low, high] = std::minmax_element(cut.begin(), cut.end());
  one_box = cut.size() <= most_into_more && *high - *low <= longest_edge;
}

Join Plan::join(std::size_t user, std::size_t operand) const {
  if (is_left_out(operand)) return Join::left_out;
  if (!drawn_[operand]) return Join::hidden;
  return rank_[operand] - rank_[user] > longest_edge ? Join::name : Join::edge;
}

}  // namespace gradwalk::detail
