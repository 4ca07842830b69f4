// SPDX-License-Identifier: MIT
// Plots a trained model, in the terminal and as a file, with plot.hpp.
#include "picture.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "drawing.hpp"
#include "extension.hpp"
#include "gradwalk/files.hpp"
#include "system.hpp"

namespace gradwalk::cli {
namespace {

// For a model with one feature: its prediction from the smallest to the largest value of that feature.
ScatterPlot fitted_curve(const Regressor& model, const Split& data) {
  ScatterPlot plot{"Fitted curve",
                   model.feature_names[0],
                   model.target_name,
                   {data.train.x, data.train.targets},
                   {data.test.x, data.test.targets},
                   {}};
  constexpr int pieces = 300;
  const auto [low, high] = std::minmax_element(data.train.x.begin(), data.train.x.end());
  for (int i = 0; i <= pieces; ++i) {
    const double x = *low + (*high - *low) * i / pieces;
    plot.line.x.push_back(x);
    plot.line.y.push_back(model.predict(std::span(&x, 1)));
  }
  return plot;
}

ScatterPlot residuals(const Regressor& model, const Split& data) {
  ScatterPlot plot{"Residuals", "predicted " + model.target_name, model.target_name + " minus prediction", {}, {}, {}};
  const auto add = [&](const Dataset& rows, ScatterPlot::Points& points) {
    for (std::size_t i = 0; i < rows.rows(); ++i) {
      points.x.push_back(model.predict(rows.row(i)));
      points.y.push_back(rows.targets[i] - points.x.back());
    }
  };
  add(data.train, plot.train);
  add(data.test, plot.test);
  const auto [low, high] = std::minmax_element(plot.train.x.begin(), plot.train.x.end());
  plot.line = {{*low, *high}, {0, 0}};
  return plot;
}

TrainingPlot plot_of(const Learned& learned) {
  const auto& [run, model, data] = learned;
  TrainingPlot plot;
  plot.curve = {run.history().steps, run.history().loss, {}};
  if (is_regressor(model)) {
    if (data.train.columns == 1) plot.scatters.push_back(fitted_curve(regressor_of(model), data));
    plot.scatters.push_back(residuals(regressor_of(model), data));
    return plot;
  }
  plot.curve.accuracy = run.history().accuracy;
  if (data.train.columns != 2) return plot;
  plot.scores = [of = &model_of(model)](std::span<const double> xy) { return of->scores(xy); };
  plot.train = data.train;
  plot.test = data.test;
  return plot;
}

}  // namespace

void check_picture_name(const std::string& path) {
  const std::string extension = extension_of(path);
  if (extension != ".svg" && extension != ".png")
    throw Error("train", "a --plot file that ends in .svg or .png", "'" + path + "'", "rename it");
  draw_calls("train");  // before the work: an Error if nothing can be drawn
}

void print_picture(const Learned& learned, bool colour) {
  if (learned.data.train.columns != 2 || is_regressor(learned.model)) return;
  const TerminalSize size = terminal_size().value_or(TerminalSize{64, 28});
  TextPlotOptions options;
  options.width = std::clamp<std::size_t>(size.columns, 20, 72);
  options.height = std::clamp<std::size_t>(size.rows > 8 ? size.rows - 8 : 2, 2, 22);
  options.colour = colour;
  options.unicode = shows_unicode();
  fmt::print("\n{}", plot_text(plot_of(learned), options));
}

void write_picture(const std::string& path, const std::string& title, const Learned& learned, const Figures& train,
                   const Figures& test) {
  TrainingPlot plot = plot_of(learned);
  plot.title = title;
  plot.subtitle = fmt::format("{} steps, {}", learned.run.steps(), in_words(train));
  if (rows_of(test) > 0) plot.subtitle += "; test: " + in_words(test);
  constexpr std::size_t most_classes = 20;
  if (const auto* result = std::get_if<Classifier::Result>(&test);
      result != nullptr && result->rows > 0 && result->classes <= most_classes)
    plot.confusion = {"Test rows", classifier_of(learned.model).label_names, result->confusion};
  const DrawCalls& draw = draw_calls("train");
  write_file(path, extension_of(path) == ".png" ? draw.plot_png(plot) : draw.plot_svg(plot));
}

}  // namespace gradwalk::cli
