// SPDX-License-Identifier: MIT
// Drawings as pictures, by the Graphviz library. It has one state a process and prints what it thinks to stderr: here
// one mutex guards it, and its messages become Errors.
#include <graphviz/gvc.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <mutex>
#include <string>

#include "gradwalk/draw.hpp"
#include "sketch/labels.hpp"

namespace gradwalk {
namespace {

constexpr double sharp = 144;       // dots an inch: twice the size of the SVG
constexpr double widest = 32'000;   // dots; cairo takes no more than 32,767
constexpr double most_dots = 20e6;  // larger bitmaps take seconds to compress

std::mutex one_at_a_time;
std::string messages;

int keep_message(char* text) {
  messages += text;
  return 0;
}

// Graphviz's words for one call.
class Listening {
 public:
  Listening() : lock_(one_at_a_time), before_(agseterrf(keep_message)) { messages.clear(); }
  ~Listening() { agseterrf(before_); }
  Listening(const Listening&) = delete;
  Listening& operator=(const Listening&) = delete;

 private:
  std::lock_guard<std::mutex> lock_;
  agusererrf before_;
};

[[noreturn]] void fail(std::string_view call, std::string_view needs, std::string_view advice) {
  std::string said = messages.empty() ? "no word of why" : messages;
  std::replace(said.begin(), said.end(), '\n', ' ');
  said.erase(said.find_last_not_of(' ') + 1);
  throw Error(call, needs, said, advice);
}

constexpr std::string_view reinstall =
    "install Graphviz's plugins (Debian: libgvc6), and run `dot -c` or `libgvc6-config-update -c` if they are there";

// One context for the life of the process: a new one would read and load the plugins again.
GVC_t* context() {
  static GVC_t* const made = gvContext();
  return made;
}

struct CloseGraph {
  void operator()(Agraph_t* graph) const { agclose(graph); }
};
struct FreeLayout {
  void operator()(Agraph_t* graph) const { gvFreeLayout(context(), graph); }
};

// The sharpest a bitmap of the laid out graph can be.
double dots_an_inch(Agraph_t* graph) {
  const double width = (GD_bb(graph).UR.x - GD_bb(graph).LL.x) / 72 + 1;
  const double height = (GD_bb(graph).UR.y - GD_bb(graph).LL.y) / 72 + 1;
  return std::min({sharp, widest / std::max(width, height), std::sqrt(most_dots / (width * height))});
}

std::string render(std::string_view call, const std::string& dot, const char* format) {
  const Listening listening;
  const std::unique_ptr<Agraph_t, CloseGraph> graph(agmemread(dot.c_str()));
  if (!graph) fail(call, "a drawing Graphviz can read", "report this: it is a fault of gradwalk");
  if (gvLayout(context(), graph.get(), "dot") != 0) fail(call, "Graphviz's dot layout", reinstall);
  const std::unique_ptr<Agraph_t, FreeLayout> layout(graph.get());
  if (std::string_view(format) == "png") GD_drawing(graph.get())->dpi = dots_an_inch(graph.get());
  char* bytes = nullptr;
  unsigned length = 0;
  const int failed = gvRenderData(context(), graph.get(), format, &bytes, &length);
  const std::unique_ptr<char, decltype(&gvFreeRenderData)> owned(bytes, gvFreeRenderData);
  if (failed != 0 || bytes == nullptr || length == 0)
    fail(call, std::string("Graphviz's renderer for ") + format, reinstall);
  return {bytes, length};
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
  // From the element on, so that it can stand in a page too; with a title of its own.
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
