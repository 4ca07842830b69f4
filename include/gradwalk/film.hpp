// SPDX-License-Identifier: MIT
// A walk as a short film: an animated WebP in which each gradient leaves its node, meets the local derivative on the
// edge, and lands on the operand. Part of gradwalk::draw (libgradwalk-draw).
//
// Graphviz lays the graph out, cairo paints it, libwebp puts the pictures together; a font must be on the machine. As
// with draw_svg, calls of other threads wait.
#pragma once

#include <string>

#include "gradwalk/walk.hpp"

namespace gradwalk {

struct FilmOptions {
  double speed = 1;  // 2 is twice as fast, 0.1 to 10
  double scale = 1;  // pixels for one of the drawing's, 0.25 to 4; a film that would be too wide is scaled down
};

inline constexpr std::size_t largest_film = 60;    // nodes
inline constexpr std::size_t longest_film = 400;   // steps
inline constexpr std::size_t widest_film = 2'000;  // pixels a side

GRADWALK_EXPORT std::string film_webp(const Walk& walk, const FilmOptions& options = {});  // the file's bytes

}  // namespace gradwalk
