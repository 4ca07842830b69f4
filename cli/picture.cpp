// SPDX-License-Identifier: MIT
// Pictures of what was learned, by plot.hpp.
#include "picture.hpp"

#include <fmt/format.h>
#include <langinfo.h>

#include <algorithm>
#include <clocale>

#include "extension.hpp"
#include "gradwalk/files.hpp"
#include "gradwalk/plot.hpp"
#include "terminal.hpp"

namespace gradwalk::cli {
namespace {

TrainingPlot plot_of(const TrainingRun& run, const Split& data) {
  TrainingPlot plot;
  plot.curve = {run.history().steps, run.history().loss, run.history().accuracy};
  if (data.train.columns != 2) return plot;
  plot.scores = [&run](std::span<const double> xy) { return run.model().scores(xy); };
  plot.train = data.train;
  plot.test = data.test;
  return plot;
}

bool shows_unicode() {
  std::setlocale(LC_CTYPE, "");
  const bool result = std::string_view(nl_langinfo(CODESET)) == "UTF-8";
  std::setlocale(LC_CTYPE, "C");
  return result;
}

}  // namespace

void check_picture_name(const std::string& path) {
  const std::string extension = extension_of(path);
  if (extension != ".svg" && extension != ".png")
    throw Error("train", "a picture that ends in .svg or .png", "'" + path + "'", "rename it");
}

void print_picture(const TrainingRun& run, const Split& data, bool colour) {
  if (data.train.columns != 2) return;
  const TerminalSize size = terminal_size().value_or(TerminalSize{64, 28});
  TextPlotOptions options;
  options.width = std::clamp<std::size_t>(size.columns, 20, 72);
  options.height = std::clamp<std::size_t>(size.rows > 8 ? size.rows - 8 : 2, 2, 22);
  options.colour = colour;
  options.unicode = shows_unicode();
  fmt::print("\n{}", plot_text(plot_of(run, data), options));
}

void write_picture(const std::string& path, const std::string& title, const TrainingRun& run, const Split& data,
                   const Classifier::Result& result) {
  TrainingPlot plot = plot_of(run, data);
  plot.title = title;
  plot.subtitle = fmt::format("{} steps, {} of {} right ({:.1f}%)", run.steps(), result.right, result.rows,
                              100 * result.accuracy());
  write_beside(path, extension_of(path) == ".png" ? plot_png(plot) : plot_svg(plot));
}

}  // namespace gradwalk::cli
