// SPDX-License-Identifier: MIT
// Pictures of learning: the regions a model tells apart in 2-D data, and the curve of its loss.
//
// plot_text draws the regions with characters and is in gradwalk::gradwalk. plot_svg and plot_png draw regions and
// curve side by side and are in gradwalk::draw (libgradwalk-draw), which uses the cairo library; they need a font on
// the machine. All may be called from any thread.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "gradwalk/data.hpp"
#include "gradwalk/export.hpp"

namespace gradwalk {

// One number a step each. What is not finite is a gap in the curve, and counted in a note.
struct LearningCurve {
  std::vector<double> steps, loss;
  std::vector<double> accuracy;  // fractions of 1; may be empty
};

// What a model says about a point, given in the data's own units: one score for two classes, whose sign decides, or one
// a class, of which the largest does. It is asked at some ten thousand points, so let a NoGrad guard it.
using Scores = std::function<std::vector<double>(std::span<const double> xy)>;

struct TrainingPlot {
  std::string title, subtitle;
  LearningCurve curve;  // without steps, only the regions are drawn
  // For data of two columns; without scores, only the curve is drawn.
  Scores scores;
  Dataset train, test;  // the points; test may be empty. Names are those of train
};

inline constexpr std::size_t most_plotted_points = 2'000;  // in a picture; of more, some are drawn, and a note says so

GRADWALK_EXPORT std::string plot_svg(const TrainingPlot& plot);
GRADWALK_EXPORT std::string plot_png(const TrainingPlot& plot);  // the file's bytes

// The regions in a terminal: so many rows of a picture, a line for the axis, and the legend in a line or two; no line
// longer than the width. Needs scores, 20 to 1000 columns and 2 to 1000 rows.
struct TextPlotOptions {
  std::size_t width = 72, height = 20;
  bool colour = false;   // 256 colours; without, regions and points are characters
  bool unicode = false;  // half blocks and dots, where there is colour; names beyond ASCII
};
GRADWALK_EXPORT std::string plot_text(const TrainingPlot& plot, const TextPlotOptions& options = {});

}  // namespace gradwalk
