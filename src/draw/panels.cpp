// SPDX-License-Identifier: MIT
// The common parts of the panels of a training plot.
#include "panels.hpp"

#include <algorithm>

#include "sketch/labels.hpp"

namespace gradwalk::detail {
namespace {

constexpr Lettering tick_letters{.size = 10.5, .colour = soft_ink};
constexpr double tick_length = 4;

}  // namespace

std::string fitted(std::string_view text, double width, const Lettering& lettering) {
  constexpr std::size_t longest = 200;  // in characters; more fit into no picture
  std::size_t length = longest;
  std::string shown = shown_text(text.substr(0, 4 * longest), length);
  while (length > 3 && text_width(shown, lettering) > width) {
    length = std::min(length, shown.size()) * 9 / 10;
    shown = shown_text(text.substr(0, 4 * longest), std::max<std::size_t>(length, 3));
  }
  return shown;
}

Point placed(const Box& box, const Axis& x, const Axis& y, double at_x, double at_y) {
  return {box.left + x.part(at_x) * box.width, box.bottom() - y.part(at_y) * box.height};
}

double ticks_width(const Axis& y) {
  double widest = 0;
  for (const Tick& tick : y.ticks) widest = std::max(widest, text_width(tick.text, tick_letters));
  return widest + tick_length + 4;
}

void draw_ticks(Canvas& canvas, const Box& box, const Axis& x, const Axis& y, bool with_grid) {
  std::vector<std::vector<Point>> marks, grid;
  Lettering letters = tick_letters;
  letters.anchor = Anchor::end;
  for (const Tick& tick : y.ticks) {
    const double at = box.bottom() - y.part(tick.number) * box.height;
    marks.push_back({{box.left - tick_length, at}, {box.left, at}});
    grid.push_back({{box.left, at}, {box.right(), at}});
    canvas.text({box.left - tick_length - 3, at + 0.36 * letters.size}, tick.text, letters);
  }
  letters.anchor = Anchor::middle;
  for (const Tick& tick : x.ticks) {
    const double at = box.left + x.part(tick.number) * box.width;
    marks.push_back({{at, box.bottom()}, {at, box.bottom() + tick_length}});
    canvas.text({at, box.bottom() + tick_length + 3 + 0.8 * letters.size}, tick.text, letters);
  }
  if (with_grid) {
    canvas.lines(grid, {grid_grey, 1});
    marks.push_back({{box.left, box.bottom()}, {box.right(), box.bottom()}});
  }
  canvas.lines(marks, {axis_grey, 1});
}

Box axes_box(const Box& room, double left) {
  return {room.left + left, room.top + heading_height, room.width - left,
          room.height - heading_height - ticks_height - axis_name_height};
}

void draw_axis_names(Canvas& canvas, const Box& room, const Box& box, std::string_view x_name,
                     std::string_view y_name) {
  Lettering letters{.size = 11.5, .colour = soft_ink, .anchor = Anchor::middle};
  canvas.text({box.left + box.width / 2, room.bottom() - 3}, fitted(x_name, box.width, letters), letters);
  letters.upwards = true;
  canvas.text({room.left + 11, box.top + box.height / 2}, fitted(y_name, box.height, letters), letters);
}

void draw_points(Canvas& canvas, Mark mark, std::span<const Point> points, double radius, Rgb colour) {
  if (mark == Mark::circle)
    canvas.marks(mark, points, radius, colour, {white, 1});
  else
    canvas.marks(mark, points, radius + 0.9, colour, {ink, 1});
}

void draw_heading(Canvas& canvas, const Box& box, std::string_view heading) {
  canvas.text({box.left, box.top - 10}, heading, {.size = 12.5, .colour = ink, .bold = true});
}

}  // namespace gradwalk::detail
