// SPDX-License-Identifier: MIT
// Draws graphs as SVG and PNG. Part of gradwalk::draw (libgradwalk-draw).
//
// The Graphviz library lays out the text of dot.hpp; the `dot` program is not needed. A PNG needs a font on the
// machine. Graphviz serves one thread at a time, so calls from other threads wait.
#pragma once

#include "gradwalk/dot.hpp"

namespace gradwalk {

// The largest DrawOptions::limit that draw_svg() and draw_png() take. The layout of a chain takes less than a second
// for 400 boxes, five seconds for 1,000 and half a minute for 2,000.
inline constexpr std::size_t largest_layout = 2'000;

// Returns a drawing of a snapshot as SVG. Throws an Error if the limit is above largest_layout or Graphviz fails.
GRADWALK_EXPORT std::string draw_svg(const Snapshot& graph, const DrawOptions& options = {});
// Returns the bytes of a PNG file with a drawing of a snapshot. Throws as draw_svg() does.
GRADWALK_EXPORT std::string draw_png(const Snapshot& graph, const DrawOptions& options = {});

// Returns a drawing of the graph below the root as SVG.
inline std::string draw_svg(const Value& root, const DrawOptions& options = {}) {
  return draw_svg(snapshot(root), options);
}
// Returns the bytes of a PNG file with a drawing of the graph below the root.
inline std::string draw_png(const Value& root, const DrawOptions& options = {}) {
  return draw_png(snapshot(root), options);
}

}  // namespace gradwalk
