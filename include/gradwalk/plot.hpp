// SPDX-License-Identifier: MIT
// Draws training plots as SVG and PNG, with the panels side by side. Part of gradwalk::draw (libgradwalk-draw).
//
// The cairo library draws, and needs a font on the machine. Any thread may call these functions.
#pragma once

#include "gradwalk/plot_text.hpp"

namespace gradwalk {

// The largest number of points in a picture. If there are more, an even selection is drawn, and a note says so.
inline constexpr std::size_t most_plotted_points = 2'000;

// Returns a training plot as SVG. Throws an Error if the plot is empty, or if the lengths of its lists do not match.
GRADWALK_EXPORT std::string plot_svg(const TrainingPlot& plot);
// Returns the bytes of a PNG file with a training plot. Throws as plot_svg() does.
GRADWALK_EXPORT std::string plot_png(const TrainingPlot& plot);

}  // namespace gradwalk
