// SPDX-License-Identifier: MIT
// The part that all training plots share: the class that scores mean, the colours of classes, and the visible part of
// the plane. The functions are inline because two libraries use them and neither exports them.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gradwalk/error.hpp"
#include "gradwalk/plot_text.hpp"

namespace gradwalk::detail {

struct Rgb {
  unsigned char r, g, b;
};

inline constexpr Rgb white{255, 255, 255};

// Colours that colour-blind people can distinguish: those of Okabe and Ito without black, then three dark ones.
inline constexpr std::array<Rgb, 10> class_colours{{{0, 114, 178},
                                                    {230, 140, 0},
                                                    {0, 158, 115},
                                                    {204, 121, 167},
                                                    {86, 180, 233},
                                                    {190, 70, 0},
                                                    {51, 34, 136},
                                                    {153, 153, 51},
                                                    {136, 34, 85},
                                                    {119, 119, 119}}};

inline Rgb class_colour(std::size_t label) { return class_colours[label % class_colours.size()]; }

// Returns the colour between two others: `from` for part 0, `to` for part 1.
inline Rgb mixed(Rgb from, Rgb to, double part) {
  const auto mix = [part](unsigned char a, unsigned char b) {
    return static_cast<unsigned char>(std::lround(a + (b - a) * part));
  };
  return {mix(from.r, to.r), mix(from.g, to.g), mix(from.b, to.b)};
}

inline constexpr std::size_t no_class = static_cast<std::size_t>(-1);

// The meaning of the scores at a point.
struct Verdict {
  std::size_t label = no_class;  // the class with the highest score; no_class if a score is NaN
  double certainty = 0;  // from the sigmoid or softmax: 0 where classes are equally likely, 1 where one is certain
  double margin = 0;     // the highest score minus the second highest
};

// Returns what scores mean: one score for two classes, or one per class.
inline Verdict verdict(std::span<const double> scores) {
  if (std::any_of(scores.begin(), scores.end(), [](double score) { return std::isnan(score); })) return {};
  if (scores.size() == 1) {
    const double size = std::abs(scores[0]);
    return {scores[0] > 0 ? 1u : 0u, std::tanh(size / 2), size};
  }
  const auto top = std::max_element(scores.begin(), scores.end());
  double second = -std::numeric_limits<double>::infinity(), sum = 1;
  for (auto score = scores.begin(); score != scores.end(); ++score) {
    if (score == top) continue;
    second = std::max(second, *score);
    sum += *score == *top ? 1 : std::exp(*score - *top);  // avoids infinity - infinity
  }
  const double even = 1 / static_cast<double>(scores.size());
  return {static_cast<std::size_t>(top - scores.begin()), (1 / sum - even) / (1 - even),
          second == *top ? 0 : *top - second};
}

// Returns the colour of a region, which is lighter where the model is in doubt.
inline Rgb region_colour(const Verdict& verdict) {
  if (verdict.label == no_class) return {221, 221, 221};
  return mixed(white, class_colour(verdict.label), 0.1 + 0.36 * verdict.certainty);
}

struct Range {
  double low, high;
  double at(double part) const { return low + (high - low) * part; }
  double part(double number) const { return (number - low) / (high - low); }
};

// Returns a range with a margin around the numbers from low to high, also if these are equal or nearly so.
inline Range with_margin(double low, double high) {
  const double size = std::max(std::abs(low), std::abs(high));
  constexpr double smallest = 1e-280;  // with smaller ranges, the steps between ticks would underflow
  if (high - low <= std::max(size * 1e-9, smallest)) {
    const double margin = size > smallest ? size / 2 : 1;
    return {low - margin, high + margin};
  }
  const double margin = (high - low) * 0.07;
  return {low - margin, high + margin};
}

// The smallest and the largest of some numbers.
struct Extent {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  void add(double number) {
    low = std::min(low, number);
    high = std::max(high, number);
  }
  bool is_empty() const { return low > high; }
};

// Points with larger coordinates are not drawn, so that no arithmetic overflows.
inline constexpr double largest_coordinate = 1e300;

inline bool is_drawable(std::span<const double> xy) {
  return std::abs(xy[0]) <= largest_coordinate && std::abs(xy[1]) <= largest_coordinate;
}

// The part of the plane with the points, and the scores there.
class Plane {
 public:
  Plane(std::string_view call, const TrainingPlot& plot) : call_(call), plot_(&plot) {
    check(plot.train);
    if (plot.test.rows() > 0) check(plot.test);
    for (std::size_t column = 0; column < 2; ++column) ranges_[column] = range(column);
  }

  const Range& x() const { return ranges_[0]; }
  const Range& y() const { return ranges_[1]; }

  Verdict at(double x, double y) {
    const std::array<double, 2> xy{x, y};
    const std::vector<double> scores = plot_->scores(xy);
    if (count_ == 0) count_ = scores.size();
    if (scores.empty() || scores.size() != count_)
      throw Error(call_, "scores() to return as many numbers at every point", std::to_string(scores.size()),
                  "return one score for two classes, or one per class");
    return verdict(scores);
  }

  // Returns the number of classes with a name or a point.
  std::size_t classes() const {
    std::size_t count = plot_->train.label_names.size();
    for (const Dataset* data : {&plot_->train, &plot_->test})
      for (const std::size_t label : data->labels) count = std::max(count, label + 1);
    return count;
  }
  std::string class_name(std::size_t label) const {
    const auto& names = plot_->train.label_names;
    return label < names.size() ? names[label] : std::to_string(label);
  }
  std::string feature_name(std::size_t column) const {
    const auto& names = plot_->train.feature_names;
    return column < names.size() ? names[column] : "x" + std::to_string(column);
  }

 private:
  void check(const Dataset& data) const {
    if (data.columns != 2)
      throw Error(call_, "data of 2 columns where there are scores", std::to_string(data.columns),
                  "give no scores, and only the curve is drawn");
    if (data.x.size() != 2 * data.rows())
      throw Error(call_, std::to_string(2 * data.rows()) + " numbers for the data's labels",
                  std::to_string(data.x.size()), "give two numbers per label");
  }

  Range range(std::size_t column) const {
    Extent extent;
    for (const Dataset* data : {&plot_->train, &plot_->test})
      for (std::size_t i = 0; i < data->rows(); ++i)
        if (is_drawable(data->row(i))) extent.add(data->row(i)[column]);
    return extent.is_empty() ? Range{-1, 1} : with_margin(extent.low, extent.high);
  }

  std::string_view call_;
  const TrainingPlot* plot_;
  std::array<Range, 2> ranges_{};
  std::size_t count_ = 0;  // the number of scores, once known
};

// Returns the indices of at most `most` rows to draw, chosen evenly, because data may be sorted.
inline std::vector<std::size_t> thinned(const Dataset& data, std::size_t most) {
  std::vector<std::size_t> drawable;
  for (std::size_t i = 0; i < data.rows(); ++i)
    if (is_drawable(data.row(i))) drawable.push_back(i);
  if (drawable.size() <= most) return drawable;
  std::vector<std::size_t> chosen(most);
  for (std::size_t i = 0; i < most; ++i) chosen[i] = drawable[i * drawable.size() / most];
  return chosen;
}

// Returns how many points of train and test are drawn if at most `most` may be: their shares, and at least one of each.
inline std::array<std::size_t, 2> shares(const TrainingPlot& plot, std::size_t most) {
  const std::size_t train = plot.train.rows(), test = plot.test.rows();
  if (train + test <= most) return {train, test};
  const double part = static_cast<double>(test) / static_cast<double>(train + test);
  const auto rounded = static_cast<std::size_t>(std::lround(part * static_cast<double>(most)));
  const std::size_t of_test = test == 0 ? 0 : std::clamp<std::size_t>(rounded, 1, most - 1);
  return {most - of_test, of_test};
}

}  // namespace gradwalk::detail
