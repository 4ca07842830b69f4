// SPDX-License-Identifier: MIT
// Pictures of learning as SVG and PNG, regions and curve side by side. Part of gradwalk::draw (libgradwalk-draw).
//
// The cairo library does it, and needs a font on the machine. May be called from any thread.
#pragma once

#include "gradwalk/plot_text.hpp"

namespace gradwalk {

inline constexpr std::size_t most_plotted_points = 2'000;  // in a picture; of more, some are drawn, and a note says so

GRADWALK_EXPORT std::string plot_svg(const TrainingPlot& plot);
GRADWALK_EXPORT std::string plot_png(const TrainingPlot& plot);  // the file's bytes

}  // namespace gradwalk
