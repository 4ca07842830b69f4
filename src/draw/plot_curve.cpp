// SPDX-License-Identifier: MIT
// Draws the learning curve: the loss, on a logarithmic axis if it falls far, and the accuracy below it.
#include <algorithm>

#include "panels.hpp"
#include "sketch/labels.hpp"
#include "text/numbers.hpp"

namespace gradwalk::detail {
namespace {

constexpr double log_from = 50;             // largest / smallest loss from which the axis is logarithmic
constexpr std::size_t most_points = 1'500;  // a curve with more points is merged pixel by pixel
constexpr std::size_t most_pieces = 500;    // the most pieces of a curve with gaps

struct Series {
  std::string_view name;
  std::span<const double> steps, numbers;
  Rgb colour;
  bool is_percent;

  double step(std::size_t i) const { return std::clamp(steps[i], -largest_coordinate, largest_coordinate); }
  double number(std::size_t i) const {
    const double most = is_percent ? 1 : largest_coordinate;
    return std::clamp(numbers[i], is_percent ? 0 : -most, most);
  }
  Point placed_at(std::size_t i, const Box& box, const Axis& x, const Axis& y) const {
    return placed(box, x, y, step(i), number(i));
  }
  bool has(std::size_t i) const { return std::isfinite(steps[i]) && std::isfinite(numbers[i]); }
  std::string shown(double number) const {
    return is_percent ? short_number(std::round(number * 1000) / 10) + "%" : short_number(number, 4);
  }
  std::string shown_at(std::size_t i) const {
    const bool is_count = steps[i] >= 0 && steps[i] < 1e15 && steps[i] == std::floor(steps[i]);
    return shown(numbers[i]) + " at step " +
           (is_count ? shown_count(static_cast<std::size_t>(steps[i])) : short_number(steps[i]));
  }
};

Axis axis_of_steps(const Series& series) {
  Extent extent;
  bool whole = true;
  for (std::size_t i = 0; i < series.steps.size(); ++i) {
    if (!std::isfinite(series.steps[i])) continue;
    const double step = series.step(i);
    extent.add(step);
    whole = whole && step == std::floor(step);
  }
  if (extent.is_empty()) extent.add(0);
  const auto [low, high] = extent;
  return plain_axis(high - low > 1e-9 * std::abs(high) ? Range{low, high} : with_margin(low, high), 6, whole);
}

Axis axis_of_accuracy(const Series& series) {
  double least = 1;
  for (std::size_t i = 0; i < series.steps.size(); ++i)
    if (series.has(i)) least = std::min(least, series.number(i));
  Axis axis = plain_axis({least >= 0.9 ? 0.9 : least >= 0.5 ? 0.5 : 0, 1}, 4);
  for (Tick& tick : axis.ticks) tick.text = series.shown(tick.number);
  return axis;
}

Axis axis_of_loss(const Series& series) {
  Extent extent, positive;
  for (std::size_t i = 0; i < series.steps.size(); ++i) {
    if (!series.has(i)) continue;
    const double number = series.number(i);
    extent.add(number);
    if (number > 0) positive.add(number);
  }
  if (extent.is_empty()) return plain_axis({0, 1}, 5);
  const auto [low, high] = extent;
  if (low >= 0 && high / positive.low > log_from) {
    const Range logarithms{std::log10(positive.low), std::log10(high)};
    const double margin = 0.05 * (logarithms.high - logarithms.low);
    return log_axis({logarithms.low - margin, logarithms.high + margin}, 6);
  }
  Range range = with_margin(low, high);
  if (low >= 0 && low < 0.5 * high) range.low = 0;  // the axis of a loss begins at 0
  return plain_axis(range, 5);
}

// Merges the points of a long line: keeps the first, lowest, highest and last of each column of pixels.
std::vector<Point> merged(const std::vector<Point>& line) {
  std::vector<Point> result;
  for (auto from = line.begin(); from != line.end();) {
    const auto to =
        std::find_if(from, line.end(), [&](const Point& p) { return std::floor(p.x) != std::floor(from->x); });
    auto [least, largest] = std::minmax_element(from, to, [](const Point& a, const Point& b) { return a.y < b.y; });
    if (largest < least) std::swap(least, largest);
    for (const auto at : {from, least, largest, to - 1})
      if (result.empty() || result.back().x != at->x || result.back().y != at->y) result.push_back(*at);
    from = to;
  }
  return result;
}

// Returns the trend of a line: the mean over every few columns of pixels.
std::vector<Point> smoothed(const std::vector<Point>& line) {
  constexpr double across = 4;
  std::vector<Point> result;
  double before = 0;
  for (auto from = line.begin(); from != line.end();) {
    Point mean{0, 0};
    double count = 0;
    const double column = std::floor(from->x / across);
    for (; from != line.end() && std::floor(from->x / across) == column; ++from, ++count)
      mean.x += from->x, mean.y += from->y;
    if (from == line.end() && count < before / 2) break;  // a mean of few points says little
    result.push_back({mean.x / count, mean.y / count});
    before = count;
  }
  return result;
}

struct Curve {
  std::vector<std::vector<Point>> lines;
  std::vector<std::vector<Point>> trends;  // for lines with so many points that they are a blur
  std::vector<Point> lone;                 // points between two gaps
};

// Keeps an even selection of at most most_pieces pieces.
template <class T> void keep_some(std::vector<T>& pieces) {
  if (pieces.size() <= most_pieces) return;
  for (std::size_t i = 1; i < most_pieces; ++i) pieces[i] = std::move(pieces[i * pieces.size() / most_pieces]);
  pieces.resize(most_pieces);
}

Curve curve_of(const Series& series, const Box& box, const Axis& x, const Axis& y) {
  Curve curve;
  std::vector<Point> line;
  const auto finish = [&] {
    if (line.size() == 1) curve.lone.push_back(line[0]);
    if (line.size() > 1) {
      const bool is_long = series.steps.size() > most_points;
      if (is_long) curve.trends.push_back(smoothed(line));
      curve.lines.push_back(is_long ? merged(line) : line);
    }
    line.clear();
  };
  for (std::size_t i = 0; i < series.steps.size(); ++i) {
    if (!series.has(i)) {
      finish();
      continue;
    }
    line.push_back(series.placed_at(i, box, x, y));
  }
  finish();
  keep_some(curve.lone);
  keep_some(curve.lines);
  keep_some(curve.trends);
  return curve;
}

std::string note_of(const Series& series, bool is_log) {
  std::size_t gaps = 0, zeros = 0;
  for (std::size_t i = 0; i < series.steps.size(); ++i) {
    if (!series.has(i)) ++gaps;
    if (series.numbers[i] == 0) ++zeros;
  }
  std::string note;
  if (gaps > 0) note = shown_count(gaps) + " not finite";
  if (is_log && zeros > 0) note += (note.empty() ? "" : ", ") + shown_count(zeros) + " zero";
  return note;
}

void draw_chart(Canvas& canvas, const Box& box, const Series& series, const Axis& x, const Axis& y, bool with_steps) {
  draw_ticks(canvas, box, x, y, true);
  const Curve curve = curve_of(series, box, x, y);
  if (curve.trends.empty()) {
    canvas.lines(curve.lines, {series.colour, 2});
  } else {
    canvas.lines(curve.lines, {mixed(white, series.colour, 0.35), 1});
    canvas.lines(curve.trends, {series.colour, 2});
  }
  canvas.marks(Mark::circle, curve.lone, 2.5, series.colour, {white, 0.5});

  const std::string heading = std::string(series.name) + (y.is_log ? " (log scale)" : "");
  const Lettering bold{.size = 12.5, .colour = ink, .bold = true};
  draw_heading(canvas, box, heading);
  const double left = box.left + text_width(heading, bold) + 12;
  double right = box.right();
  std::size_t last = series.steps.size();
  while (last > 0 && !series.has(last - 1)) --last;
  if (last > 0) {
    const Lettering letters{.size = 11.5, .colour = soft_ink, .anchor = Anchor::end};
    const std::string text = series.shown_at(last - 1);
    canvas.text({right, box.top - 10}, text, letters);
    right -= text_width(text, letters) + 12;
    const std::array<Point, 1> end{series.placed_at(last - 1, box, x, y)};
    canvas.marks(Mark::circle, end, 4, series.colour, {white, 1.2});
  } else {
    canvas.text({box.left + box.width / 2, box.top + box.height / 2}, "no finite number",
                {.size = 12, .colour = soft_ink, .anchor = Anchor::middle});
  }
  const Lettering small{.size = 10.5, .colour = warning};
  const std::string note = note_of(series, y.is_log);
  if (!note.empty()) canvas.text({left, box.top - 10}, fitted(note, right - left, small), small);
  if (with_steps)
    canvas.text({box.left + box.width / 2, box.bottom() + ticks_height + axis_name_height - 3}, "step",
                {.size = 11.5, .colour = soft_ink, .anchor = Anchor::middle});
}

}  // namespace

void draw_curves(Canvas& canvas, const Box& room, const LearningCurve& curve) {
  const Series loss{"Loss", curve.steps, curve.loss, {0, 114, 178}, false};
  const Series accuracy{"Accuracy", curve.steps, curve.accuracy, {0, 158, 115}, true};
  const bool both = !curve.accuracy.empty();
  const Axis x = axis_of_steps(loss), of_loss = axis_of_loss(loss);
  const Axis of_accuracy = both ? axis_of_accuracy(accuracy) : of_loss;
  const double left = std::max(ticks_width(of_loss), ticks_width(of_accuracy));
  const double between = ticks_height + heading_height + 10;
  const double inner = room.height - heading_height - ticks_height - axis_name_height;
  const double height = both ? (inner - between) * 0.58 : inner;
  Box box{room.left + left, room.top + heading_height, room.width - left, height};
  draw_chart(canvas, box, loss, x, of_loss, !both);
  if (!both) return;
  box.top += height + between;
  box.height = inner - between - height;
  draw_chart(canvas, box, accuracy, x, of_accuracy, true);
}

}  // namespace gradwalk::detail
