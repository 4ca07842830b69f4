// SPDX-License-Identifier: MIT
// gradwalk draw: draws the graph of an expression, with data and gradients, as a picture or as DOT text.
#include "gradwalk/draw.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>

#include "commands.hpp"
#include "drawing.hpp"
#include "extension.hpp"
#include "gradwalk/expression.hpp"
#include "gradwalk/files.hpp"
#include "input.hpp"

namespace gradwalk::cli {
namespace {

enum class Format { dot, svg, png };
const std::map<std::string, Format> formats{{"dot", Format::dot}, {"svg", Format::svg}, {"png", Format::png}};
const std::map<std::string, DrawOptions::Direction> directions{{"right", DrawOptions::Direction::right},
                                                               {"down", DrawOptions::Direction::down},
                                                               {"left", DrawOptions::Direction::left},
                                                               {"up", DrawOptions::Direction::up}};

struct DrawArguments {
  Input input;
  DrawOptions draw;
  std::string output = "-";
  std::optional<Format> format;
};

Format format_of(const DrawArguments& options) {
  if (options.format) return *options.format;
  if (options.output == "-") return Format::dot;
  const std::string extension = extension_of(options.output);
  const auto found = formats.find(extension.empty() ? "" : extension.substr(1));
  if (found == formats.end())
    throw Error("draw", "a file that ends in .svg, .png or .dot", "'" + options.output + "'",
                "rename it, or give --format");
  return found->second;
}

std::string drawing(const Snapshot& graph, Format format, const DrawOptions& options) {
  switch (format) {
    case Format::svg: return draw_calls("draw").draw_svg(graph, options);
    case Format::png: return draw_calls("draw").draw_png(graph, options);
    default: return draw_dot(graph, options);
  }
}

void draw(const DrawArguments& options) {
  const Format format = format_of(options);  // throws for a bad file name, before the layout, which can take seconds
  const Expression expression = parse(options.input.text());
  expression.root.backward();
  const Snapshot graph = snapshot(expression.root);
  const std::string bytes = drawing(graph, format, options.draw);
  if (options.output == "-") {
    std::fwrite(bytes.data(), 1, bytes.size(), stdout);
    return;
  }
  write_file(options.output, bytes);
  const auto is_drawn = [&](const Snapshot::Node& node) { return !options.draw.hide_constants || !node.is_constant(); };
  const auto nodes = static_cast<std::size_t>(std::count_if(graph.nodes.begin(), graph.nodes.end(), is_drawn));
  if (nodes > options.draw.limit)
    fmt::print("wrote {} ({} of {} nodes; --limit draws more)\n", options.output, options.draw.limit, nodes);
  else
    fmt::print("wrote {} ({} node{})\n", options.output, nodes, nodes == 1 ? "" : "s");
}

}  // namespace

void add_draw(CLI::App& app) {
  const auto options = std::make_shared<DrawArguments>();
  CLI::App* command = app.add_subcommand("draw", "Draw the graph of an expression as SVG, PNG or DOT");
  options->input.add_to(*command);
  command
      ->add_option("-o,--output", options->output,
                   "File to write (.svg, .png or .dot), or - for standard output [default: -]")
      ->option_text("FILE");
  command
      ->add_option("--format", options->format,
                   "Format of the drawing: svg, png or dot [default: that of the file name; dot on standard output]")
      ->transform(CLI::CheckedTransformer(formats, CLI::ignore_case))
      ->option_text("FORMAT");
  command
      ->add_option("--direction", options->draw.direction,
                   "Direction from the leaves to the root: right, down, left or up [default: right]")
      ->transform(CLI::CheckedTransformer(directions, CLI::ignore_case))
      ->option_text("DIR");
  command->add_option("--decimals", options->draw.digits, "Decimal places of data and grad [default: 4]")
      ->check(CLI::Range(0, 17))
      ->option_text("N");
  command->add_flag("--hide-constants", options->draw.hide_constants,
                    "Write constants inside the operations that use them");
  command
      ->add_option(
          "--limit", options->draw.limit,
          fmt::format("Maximum number of nodes. Those nearest the root are drawn. SVG and PNG allow at most {} "
                      "[default: {}]",
                      largest_layout, options->draw.limit))
      ->check(CLI::Range(std::size_t{1}, largest_snapshot))
      ->option_text("N");
  command->footer(
      "Examples:\n"
      "  gradwalk draw 'a=2; b=-3; c=10; e=a+b; f=e*c' -o graph.svg\n"
      "  gradwalk draw 'x=0.5; tanh(x)**2' --hide-constants --direction up -o graph.png\n"
      "  gradwalk draw --file neuron.txt --format svg > neuron.svg");
  command->callback([options] { draw(*options); });
}

}  // namespace gradwalk::cli
