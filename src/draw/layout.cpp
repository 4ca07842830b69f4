// SPDX-License-Identifier: MIT
// Draws graphs as SVG and PNG, by the Graphviz library.
#include <algorithm>
#include <cmath>
#include <string>

#include "gradwalk/draw.hpp"
#include "graphviz.hpp"
#include "sketch/labels.hpp"

namespace gradwalk {
namespace {

constexpr double sharp = 144;       // dots per inch; makes a bitmap twice as large as the SVG
constexpr double widest = 32'000;   // in dots; cairo's limit is 32,767
constexpr double most_dots = 20e6;  // larger bitmaps take seconds to compress

// Returns the highest resolution that a bitmap of the graph can have.
double dots_per_inch(Agraph_t* graph) {
  const double width = (GD_bb(graph).UR.x - GD_bb(graph).LL.x) / 72 + 1;
  const double height = (GD_bb(graph).UR.y - GD_bb(graph).LL.y) / 72 + 1;
  return std::min({sharp, widest / std::max(width, height), std::sqrt(most_dots / (width * height))});
}

std::string render(std::string_view call, const std::string& dot, const char* format) {
  const detail::Layout drawing(call, dot);
  if (std::string_view(format) == "png") GD_drawing(drawing.graph())->dpi = dots_per_inch(drawing.graph());
  return drawing.rendered(format);
}

void check_limit(std::string_view call, const DrawOptions& options) {
  if (options.limit > largest_layout)
    throw Error(call, "a limit of at most " + std::to_string(largest_layout) + " nodes", std::to_string(options.limit),
                "lower it, or give the text of draw_dot to a layout program for large graphs");
}

}  // namespace

std::string draw_svg(const Snapshot& graph, const DrawOptions& options) {
  check_limit("draw_svg", options);
  std::string svg = render("draw_svg", draw_dot(graph, options), "svg");
  // Keep the <svg> element only, so that it can be part of a page, and give it a title.
  svg.erase(0, svg.find("<svg"));
  const Snapshot::Node& root = graph.nodes.back();
  const std::string title =
      detail::shown_text(root.name, longest_drawn_label) + " = " + detail::shown_number(root.data, options.digits);
  svg.insert(svg.find('>') + 1, "\n<title>" + detail::xml_escaped(title) + "</title>");
  return svg;
}

std::string draw_png(const Snapshot& graph, const DrawOptions& options) {
  check_limit("draw_png", options);
  return render("draw_png", draw_dot(graph, options), "png");
}

}  // namespace gradwalk
