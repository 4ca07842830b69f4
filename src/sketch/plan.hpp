// SPDX-License-Identifier: MIT
// What of a graph is drawn, and how its nodes are joined, chosen so that the layout stays quick and can be read.
//
// Layout programs pay for every rank an edge crosses, and a leaf that a long chain uses at each step has edges across
// all of it: 100 such steps took minutes. So no edge is drawn across more than `longest_edge` operations; the operand's
// name stands beside its user instead.
#pragma once

#include <cstddef>
#include <vector>

#include "gradwalk/dot.hpp"

namespace gradwalk::detail {

inline constexpr std::size_t longest_edge = 8;    // operations
inline constexpr std::size_t most_into_more = 8;  // operations the one box of all hidden nodes is joined to

enum class Join { edge, name, hidden, left_out };  // how an operand is shown at its user

class Plan {
 public:
  Plan(const Snapshot& graph, const DrawOptions& options);

  bool draws(std::size_t node) const { return drawn_[node]; }
  bool is_left_out(std::size_t node) const {
    return hide_constants_ && graph_.nodes[node].is_constant() && node != graph_.root();
  }
  Join join(std::size_t user, std::size_t operand) const;

  std::size_t total = 0, hidden = 0;  // nodes that would be drawn without a limit, and those the limit hides
  bool one_box = false;               // the hidden nodes are one box; else a small box at each user
  bool has_names = false;             // some operand is shown by name

 private:
  void choose(std::size_t limit);
  void rank();

  const Snapshot& graph_;
  bool hide_constants_;
  std::vector<bool> drawn_;
  std::vector<std::size_t> rank_;  // operations on the longest way to the root
};

}  // namespace gradwalk::detail
