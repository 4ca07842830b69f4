// SPDX-License-Identifier: MIT
// Writes drawings in Graphviz's DOT language.
//
// Boxes are named n0, n1, ... and operations op0, op1, ... by their index in the snapshot. Labels are HTML-like, so
// that a change of direction does not turn the cells of a box.
#include <algorithm>
#include <string>
#include <vector>

#include "gradwalk/dot.hpp"
#include "labels.hpp"
#include "selection.hpp"

namespace gradwalk {
namespace {

using namespace detail;
using Node = Snapshot::Node;

constexpr std::size_t longest_drawn_op = 20;  // in characters; the name of a custom node may be any text

// Fills get lighter from the root to the leaves to the other nodes, so that they also differ in greyscale.
constexpr std::string_view preamble =
    "  bgcolor=white; pad=0.15; nodesep=0.18; ranksep=0.28\n"
    "  fontname=\"DejaVu Sans,Helvetica,Arial,sans-serif\"; fontsize=13; fontcolor=\"#4a5361\"; labelloc=b\n"
    "  node [fontname=\"DejaVu Sans,Helvetica,Arial,sans-serif\", fontsize=11, fontcolor=\"#1b222c\", shape=box, "
    "style=\"rounded,filled\", margin=0, height=0.3, width=0.3, color=\"#8a94a3\", fillcolor=white]\n"
    "  edge [fontname=\"DejaVu Sans,Helvetica,Arial,sans-serif\", fontsize=8, fontcolor=\"#4a5361\", "
    "color=\"#6b7585\", arrowsize=0.6";
constexpr std::string_view leaf_style = ", color=\"#4a78b0\", fillcolor=\"#e3eefa\"";
constexpr std::string_view root_style = ", color=\"#1b222c\", fillcolor=\"#fbe7b8\", penwidth=2";
constexpr std::string_view constant_style =
    ", fontsize=9, fontcolor=\"#4a5361\", color=\"#c3c9d2\", height=0.24, margin=\"0.06,0.02\"";
constexpr std::string_view dashed_style = ", style=\"rounded,dashed\", margin=\"0.08,0.03\", fontcolor=\"#4a5361\"";
constexpr std::string_view op_style = ", fillcolor=\"#eceff3\", color=\"#4a5361\"";

// Returns text for an HTML-like label. Backslashes are escaped, because Graphviz reads \N there, too.
std::string label_text(std::string_view text, std::size_t longest) {
  std::string result;
  for (const char c : shown_text(text, longest)) result += c == '\\' ? "\\\\" : xml_escaped({&c, 1});
  return result;
}

// Returns the number of a constant without trailing zeros: 2, 0.5, 1e+20.
std::string constant_text(const Node& node, int digits) {
  const std::string shortest = format_number(node.data), fixed = shown_number(node.data, digits);
  return shortest.size() < fixed.size() ? shortest : fixed;
}

bool order_matters(Op op) {
  return op == Op::sub || op == Op::div || op == Op::pow || op == Op::atan2 || op == Op::fmod || op == Op::copysign ||
         op == Op::custom || op == Op::pick;
}

std::string ordinal(std::size_t number) {
  const bool teen = number % 100 / 10 == 1;
  const std::size_t last = teen ? 0 : number % 10;
  return std::to_string(number) + (last == 1 ? "st" : last == 2 ? "nd" : last == 3 ? "rd" : "th");
}

// Graphviz's words for a direction: the order of ranks, and the sides where edges leave and enter a box.
struct Sides {
  std::string_view ranks, out, in;
};

Sides sides_of(DrawOptions::Direction direction) {
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
      : graph_(graph), options_(options), sides_(sides_of(options.direction)), selection_(graph, options) {}

  std::string text() {
    text_ = "digraph gradwalk {\n  rankdir=";
    text_.append(sides_.ranks).append("\n").append(preamble);
    text_.append(", tailport=").append(sides_.out).append(", labelangle=35, labeldistance=1.4]\n");
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i)
      if (selection_.is_drawn(i)) node(i);
    if (selection_.hidden_are_one_box)
      more("more", std::string(" ").append(shown_count(selection_.hidden)).append(" more nodes"));
    caption();
    return text_ + "}\n";
  }

 private:
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
    text_.append(sides_.in).append("]\n");
    edges(i, "op" + number);
  }

  void value_label(const Node& node) {
    text_ += R"(<table border="0" cellborder="0" cellspacing="0" cellpadding="5"><tr><td>)";
    text_ += node.label.empty() ? R"(<font color="#5f6b7a">)" + label_text(node.name, longest_drawn_label) + "</font>"
                                : label_text(node.name, longest_drawn_label);
    text_ += "</td>";
    number_cell("data", node.data);
    number_cell("grad", node.grad);
    text_ += "</tr></table>";
  }

  void number_cell(std::string_view word, double number) {
    text_.append("<vr/><td>").append(word).append(" ").append(shown_number(number, options_.digits)).append("</td>");
  }

  void constant_label(const Node& node) {
    if (!node.label.empty()) text_ += label_text(node.label, longest_drawn_label) + " = ";
    text_ += constant_text(node, options_.digits);
  }

  // Returns the symbol with the constants that have no box: "** 2", "10 /", "max 0".
  std::string op_text(const Node& node) const {
    if (node.op == Op::custom) return node.op_name.empty() ? std::string(name(Op::custom)) : node.op_name;
    std::string text = node.op_name;
    for (std::size_t k = 0; k < node.operands.size(); ++k) {
      if (!selection_.is_left_out(node.operands[k])) continue;
      const std::string constant = constant_text(graph_.nodes[node.operands[k]], options_.digits);
      if (k == 0 && node.operands.size() == 2)
        text.insert(0, " ").insert(0, constant);
      else
        text.append(" ").append(constant);
    }
    return text;
  }

  // Writes the edges to an operation, in operand order. Hidden operands share one edge.
  void edges(std::size_t user, const std::string& op) {
    const std::vector<std::size_t>& operands = graph_.nodes[user].operands;
    const bool is_numbered = needs_numbers(graph_.nodes[user]);
    bool has_hidden = false;
    for (std::size_t k = 0; k < operands.size(); ++k) {
      const Connection connection = selection_.connection(user, operands[k]);
      has_hidden = has_hidden || connection == Connection::hidden;
      if (connection != Connection::edge && connection != Connection::name) continue;
      const std::string from =
          connection == Connection::edge ? "n" + std::to_string(operands[k]) : name_box(operands[k], op, k);
      text_.append("  ").append(from).append(" -> ").append(op);
      if (is_numbered && k > 0) text_ += " [headlabel=\"" + ordinal(k + 1) + "\"]";
      text_ += "\n";
    }
    if (!has_hidden) return;
    if (!selection_.hidden_are_one_box) more(op + "_more", "");
    text_ += "  " + (selection_.hidden_are_one_box ? "more" : op + "_more") + " -> " + op + " [style=dashed]\n";
  }

  // Returns true if the edges need numbers: the order of operands matters, and no constant in the operation shows it.
  bool needs_numbers(const Node& node) const {
    bool differ = false, all_have_edges = true;
    for (const std::size_t operand : node.operands) {
      differ = differ || operand != node.operands[0];
      all_have_edges = all_have_edges && !selection_.is_left_out(operand);
    }
    return order_matters(node.op) && differ && all_have_edges;
  }

  // Writes a small box with the name of an operand whose own box is far away. Returns the id of the small box.
  std::string name_box(std::size_t operand, const std::string& op, std::size_t k) {
    const std::string id = op + "_" + std::to_string(k);
    text_ += "  " + id + " [label=<" + label_text(graph_.nodes[operand].name, longest_drawn_label) + ">";
    text_.append(dashed_style).append("]\n");
    return id;
  }

  // Writes a box "..." for hidden nodes.
  void more(const std::string& id, const std::string& how_many) {
    text_.append("  ").append(id).append(" [label=<").append(ellipsis).append(how_many).append(">");
    text_.append(dashed_style).append("]\n");
  }

  void caption() {
    std::string text;
    if (selection_.hidden > 0)
      text = shown_count(selection_.hidden) + " of " + shown_count(selection_.total) +
             " nodes are not drawn; a higher limit draws more";
    if (selection_.has_names)
      text.append(text.empty() ? "" : "<br/>").append("a dashed name stands for the box of that name");
    if (!text.empty()) text_ += "  label=<" + text + ">\n";
  }

  const Snapshot& graph_;
  const DrawOptions& options_;
  const Sides sides_;
  const Selection selection_;
  std::string text_;
};

}  // namespace

std::string draw_dot(const Snapshot& graph, const DrawOptions& options) {
  if (graph.nodes.empty()) throw Error("draw", "a graph", "a snapshot without nodes", "take one with snapshot(root)");
  if (options.digits < 0 || options.digits > 17)
    throw Error("draw", "0 to 17 digits", std::to_string(options.digits), "try 4");
  if (options.limit == 0) throw Error("draw", "a limit of at least 1", "0", "the root is always drawn");
  return Drawing(graph, options).text();
}

}  // namespace gradwalk
