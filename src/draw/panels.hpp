// SPDX-License-Identifier: MIT
// The panels of a training plot, and their common look.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "axis.hpp"
#include "canvas.hpp"

namespace gradwalk::detail {

inline constexpr Rgb ink{27, 34, 44}, soft_ink{74, 83, 97}, axis_grey{138, 148, 163}, grid_grey{230, 233, 238};
inline constexpr Rgb warning{190, 70, 0};

inline constexpr double heading_height = 24, ticks_height = 20, axis_name_height = 20;

// Returns a text without control characters, shortened until it fits the width. It is not escaped.
std::string fitted(std::string_view text, double width, const Lettering& lettering);

// Returns the place of a point in a box with these axes.
Point placed(const Box& box, const Axis& x, const Axis& y, double at_x, double at_y);

// Returns the width of the tick labels of a vertical axis.
double ticks_width(const Axis& y);
// Returns the box between the axes of a panel that fills `room`. Names and ticks take the width `left`.
Box axes_box(const Box& room, double left);
// Draws the ticks of both axes, and horizontal grid lines if asked.
void draw_ticks(Canvas& canvas, const Box& box, const Axis& x, const Axis& y, bool with_grid);
// Writes the names of both axes at the edges of the panel.
void draw_axis_names(Canvas& canvas, const Box& room, const Box& box, std::string_view x_name, std::string_view y_name);
// Draws points: circles with a white outline, or slightly larger diamonds with a dark one.
void draw_points(Canvas& canvas, Mark mark, std::span<const Point> points, double radius, Rgb colour);
// Writes the heading of a panel above its box.
void draw_heading(Canvas& canvas, const Box& box, std::string_view heading);

// The decision regions of a model with the points, and a legend below the panel.
class RegionsPanel {
 public:
  // Evaluates the model. `width` is that of the box that draw() gets.
  RegionsPanel(std::string_view call, const TrainingPlot& plot, double width);
  // Returns the height of the legend, which is drawn below the box.
  double legend_height() const;
  void draw(Canvas& canvas, const Box& box) const;

 private:
  struct Entry {
    Mark mark;
    Rgb colour;
    std::string name;
    Point at;
  };
  void make_legend(double width);
  Pixels pixels() const;
  std::vector<std::vector<Point>> borders(const Box& box) const;
  void draw_points(Canvas& canvas, const Box& box) const;
  void draw_legend(Canvas& canvas, const Box& box) const;

  const TrainingPlot* plot_;
  Plane plane_;
  Axis x_, y_;
  std::vector<Verdict> grid_;  // row by row from the top
  std::vector<Entry> legend_;
  std::string note_;
  double legend_height_ = 0;
};

// Draws a scatter plot, with its legend beside the heading.
void draw_scatter(Canvas& canvas, const Box& room, const ScatterPlot& plot);

// Draws a confusion matrix. A cell is as dark as its share of its row.
void draw_confusion(Canvas& canvas, const Box& room, const ConfusionPlot& plot);

// Draws the loss over the steps, and the accuracy below it, if there is one.
void draw_curves(Canvas& canvas, const Box& box, const LearningCurve& curve);

}  // namespace gradwalk::detail
