// SPDX-License-Identifier: MIT
// Draws scatter plots: points and a line through them, such as a fitted curve or residuals.
#include <algorithm>

#include "gradwalk/plot.hpp"
#include "panels.hpp"

namespace gradwalk::detail {
namespace {

using Points = ScatterPlot::Points;

bool has(const Points& points, std::size_t i) { return std::isfinite(points.x[i]) && std::isfinite(points.y[i]); }

double within(double number) { return std::clamp(number, -largest_coordinate, largest_coordinate); }

// Returns an axis for all points of a plot. coordinates(points) returns their numbers on this axis.
template <class Coordinates> Axis axis_of(const ScatterPlot& plot, Coordinates coordinates) {
  Extent extent;
  for (const Points* points : {&plot.train, &plot.test, &plot.line})
    for (std::size_t i = 0; i < points->x.size(); ++i)
      if (has(*points, i)) extent.add(within(coordinates(*points)[i]));
  if (extent.is_empty()) extent.add(0);
  return plain_axis(with_margin(extent.low, extent.high), 6);
}

// Returns the places of at most `most` points, chosen evenly.
std::vector<Point> drawn(const Points& points, std::size_t most, const Box& box, const Axis& x, const Axis& y) {
  std::vector<Point> result;
  const std::size_t stride = std::max<std::size_t>(1, (points.x.size() + most - 1) / most);
  for (std::size_t i = 0; i < points.x.size(); i += stride)
    if (has(points, i)) result.push_back(placed(box, x, y, within(points.x[i]), within(points.y[i])));
  return result;
}

void draw_legend(Canvas& canvas, const Box& box) {
  Lettering letters{.size = 11.5, .colour = ink, .anchor = Anchor::end};
  double right = box.right();
  for (const auto& [mark, label, text] :
       {std::tuple{Mark::diamond, 1u, "test"}, std::tuple{Mark::circle, 0u, "train"}}) {
    canvas.text({right, box.top - 10}, text, letters);
    const std::array<Point, 1> centre{{{right - text_width(text, letters) - 9, box.top - 14}}};
    canvas.marks(mark, centre, 4.5, class_colour(label), {mark == Mark::circle ? white : ink, 1});
    right -= text_width(text, letters) + 28;
  }
}

}  // namespace

void draw_scatter(Canvas& canvas, const Box& room, const ScatterPlot& plot) {
  const Axis x = axis_of(plot, [](const Points& points) -> const std::vector<double>& { return points.x; });
  const Axis y = axis_of(plot, [](const Points& points) -> const std::vector<double>& { return points.y; });
  const Box box = axes_box(room, axis_name_height + ticks_width(y));
  draw_heading(canvas, box, plot.heading);
  draw_ticks(canvas, box, x, y, true);
  const std::size_t half = most_plotted_points / 2;
  const std::vector<Point> train = drawn(plot.train, half, box, x, y), test = drawn(plot.test, half, box, x, y);
  const double radius = train.size() + test.size() <= 300 ? 3.6 : 2.4;
  draw_points(canvas, Mark::circle, train, radius, class_colour(0));
  draw_points(canvas, Mark::diamond, test, radius, class_colour(1));
  const std::vector<Point> line = drawn(plot.line, most_plotted_points, box, x, y);
  if (line.size() > 1) canvas.lines(std::array{line}, {ink, 1.8});
  if (!plot.test.x.empty()) draw_legend(canvas, box);
  draw_axis_names(canvas, room, box, plot.x_name, plot.y_name);
}

}  // namespace gradwalk::detail
