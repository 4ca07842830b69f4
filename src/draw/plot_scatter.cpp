// SPDX-License-Identifier: MIT
// Points over a number with a line through them: a fitted curve, or what is left of the targets.
#include "gradwalk/plot.hpp"
#include "panels.hpp"

namespace gradwalk::detail {
namespace {

using Points = ScatterPlot::Points;

bool has(const Points& points, std::size_t i) { return std::isfinite(points.x[i]) && std::isfinite(points.y[i]); }

double within(double number) { return std::clamp(number, -largest_coordinate, largest_coordinate); }

// Of all that is drawn; whose(points) are their numbers on this axis.
template <class Whose> Axis axis_of(const ScatterPlot& plot, Whose whose) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const Points* points : {&plot.train, &plot.test, &plot.line})
    for (std::size_t i = 0; i < points->x.size(); ++i) {
      if (!has(*points, i)) continue;
      low = std::min(low, within(whose(*points)[i]));
      high = std::max(high, within(whose(*points)[i]));
    }
  if (low > high) low = high = 0;
  return plain_axis(roomy(low, high), 6);
}

// At most so many of them, evenly.
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
  const double left = axis_name_height + ticks_width(y);
  const Box box{room.left + left, room.top + heading_height, room.width - left,
                room.height - heading_height - ticks_height - axis_name_height};
  draw_heading(canvas, box, plot.heading);
  draw_ticks(canvas, box, x, y, true);
  const std::size_t half = most_plotted_points / 2;
  const std::vector<Point> train = drawn(plot.train, half, box, x, y), test = drawn(plot.test, half, box, x, y);
  const double radius = train.size() + test.size() <= 300 ? 3.6 : 2.4;
  canvas.marks(Mark::circle, train, radius, class_colour(0), {white, 1});
  canvas.marks(Mark::diamond, test, radius + 0.9, class_colour(1), {ink, 1});
  const std::vector<Point> line = drawn(plot.line, most_plotted_points, box, x, y);
  if (line.size() > 1) canvas.lines(std::array{line}, {ink, 1.8});
  if (!plot.test.x.empty()) draw_legend(canvas, box);
  Lettering letters{.size = 11.5, .colour = soft_ink, .anchor = Anchor::middle};
  canvas.text({box.left + box.width / 2, room.bottom() - 3}, fitted(plot.x_name, box.width, letters), letters);
  letters.upwards = true;
  canvas.text({room.left + 11, box.top + box.height / 2}, fitted(plot.y_name, box.height, letters), letters);
}

}  // namespace gradwalk::detail
