// SPDX-License-Identifier: MIT
// Selects the nodes of a graph that are drawn and how they are connected, so that the layout is fast and readable.
//
// A layout program takes time for every rank that an edge crosses. A leaf that a long chain uses at each step has edges
// across the whole chain: 100 such steps took minutes. So no edge crosses more than `longest_edge` operations; beyond
// that, the name of the operand is drawn beside its user.
#pragma once

#include <cstddef>
#include <vector>

#include "gradwalk/dot.hpp"

namespace gradwalk::detail {

inline constexpr std::size_t longest_edge = 8;    // in operations
inline constexpr std::size_t most_into_more = 8;  // the most edges from the one box that stands for all hidden nodes

// How an operand is drawn at its user.
enum class Connection {
  edge,      // an edge from the operand's box
  name,      // the operand's name, because its box is far away
  hidden,    // a box "...", because the limit hides the operand
  left_out,  // nothing: the operation shows the constant
};

class Selection {
 public:
  Selection(const Snapshot& graph, const DrawOptions& options);

  bool is_drawn(std::size_t node) const { return drawn_[node]; }
  bool is_left_out(std::size_t node) const {
    return hide_constants_ && graph_.nodes[node].is_constant() && node != graph_.root();
  }
  Connection connection(std::size_t user, std::size_t operand) const;

  std::size_t total = 0;            // the number of nodes that would be drawn without a limit
  std::size_t hidden = 0;           // the number of nodes that the limit hides
  bool hidden_are_one_box = false;  // true if one box stands for all hidden nodes; otherwise each user has its own
  bool has_names = false;           // true if an operand is drawn as its name

 private:
  void select(std::size_t limit);
  void compute_ranks();

  const Snapshot& graph_;
  bool hide_constants_;
  std::vector<bool> drawn_;
  std::vector<std::size_t> rank_;  // the number of operations on the longest path to the root
};

}  // namespace gradwalk::detail
