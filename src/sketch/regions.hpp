// SPDX-License-Identifier: MIT
// What pictures of learning share: which class scores mean, the colours of classes, and the part of the plane to show.
// Inline, because two libraries use it and neither shows it.
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

// Told apart by colour-blind eyes: Okabe's and Ito's eight without black, then three dark ones.
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

inline Rgb mixed(Rgb from, Rgb to, double part) {
  const auto mix = [part](unsigned char a, unsigned char b) {
    return static_cast<unsigned char>(std::lround(a + (b - a) * part));
  };
  return {mix(from.r, to.r), mix(from.g, to.g), mix(from.b, to.b)};
}

inline constexpr std::size_t no_class = static_cast<std::size_t>(-1);

struct Verdict {
  std::size_t label = no_class;  // where a score is no number
  double certainty = 0;          // of the sigmoid or softmax: 0 where classes are even, 1 where there is no doubt
  double margin = 0;             // how far the winner's score is ahead
};

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
    sum += *score == *top ? 1 : std::exp(*score - *top);  // equal infinities have no difference
  }
  const double even = 1 / static_cast<double>(scores.size());
  return {static_cast<std::size_t>(top - scores.begin()), (1 / sum - even) / (1 - even),
          second == *top ? 0 : *top - second};
}

// Soft where the model is in doubt.
inline Rgb region_colour(const Verdict& verdict) {
  if (verdict.label == no_class) return {221, 221, 221};
  return mixed(white, class_colour(verdict.label), 0.1 + 0.36 * verdict.certainty);
}

struct Range {
  double low, high;
  double at(double part) const { return low + (high - low) * part; }
  double part(double number) const { return (number - low) / (high - low); }
};

// Room around the numbers from low to high; also where these are one, or so near that doubles hardly tell them apart.
inline Range roomy(double low, double high) {
  const double size = std::max(std::abs(low), std::abs(high));
  constexpr double smallest = 1e-280;  // below, steps between ticks would not be numbers
  if (high - low <= std::max(size * 1e-9, smallest)) {
    const double room = size > smallest ? size / 2 : 1;
    return {low - room, high + room};
  }
  const double room = (high - low) * 0.07;
  return {low - room, high + room};
}

// Larger coordinates are not drawn, so that no arithmetic on them overflows.
inline constexpr double largest_coordinate = 1e300;

inline bool is_drawable(std::span<const double> xy) {
  return std::abs(xy[0]) <= largest_coordinate && std::abs(xy[1]) <= largest_coordinate;
}

// The part of the plane the points lie in, and the scores there.
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
      throw Error(call_, "scores() to give as many numbers at every point", std::to_string(scores.size()),
                  "give one for two classes, or one a class");
    return verdict(scores);
  }

  // Classes with a name or a point.
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
                  std::to_string(data.x.size()), "give two numbers a label");
  }

  Range range(std::size_t column) const {
    double low = std::numeric_limits<double>::infinity(), high = -low;
    for (const Dataset* data : {&plot_->train, &plot_->test}) {
      for (std::size_t i = 0; i < data->rows(); ++i) {
        if (!is_drawable(data->row(i))) continue;
        low = std::min(low, data->row(i)[column]);
        high = std::max(high, data->row(i)[column]);
      }
    }
    return low > high ? Range{-1, 1} : roomy(low, high);
  }

  std::string_view call_;
  const TrainingPlot* plot_;
  std::array<Range, 2> ranges_{};
  std::size_t count_ = 0;  // of scores
};

// The rows to draw where there are too many: evenly chosen, for data may be sorted.
inline std::vector<std::size_t> thinned(const Dataset& data, std::size_t most) {
  std::vector<std::size_t> drawable;
  for (std::size_t i = 0; i < data.rows(); ++i)
    if (is_drawable(data.row(i))) drawable.push_back(i);
  if (drawable.size() <= most) return drawable;
  std::vector<std::size_t> chosen(most);
  for (std::size_t i = 0; i < most; ++i) chosen[i] = drawable[i * drawable.size() / most];
  return chosen;
}

// How many points of train and test are drawn when only so many may be: their shares, and at least one of each.
inline std::array<std::size_t, 2> shares(const TrainingPlot& plot, std::size_t most) {
  const std::size_t train = plot.train.rows(), test = plot.test.rows();
  if (train + test <= most) return {train, test};
  const double part = static_cast<double>(test) / static_cast<double>(train + test);
  const auto rounded = static_cast<std::size_t>(std::lround(part * static_cast<double>(most)));
  const std::size_t of_test = test == 0 ? 0 : std::clamp<std::size_t>(rounded, 1, most - 1);
  return {most - of_test, of_test};
}

}  // namespace gradwalk::detail
