// SPDX-License-Identifier: MIT
// Drawings as text in Graphviz's language: what is drawn, and how it looks.
//
// Boxes are n0, n1, ... and operations op0, op1, ... after their place in the snapshot. Labels are HTML-like, so that
// a drawing may be turned without turning its cells.
#include <algorithm>
#include <charconv>
#include <string>
#include <vector>

#include "gradwalk/draw.hpp"
#include "text.hpp"

namespace gradwalk {
namespace {

using namespace detail;
using Node = Snapshot::Node;

constexpr std::size_t longest_drawn_op = 20;  // a custom node's name may be any text

// Fills get lighter from the root to the leaves to the rest, so they differ in grey too.
constexpr std::string_view preamble =
    "  bgcolor=white; pad=0.15; nodesep=0.18; ranksep=0.28\n"
    "  fontname=\"DejaVu Sans,Helvetica,Arial,sans-serif\"; fontsize=11; fontcolor=\"#4a5361\"; labelloc=b\n"
    "  node [fontname=\"DejaVu Sans,Helvetica,Arial,sans-serif\", fontsize=11, fontcolor=\"#1b222c\", shape=box, "
    "style=\"rounded,filled\", margin=0, height=0.3, width=0.3, color=\"#8a94a3\", fillcolor=white]\n"
    "  edge [fontname=\"DejaVu Sans,Helvetica,Arial,sans-serif\", fontsize=8, fontcolor=\"#4a5361\", "
    "color=\"#6b7585\", arrowsize=0.6";
constexpr std::string_view leaf_style = ", color=\"#4a78b0\", fillcolor=\"#e3eefa\"";
constexpr std::string_view root_style = ", color=\"#1b222c\", fillcolor=\"#fbe7b8\", penwidth=2";
constexpr std::string_view constant_style = ", fontsize=9, fontcolor=\"#4a5361\", color=\"#c3c9d2\", height=0.24";
constexpr std::string_view op_style = ", fillcolor=\"#eceff3\", color=\"#4a5361\"";

// Text inside an HTML-like label. Graphviz knows escapes such as \N there too, and what comes out of it as an entity
// stays one in SVG: a word joiner keeps "&lt;" in a label from being read as such.
std::string label_text(std::string_view text, std::size_t longest) {
  std::string result;
  for (const char c : shown_text(text, longest)) {
    result += c == '\\' ? "\\\\" : xml_escaped({&c, 1});
    if (c == '&') result += word_joiner;
  }
  return result;
}

// A constant needs no trailing zeros: 2, 0.5, 1e+20.
std::string constant_text(const Node& node, int digits) {
  char text[32];
  const auto shortest = std::to_chars(text, text + sizeof text, node.data);
  const std::string fixed = shown_number(node.data, digits);
  return std::string(text, shortest.ptr).size() < fixed.size() ? std::string(text, shortest.ptr) : fixed;
}

bool order_matters(Op op) {
  return op == Op::sub || op == Op::div || op == Op::pow || op == Op::atan2 || op == Op::custom;
}

std::string ordinal(std::size_t number) {
  const bool teen = number % 100 / 10 == 1;
  const std::size_t last = teen ? 0 : number % 10;
  return std::to_string(number) + (last == 1 ? "st" : last == 2 ? "nd" : last == 3 ? "rd" : "th");
}

// Edges leave a box where the next rank is, and enter it at the other side.
struct Way {
  std::string_view ranks, out, in;
};

Way way_of(DrawOptions::Direction direction) {
  switch (direction) {
    case DrawOptions::Direction::down: return {"TB", "s", "n"};
    case DrawOptions::Direction::left: return {"RL", "w", "e"};
    case DrawOptions::Direction::up: return {"BT", "n", "s"};
    default: return {"LR", "e", "w"};
  }
}

class Drawing {
 public:
  Drawing(const Snapshot& graph, const DrawOptions& options)
      : graph_(graph), options_(options), way_(way_of(options.direction)) {
    if (options.digits < 0 || options.digits > 17)
      throw Error("draw", "0 to 17 digits", std::to_string(options.digits), "4 is a good number");
    if (options.limit == 0) throw Error("draw", "a limit of at least 1", "0", "the root is always drawn");
    if (graph.nodes.empty()) throw Error("draw", "a graph", "a snapshot without nodes", "take one with snapshot(root)");
    choose();
  }

  std::string text() {
    text_ = "digraph gradwalk {\n  rankdir=";
    text_.append(way_.ranks).append("\n").append(preamble);
    text_.append(", tailport=").append(way_.out).append(", labelangle=35, labeldistance=1.4]\n");
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i)
      if (drawn_[i]) node(i);
    if (hidden_ > 0) collapsed();
    return text_ + "}\n";
  }

 private:
  bool is_left_out(std::size_t i) const {
    return options_.hide_constants && graph_.nodes[i].is_constant() && i != graph_.root();
  }

  // The nodes nearest to the root, as many as the limit allows.
  void choose() {
    drawn_.assign(graph_.nodes.size(), false);
    std::vector<std::size_t> queue{graph_.root()};
    drawn_[graph_.root()] = true;
    for (std::size_t next = 0; next < queue.size() && queue.size() < options_.limit; ++next) {
      for (const std::size_t operand : graph_.nodes[queue[next]].operands) {
        if (drawn_[operand] || is_left_out(operand) || queue.size() == options_.limit) continue;
        drawn_[operand] = true;
        queue.push_back(operand);
      }
    }
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) total_ += is_left_out(i) ? 0 : 1;
    hidden_ = total_ - queue.size();
  }

  void node(std::size_t i) {
    const Node& node = graph_.nodes[i];
    const std::string number = std::to_string(i);
    text_ += "  n" + number + " [label=<";
    node.is_constant() ? constant_label(node) : value_label(node);
    text_ += ">";
    text_ += i == graph_.root() ? root_style : node.is_constant() ? constant_style : node.is_leaf() ? leaf_style : "";
    text_ += "]\n";
    if (node.operands.empty()) return;
    const std::string op = op_text(node);
    text_ += "  op" + number + " [label=<" + label_text(op, longest_drawn_op) + ">";
    text_.append(op.size() <= 2 ? ", shape=circle, fixedsize=true" : ", margin=\"0.09,0\"").append(op_style);
    text_ += "]\n  op" + number + " -> n" + number + " [weight=4, headport=";
    text_.append(way_.in).append("]\n");
    edges(node, "op" + number);
  }

  void value_label(const Node& node) {
    text_ += R"(<table border="0" cellborder="0" cellspacing="0" cellpadding="5"><tr><td>)";
    text_ += node.label.empty() ? R"(<font color="#5f6b7a">)" + label_text(node.name, longest_drawn_label) + "</font>"
                                : label_text(node.label, longest_drawn_label);
    text_ += "</td>";
    number_cell("data", node.data);
    number_cell("grad", node.grad);
    text_ += "</tr></table>";
  }

  void number_cell(std::string_view word, double number) {
    text_.append("<vr/><td>").append(word).append(" ").append(shown_number(number, options_.digits)).append("</td>");
  }

  void constant_label(const Node& node) {
    text_ += R"(<table border="0" cellborder="0" cellspacing="0" cellpadding="3"><tr><td>)";
    if (!node.label.empty()) text_ += label_text(node.label, longest_drawn_label) + " = ";
    text_ += constant_text(node, options_.digits) + "</td></tr></table>";
  }

  // The symbol, with the constants around it that have no box: "** 2", "10 /", "max 0".
  std::string op_text(const Node& node) const {
    std::string text = node.op_name;
    if (node.op == Op::custom) return text;
    for (std::size_t k = 0; k < node.operands.size(); ++k) {
      if (!is_left_out(node.operands[k])) continue;
      const std::string constant = constant_text(graph_.nodes[node.operands[k]], options_.digits);
      text = k == 0 && node.operands.size() == 2 ? constant + " " + text : text + " " + constant;
    }
    return text;
  }

  // In operand order, numbered where that matters and is not plain otherwise. Hidden operands share one edge.
  void edges(const Node& node, const std::string& op) {
    bool numbered = false;
    for (const std::size_t operand : node.operands) numbered = numbered || operand != node.operands[0];
    for (const std::size_t operand : node.operands) numbered = numbered && !is_left_out(operand);
    numbered = numbered && order_matters(node.op);
    bool has_hidden = false;
    for (std::size_t k = 0; k < node.operands.size(); ++k) {
      const std::size_t operand = node.operands[k];
      if (drawn_[operand]) {
        text_ += "  n" + std::to_string(operand) + " -> " + op;
        if (numbered && k > 0) text_ += " [headlabel=\"" + ordinal(k + 1) + "\"]";
        text_ += "\n";
      } else if (!is_left_out(operand)) {
        has_hidden = true;
      }
    }
    if (has_hidden) text_ += "  more -> " + op + " [style=dashed]\n";
  }

  void collapsed() {
    text_.append("  more [label=<").append(ellipsis).append(" ").append(shown_count(hidden_)).append(" more node");
    text_.append(hidden_ == 1 ? "" : "s").append(">, style=\"rounded,dashed\", margin=\"0.12,0.06\"]\n  label=<");
    text_.append(shown_count(hidden_)).append(" of ").append(shown_count(total_));
    text_ += " nodes are not drawn; a higher limit draws more>\n";
  }

  const Snapshot& graph_;
  const DrawOptions& options_;
  const Way way_;
  std::vector<bool> drawn_;
  std::size_t total_ = 0, hidden_ = 0;
  std::string text_;
};

}  // namespace

std::string draw_dot(const Snapshot& graph, const DrawOptions& options) { return Drawing(graph, options).text(); }

}  // namespace gradwalk
