// SPDX-License-Identifier: MIT
// Makes a film of a walk: an animated WebP in which each gradient leaves its node, is multiplied by the local
// derivative on the edge, and arrives at the operand. Part of gradwalk::draw (libgradwalk-draw).
//
// Graphviz lays the graph out, cairo paints it, and libwebp encodes the pictures. A font must be on the machine. As
// with draw_svg(), calls from other threads wait.
#pragma once

#include <string>

#include "gradwalk/walk.hpp"

namespace gradwalk {

// Options of film_webp().
struct FilmOptions {
  double speed = 1;  // 2 is twice as fast; 0.1 to 10
  double scale = 1;  // the pixels per unit of the drawing, 0.25 to 4; it is lowered for a film that would be too large
};

inline constexpr std::size_t largest_film = 60;    // the largest number of nodes in a film, constants not counted
inline constexpr std::size_t longest_film = 400;   // the largest number of steps in a film
inline constexpr std::size_t widest_film = 2'000;  // the largest width and height of a film in pixels

// Returns the bytes of a WebP file with a film of the walk. Throws an Error if the walk is too large, an option is out
// of range, or a library fails.
GRADWALK_EXPORT std::string film_webp(const Walk& walk, const FilmOptions& options = {});

}  // namespace gradwalk
