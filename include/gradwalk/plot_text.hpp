// SPDX-License-Identifier: MIT
// Pictures of learning: the regions a model tells apart in 2-D data, and the curve of its loss.
//
// plot_text draws the regions with characters; plot.hpp draws both as SVG and PNG, by a library of its own. May be
// called from any thread.
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

// Points over a number, some of them kept for testing, and a line drawn through its own in their order. What is not
// finite is left out.
struct ScatterPlot {
  struct Points {
    std::vector<double> x, y;
  };
  std::string heading, x_name, y_name;
  Points train, test, line;
};

// What is taken for what: rows of class i that are taken for class k, at i * names.size() + k.
struct ConfusionPlot {
  std::string heading;
  std::vector<std::string> names;  // of 2 to 20 classes; none: nothing is drawn
  std::vector<std::size_t> counts;
};

struct TrainingPlot {
  std::string title, subtitle;
  LearningCurve curve;  // without steps, only the regions are drawn
  // For data of two columns; without scores, only the curve is drawn.
  Scores scores;
  Dataset train, test;  // the points; test may be empty. Names are those of train
  // Drawn side by side before the curve, in pictures alone.
  std::vector<ScatterPlot> scatters = {};
  ConfusionPlot confusion = {};  // after them
};

// The regions in a terminal: so many rows of a picture, a line for the axis, and the legend in a line or two; no line
// longer than the width. Needs scores, 20 to 1000 columns and 2 to 1000 rows.
struct TextPlotOptions {
  std::size_t width = 72, height = 20;
  bool colour = false;   // 256 colours; without, regions and points are characters
  bool unicode = false;  // half blocks and dots, where there is colour; names beyond ASCII
};
GRADWALK_EXPORT std::string plot_text(const TrainingPlot& plot, const TextPlotOptions& options = {});

}  // namespace gradwalk
