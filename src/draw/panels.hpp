// SPDX-License-Identifier: MIT
// The parts of a picture of learning, and the look they share.
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

// Escaped for no format yet, without hostile bytes, and shortened until it fits.
std::string fitted(std::string_view text, double width, const Lettering& lettering);

// Where in a box a pair of axes puts a point.
Point placed(const Box& box, const Axis& x, const Axis& y, double at_x, double at_y);

// The room tick labels take at the left.
double ticks_width(const Axis& y);
void draw_ticks(Canvas& canvas, const Box& box, const Axis& x, const Axis& y, bool with_grid);
void draw_heading(Canvas& canvas, const Box& box, std::string_view heading);

// The regions a model tells apart, with the points over them; the legend lies below.
class RegionsPanel {
 public:
  RegionsPanel(std::string_view call, const TrainingPlot& plot, double width);
  double legend_height() const;
  void draw(Canvas& canvas, const Box& box) const;  // all but the legend; the box is as wide as was said

 private:
  struct Entry {
    Mark mark;
    Rgb colour;
    std::string name;  // without, the entry has no mark either
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
  std::vector<Verdict> grid_;  // row after row from the top
  std::vector<Entry> legend_;
  std::string note_;
  double legend_height_ = 0;
};

// Points and the line through them, their legend in the heading's line.
void draw_scatter(Canvas& canvas, const Box& room, const ScatterPlot& plot);

// Counts in a grid, each as dark as its share of its row.
void draw_confusion(Canvas& canvas, const Box& room, const ConfusionPlot& plot);

// The loss over the steps, and below it the accuracy, if any.
void draw_curves(Canvas& canvas, const Box& box, const LearningCurve& curve);

}  // namespace gradwalk::detail
