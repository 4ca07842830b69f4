// SPDX-License-Identifier: MIT
// Draws training plots: the panels side by side below a title.
#include "gradwalk/plot.hpp"

#include <optional>

#include "panels.hpp"

namespace gradwalk {
namespace {

using namespace detail;

constexpr double margin = 28, gap = 44, right_room = 14;  // space for the last tick label
constexpr double regions_width = 480, curve_width = 456, wide_curve_width = 880, panel_height = 400;

void check(std::string_view call, const TrainingPlot& plot) {
  const LearningCurve& curve = plot.curve;
  if (curve.steps.size() != curve.loss.size() ||
      (!curve.accuracy.empty() && curve.accuracy.size() != curve.steps.size()))
    throw Error(call, "one loss per step, and one accuracy per step or none",
                std::to_string(curve.steps.size()) + " steps, " + std::to_string(curve.loss.size()) + " losses and " +
                    std::to_string(curve.accuracy.size()) + " accuracies",
                "give lists of one length");
  for (const ScatterPlot& scatter : plot.scatters)
    for (const ScatterPlot::Points* points : {&scatter.train, &scatter.test, &scatter.line})
      if (points->x.size() != points->y.size())
        throw Error(call, "a y for each x",
                    std::to_string(points->x.size()) + " and " + std::to_string(points->y.size()) + " of them",
                    "give lists of one length");
  const std::size_t classes = plot.confusion.names.size();
  if (plot.confusion.counts.size() != classes * classes || classes == 1 || classes > 20)
    throw Error(call, "2 to 20 names of classes, and a count for each pair",
                std::to_string(classes) + " and " + std::to_string(plot.confusion.counts.size()),
                "give all of them, or none");
  if (curve.steps.empty() && !plot.scores && plot.scatters.empty() && classes == 0)
    throw Error(call, "a learning curve, or scores of 2-D data", "neither", "fill in curve.steps and curve.loss");
}

// Draws the plot on a canvas, which make(width, height, title) creates once its size is known.
template <class MakeCanvas> std::string drawn(std::string_view call, const TrainingPlot& plot, MakeCanvas make) {
  check(call, plot);
  std::optional<RegionsPanel> regions;
  if (plot.scores) regions.emplace(call, plot, regions_width);
  const bool has_curve = !plot.curve.steps.empty();
  const bool has_confusion = !plot.confusion.names.empty();
  const std::size_t before = plot.scatters.size() + (regions ? 1 : 0) +
                             (has_confusion ? 1 : 0);  // the panels before the curve, all as wide as the regions
  const double last_width = !has_curve ? 0 : before > 0 ? curve_width : wide_curve_width;
  const std::size_t gaps = before + (has_curve ? 1 : 0) - 1;
  const double width = margin + static_cast<double>(before) * regions_width + static_cast<double>(gaps) * gap +
                       last_width + right_room + margin;
  const Lettering large{.size = 18, .colour = ink, .bold = true}, small{.size = 12.5, .colour = soft_ink};
  const double title_room = width - 2 * margin;
  const std::string title = fitted(plot.title, title_room, large), subtitle = fitted(plot.subtitle, title_room, small);
  const double top = margin + (title.empty() ? 0 : 26) + (subtitle.empty() ? 0 : 20) + (title.empty() ? 0 : 6);
  const double height = top + panel_height + (regions ? regions->legend_height() : 0) + margin - 8;

  const auto canvas = make(width, height, title);
  canvas->fill({0, 0, width, height}, white);
  if (!title.empty()) canvas->text({margin, margin + 14}, title, large);
  if (!subtitle.empty()) canvas->text({margin, margin + (title.empty() ? 8 : 36)}, subtitle, small);
  Box box{margin, top, regions_width, panel_height};
  if (regions) {
    regions->draw(*canvas, box);
    box.left += regions_width + gap;
  }
  for (const ScatterPlot& scatter : plot.scatters) {
    draw_scatter(*canvas, box, scatter);
    box.left += regions_width + gap;
  }
  if (has_confusion) {
    draw_confusion(*canvas, box, plot.confusion);
    box.left += regions_width + gap;
  }
  box.width = last_width;
  if (has_curve) draw_curves(*canvas, box, plot.curve);
  return canvas->take();
}

}  // namespace

std::string plot_svg(const TrainingPlot& plot) { return drawn("plot_svg", plot, svg_canvas); }

std::string plot_png(const TrainingPlot& plot) {
  return drawn("plot_png", plot,
               [](double width, double height, std::string_view) { return png_canvas(width, height); });
}

}  // namespace gradwalk
