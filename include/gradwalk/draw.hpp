// SPDX-License-Identifier: MIT
// Drawings of graphs, as micrograd draws them: a box a value with its data and gradient, a circle an operation.
//
// draw_dot gives the drawing as text in Graphviz's language and is in gradwalk::gradwalk. draw_svg and draw_png lay it
// out with the Graphviz library and are in gradwalk::draw (libgradwalk-draw); no `dot` program is needed, but a PNG
// needs a font on the machine. Graphviz works for one thread at a time: calls of other threads wait.
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

// The highest limit draw_svg and draw_png take. A chain of 400 boxes is laid out in less than a second, one of 1,000 in
// five, one of 2,000 in half a minute.
inline constexpr std::size_t largest_layout = 2'000;
inline constexpr std::size_t longest_drawn_label = 40;  // characters; longer ones are shortened in the middle

GRADWALK_EXPORT std::string draw_dot(const Snapshot& graph, const DrawOptions& options = {});
GRADWALK_EXPORT std::string draw_svg(const Snapshot& graph, const DrawOptions& options = {});
GRADWALK_EXPORT std::string draw_png(const Snapshot& graph, const DrawOptions& options = {});  // the file's bytes

inline std::string draw_dot(const Value& root, const DrawOptions& options = {}) {
  return draw_dot(snapshot(root), options);
}
inline std::string draw_svg(const Value& root, const DrawOptions& options = {}) {
  return draw_svg(snapshot(root), options);
}
inline std::string draw_png(const Value& root, const DrawOptions& options = {}) {
  return draw_png(snapshot(root), options);
}

}  // namespace gradwalk
