// SPDX-License-Identifier: MIT
// Draws graphs as micrograd does: one box per value with its data and gradient, and one circle per operation.
//
// draw_dot() returns the drawing as text in Graphviz's DOT language. draw.hpp, which belongs to another library,
// returns it as a picture.
#pragma once

#include <cstddef>
#include <string>

#include "gradwalk/snapshot.hpp"

namespace gradwalk {

// Options of draw_dot(), draw_svg() and draw_png().
struct DrawOptions {
  // The side of the drawing that the root is on.
  enum class Direction {
    right,  // operands at the left, the root at the right
    down,   // operands at the top, the root at the bottom
    left,   // operands at the right, the root at the left
    up,     // operands at the bottom, the root at the top
  };
  Direction direction = Direction::right;  // where the root is
  int digits = 4;                          // the decimals of data and grad, 0 to 17
  bool hide_constants = false;             // true writes constants into the operations that use them, without boxes
  std::size_t limit = 400;                 // the largest number of boxes; the nodes furthest from the root are left out
};

inline constexpr std::size_t longest_drawn_label = 40;  // in characters; longer labels are shortened in the middle

// Returns a drawing of a snapshot in the DOT language. Throws an Error for options that are out of range.
GRADWALK_EXPORT std::string draw_dot(const Snapshot& graph, const DrawOptions& options = {});

// Returns a drawing of the graph below the root in the DOT language.
inline std::string draw_dot(const Value& root, const DrawOptions& options = {}) {
  return draw_dot(snapshot(root), options);
}

}  // namespace gradwalk
