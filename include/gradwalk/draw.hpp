// SPDX-License-Identifier: MIT
// The drawings of dot.hpp laid out, as SVG and PNG. Part of gradwalk::draw (libgradwalk-draw).
//
// The Graphviz library does it; no `dot` program is needed, but a PNG needs a font on the machine. Graphviz works for
// one thread at a time: calls of other threads wait.
#pragma once

#include "gradwalk/dot.hpp"

namespace gradwalk {

// The highest limit draw_svg and draw_png take. A chain of 400 boxes is laid out in less than a second, one of 1,000 in
// five, one of 2,000 in half a minute.
inline constexpr std::size_t largest_layout = 2'000;

GRADWALK_EXPORT std::string draw_svg(const Snapshot& graph, const DrawOptions& options = {});
GRADWALK_EXPORT std::string draw_png(const Snapshot& graph, const DrawOptions& options = {});  // the file's bytes

inline std::string draw_svg(const Value& root, const DrawOptions& options = {}) {
  return draw_svg(snapshot(root), options);
}
inline std::string draw_png(const Value& root, const DrawOptions& options = {}) {
  return draw_png(snapshot(root), options);
}

}  // namespace gradwalk
