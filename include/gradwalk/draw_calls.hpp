// SPDX-License-Identifier: MIT
// The functions of gradwalk::draw as a table, for programs that load the component when they draw and not before: the
// command line starts without Graphviz and cairo, and a Python wheel needs them only for drawing.
#pragma once

#include <string>

#include "gradwalk/draw.hpp"
#include "gradwalk/film.hpp"
#include "gradwalk/plot.hpp"

namespace gradwalk {

// The functions of the component as pointers, in the variable gradwalk_draw_calls.
struct DrawCalls {
  std::string (*draw_svg)(const Snapshot& graph, const DrawOptions& options);  // draw_svg()
  std::string (*draw_png)(const Snapshot& graph, const DrawOptions& options);  // draw_png()
  std::string (*plot_svg)(const TrainingPlot& plot);                           // plot_svg()
  std::string (*plot_png)(const TrainingPlot& plot);                           // plot_png()
  std::string (*film_webp)(const Walk& walk, const FilmOptions& options);      // film_webp()
};

}  // namespace gradwalk

// Found by dlsym() in libgradwalk-draw, or linked.
extern "C" GRADWALK_EXPORT const gradwalk::DrawCalls gradwalk_draw_calls;
