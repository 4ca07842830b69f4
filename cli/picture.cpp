// SPDX-License-Identifier: MIT
// Pictures of what was learned, by plot.hpp.
#include "picture.hpp"

#include <fmt/format.h>
#include <langinfo.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <clocale>
#include <filesystem>

#include "gradwalk/files.hpp"
#include "gradwalk/plot.hpp"

namespace gradwalk::cli {
namespace {

std::string extension_of(const std::string& path) {
  std::string extension = std::filesystem::path(path).extension().string();
  for (char& c : extension) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return extension;
}

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
  winsize size{};
  const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  TextPlotOptions options;
  options.width = known ? std::clamp<std::size_t>(size.ws_col, 20, 72) : 64;
  options.height = known ? std::clamp<std::size_t>(size.ws_row > 8 ? size.ws_row - 8u : 2, 2, 22) : 20;
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
