// SPDX-License-Identifier: MIT
// Draws decision regions: the scores on a grid as colours, the borders between classes as lines, and the points.
#include <algorithm>

#include "gradwalk/plot.hpp"
#include "panels.hpp"
#include "sketch/labels.hpp"

namespace gradwalk::detail {
namespace {

constexpr std::size_t grid_size = 160;            // the points per side
constexpr std::size_t most_border_lines = 5'000;  // with more lines the scores are noise, and the lines would hide it
constexpr Lettering legend_letters{.size = 11.5, .colour = ink};
constexpr double legend_row = 20, legend_gap = 12;
constexpr std::size_t most_in_legend = 10;

double part_of_grid(std::size_t i) { return static_cast<double>(i) / (grid_size - 1); }

}  // namespace

RegionsPanel::RegionsPanel(std::string_view call, const TrainingPlot& plot, double width)
    : plot_(&plot), plane_(call, plot), x_(plain_axis(plane_.x(), 6)), y_(plain_axis(plane_.y(), 6)) {
  for (std::size_t row = 0; row < grid_size; ++row)
    for (std::size_t column = 0; column < grid_size; ++column)
      grid_.push_back(plane_.at(plane_.x().at(part_of_grid(column)), plane_.y().at(1 - part_of_grid(row))));
  make_legend(width - axis_name_height - ticks_width(y_));
}

void RegionsPanel::make_legend(double width) {
  const std::size_t classes = plane_.classes(), named = std::min(classes, most_in_legend);
  const std::size_t longest = named <= 4 ? 24 : 12;
  for (std::size_t label = 0; label < named; ++label)
    legend_.push_back({Mark::circle, class_colour(label), shown_text(plane_.class_name(label), longest), {}});
  if (classes > named) legend_.push_back({Mark::circle, white, "and " + shown_count(classes - named) + " more", {}});
  if (plot_->test.rows() > 0) {
    legend_.push_back({Mark::circle, axis_grey, "train", {}});
    legend_.push_back({Mark::diamond, axis_grey, "test", {}});
  }
  const std::size_t points = plot_->train.rows() + plot_->test.rows();
  std::size_t drawn = 0;
  const auto most = shares(*plot_, most_plotted_points);
  for (const auto& [data, share] : {std::pair{&plot_->train, most[0]}, std::pair{&plot_->test, most[1]}})
    drawn += thinned(*data, share).size();
  if (drawn < points) note_ = shown_count(drawn) + " of " + shown_count(points) + " points are drawn";

  Point at{0, 0};
  for (Entry& entry : legend_) {
    const double needed = 14 + text_width(entry.name, legend_letters);
    if (at.x > 0 && at.x + needed > width) at = {0, at.y + legend_row};
    entry.at = at;
    at.x += needed + 18;
  }
  legend_height_ = legend_gap + at.y + (legend_.empty() ? 0 : legend_row) + (note_.empty() ? 0 : legend_row);
}

double RegionsPanel::legend_height() const { return legend_height_; }

Pixels RegionsPanel::pixels() const {
  Pixels pixels{grid_size, grid_size, {}};
  for (const Verdict& verdict : grid_) pixels.colours.push_back(region_colour(verdict));
  return pixels;
}

// Returns the borders between classes. Where two neighbours on the grid have different classes, the border crosses the
// line between them, nearer to the one with the smaller margin. A square of the grid has two such crossings, which are
// joined, or more, which all meet in the middle.
std::vector<std::vector<Point>> RegionsPanel::borders(const Box& box) const {
  std::vector<std::vector<Point>> result;
  const auto point = [&](double column, double row) {
    return Point{box.left + column / (grid_size - 1) * box.width, box.top + row / (grid_size - 1) * box.height};
  };
  constexpr std::array<std::array<std::size_t, 2>, 4> corners{{{0, 0}, {1, 0}, {1, 1}, {0, 1}}};
  for (std::size_t row = 0; row + 1 < grid_size; ++row) {
    for (std::size_t column = 0; column + 1 < grid_size; ++column) {
      std::vector<Point> crossings;
      for (std::size_t side = 0; side < 4; ++side) {
        const auto [x, y] = corners[side];
        const auto [next_x, next_y] = corners[(side + 1) % 4];
        const Verdict& here = grid_[(row + y) * grid_size + column + x];
        const Verdict& next = grid_[(row + next_y) * grid_size + column + next_x];
        if (here.label == next.label) continue;
        double part = here.margin / (here.margin + next.margin);
        if (!std::isfinite(part)) part = 0.5;
        const auto between = [part](std::size_t from, std::size_t to) {
          return static_cast<double>(from) + part * (static_cast<double>(to) - static_cast<double>(from));
        };
        crossings.push_back(point(between(column + x, column + next_x), between(row + y, row + next_y)));
      }
      if (crossings.size() == 2) {
        result.push_back(crossings);
      } else if (!crossings.empty()) {
        Point middle{0, 0};
        for (const Point& at : crossings) {
          middle.x += at.x / static_cast<double>(crossings.size());
          middle.y += at.y / static_cast<double>(crossings.size());
        }
        for (const Point& at : crossings) result.push_back({at, middle});
      }
    }
  }
  if (result.size() > most_border_lines) result.clear();
  return result;
}

void RegionsPanel::draw_points(Canvas& canvas, const Box& box) const {
  const auto most = shares(*plot_, most_plotted_points);
  const double radius = most[0] + most[1] <= 150 ? 4.2 : most[0] + most[1] <= 600 ? 3.4 : 2.4;
  const auto draw = [&](const Dataset& data, std::size_t share, Mark mark) {
    std::array<std::vector<Point>, class_colours.size()> by_colour;
    for (const std::size_t i : thinned(data, share))
      by_colour[data.labels[i] % by_colour.size()].push_back(placed(box, x_, y_, data.row(i)[0], data.row(i)[1]));
    for (std::size_t label = 0; label < by_colour.size(); ++label)
      detail::draw_points(canvas, mark, by_colour[label], radius, class_colour(label));
  };
  draw(plot_->train, most[0], Mark::circle);
  draw(plot_->test, most[1], Mark::diamond);
}

void RegionsPanel::draw_legend(Canvas& canvas, const Box& box) const {
  const double top = box.bottom() + ticks_height + axis_name_height + legend_gap;
  for (const Entry& entry : legend_) {
    const Point at{box.left + entry.at.x + 4, top + entry.at.y + 8};
    const std::array<Point, 1> centre{at};
    const bool is_circle = entry.mark == Mark::circle;
    canvas.marks(entry.mark, centre, is_circle ? 4.5 : 5, entry.colour, {is_circle ? white : ink, 1});
    canvas.text({at.x + 10, at.y + 0.36 * legend_letters.size}, entry.name, legend_letters);
  }
  if (!note_.empty())
    canvas.text({box.left, box.bottom() + ticks_height + axis_name_height + legend_height_ - 8}, note_,
                {.size = 10.5, .colour = soft_ink});
}

void RegionsPanel::draw(Canvas& canvas, const Box& room) const {
  const Box box = axes_box(room, axis_name_height + ticks_width(y_));
  draw_heading(canvas, box, "Decision regions");
  canvas.image(box, pixels());
  canvas.lines(borders(box), {ink, 1.2});
  draw_points(canvas, box);
  canvas.frame(box, {axis_grey, 1});
  draw_ticks(canvas, box, x_, y_, false);
  draw_axis_names(canvas, room, box, plane_.feature_name(0), plane_.feature_name(1));
  draw_legend(canvas, box);
}

}  // namespace gradwalk::detail
