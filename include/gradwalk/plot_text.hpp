// SPDX-License-Identifier: MIT
// The data of training plots: decision regions of 2-D data, learning curves, scatter plots and confusion matrices.
//
// plot_text() draws the decision regions with characters. plot.hpp, which belongs to another library, draws everything
// as SVG and PNG. Any thread may call these functions.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "gradwalk/data.hpp"
#include "gradwalk/export.hpp"

namespace gradwalk {

// The loss and accuracy of a training run, one number per recorded step. A number that is not finite leaves a gap in
// the curve, and a note counts the gaps.
struct LearningCurve {
  std::vector<double> steps;     // the step numbers
  std::vector<double> loss;      // the loss at each step
  std::vector<double> accuracy;  // the accuracy at each step, from 0 to 1; or empty
};

// Returns the scores of a model at a point, which is in the units of the data: one score for two classes, whose sign
// decides; or one score per class, of which the largest decides. A plot calls it at more than ten thousand points, so
// run the model under a NoGrad guard.
using Scores = std::function<std::vector<double>(std::span<const double> xy)>;

// Points of training and test data, and a line. Points that are not finite are left out.
struct ScatterPlot {
  // Coordinates of points.
  struct Points {
    std::vector<double> x;  // the horizontal coordinates
    std::vector<double> y;  // the vertical coordinates, one per x
  };
  std::string heading;  // the heading of the plot
  std::string x_name;   // the name of the horizontal axis
  std::string y_name;   // the name of the vertical axis
  Points train;         // the training points
  Points test;          // the test points
  Points line;          // the points of the line, joined in this order
};

// A confusion matrix: how many rows of each class the model assigns to each class.
struct ConfusionPlot {
  std::string heading;              // the heading of the plot
  std::vector<std::string> names;   // the names of 2 to 20 classes; if empty, nothing is drawn
  std::vector<std::size_t> counts;  // the rows of class i that are assigned to class k, at i * names.size() + k
};

// Everything that a training plot shows. Parts that are empty are left out.
struct TrainingPlot {
  std::string title;                       // the title of the picture
  std::string subtitle;                    // a smaller line below the title
  LearningCurve curve;                     // the learning curve; if it has no steps, it is not drawn
  Scores scores;                           // the model, for data with two columns; if empty, no regions are drawn
  Dataset train;                           // the training points, with the names of columns and classes
  Dataset test;                            // the test points; may be empty
  std::vector<ScatterPlot> scatters = {};  // scatter plots, drawn side by side before the curve; not by plot_text()
  ConfusionPlot confusion = {};            // a confusion matrix, drawn after them; not by plot_text()
};

// Options of plot_text().
struct TextPlotOptions {
  std::size_t width = 72;   // the longest line in columns, 20 to 1000
  std::size_t height = 20;  // the rows of the picture, 2 to 1000; the axis and the legend add up to three lines
  bool colour = false;      // true uses 256 colours; otherwise regions and points are characters
  bool unicode = false;     // true prints half blocks and dots, if there is colour, and names that are not ASCII
};
// Returns the decision regions for a terminal. Throws an Error if the plot has no scores or an option is out of range.
GRADWALK_EXPORT std::string plot_text(const TrainingPlot& plot, const TextPlotOptions& options = {});

}  // namespace gradwalk
