// SPDX-License-Identifier: MIT
// Drawings of graphs, as micrograd draws them: a box a value with its data and gradient, a circle an operation.
//
// draw_dot gives the drawing as text in Graphviz's language; draw.hpp has it laid out, by a library of its own.
#pragma once

#include <cstddef>
#include <string>

#include "gradwalk/snapshot.hpp"

namespace gradwalk {

struct DrawOptions {
  enum class Direction { right, down, left, up };
  Direction direction = Direction::right;  // the way to the root
  int digits = 4;                          // decimals of data and grad, 0 to 17
  bool hide_constants = false;             // write them into the operations that use them
  std::size_t limit = 400;                 // boxes; the nodes furthest from the root are one box "... more nodes"
};

inline constexpr std::size_t longest_drawn_label = 40;  // characters; longer ones are shortened in the middle

GRADWALK_EXPORT std::string draw_dot(const Snapshot& graph, const DrawOptions& options = {});

inline std::string draw_dot(const Value& root, const DrawOptions& options = {}) {
  return draw_dot(snapshot(root), options);
}

}  // namespace gradwalk
