// SPDX-License-Identifier: MIT
#include "paths.hpp"

#include <algorithm>

namespace gradwalk::paths {

std::int32_t Paths::follow(std::int32_t from, bool outcome) {
  if (const std::int32_t next = node(from).next[outcome ? 1 : 0]; next != none) return next;
  const auto made = static_cast<std::int32_t>(nodes_.size());
  nodes_.push_back({.before = from, .depth = node(from).depth + 1});
  return node(from).next[outcome ? 1 : 0] = made;
}

std::int32_t Paths::end_at(std::int32_t at) {
  if (node(at).path == none) {
    node(at).path = static_cast<std::int32_t>(paths_.size());
    paths_.emplace_back().end = at;
  }
  return node(at).path;
}

std::vector<bool> Paths::outcomes(std::int32_t of) const {
  std::int32_t at = path(of).end;
  std::vector<bool> found;
  while (at != root) {
    const std::int32_t before = nodes_[static_cast<std::size_t>(at)].before;
    found.push_back(nodes_[static_cast<std::size_t>(before)].next[1] == at);
    at = before;
  }
  std::reverse(found.begin(), found.end());
  return found;
}

void Paths::set_program(std::int32_t of, Program program) {
  Path& compiled = path(of);
  compiled.program = std::make_unique<Program>(std::move(program));
  compiled.outcomes = outcomes(of);
  compiled.nodes.clear();
  std::int32_t at = root;
  for (const bool outcome : compiled.outcomes) {
    compiled.nodes.push_back(at);
    at = follow(at, outcome);
  }
  const auto offer = [&](std::int32_t i) {
    std::int32_t& best = node(i).best;
    if (best == none || path(best).rows < compiled.rows) best = of;
  };
  for (const std::int32_t i : compiled.nodes) offer(i);
  offer(compiled.end);
}

}  // namespace gradwalk::paths
