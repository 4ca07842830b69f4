// SPDX-License-Identifier: MIT
// Lays out the stage of a film: cairo measures the cards, and Graphviz places them, with space on each edge for the
// product that moves along it.
#include "film_stage.hpp"

#include <algorithm>
#include <cmath>

#include "graphviz.hpp"
#include "sketch/labels.hpp"

namespace gradwalk::detail {
namespace {

using Kind = Walk::Step::Kind;

constexpr std::size_t longest_head = 26;  // in characters

double width_of(const std::string& text, double size, bool bold) {
  return text_width(text, {.size = size, .bold = bold});
}

// Returns the heading of a card: "e = a + b".
std::string head_of(const Snapshot& graph, std::size_t i) {
  const Snapshot::Node& node = graph.nodes[i];
  if (node.operands.empty() || node.label.empty()) return shown_text(with_real_signs(node.name), longest_head);
  std::vector<std::string> operands;
  operands.reserve(node.operands.size());
  for (const std::size_t operand : node.operands) operands.push_back(bracketed_name(graph, operand));
  return shown_text(with_real_signs(node.name + " = " + written_out(node, operands)), longest_head);
}

// The widths of the widest texts of a walk, by node and by edge.
struct Widths {
  std::vector<double> data, grad, coins;
  std::map<std::pair<std::size_t, std::size_t>, double> words;
};

Widths widths_of(const Walk& walk) {
  const std::size_t n = walk.graph().nodes.size();
  Widths widest{std::vector<double>(n), std::vector<double>(n), std::vector<double>(n), {}};
  std::vector<std::vector<double>> coins(n);  // in order of arrival
  const auto raise = [](double& to, double width) { to = std::max(to, width); };
  const auto value = [](const std::string& text) { return width_of(text, film::value_size, true); };
  const auto pay = [&](std::size_t node, const std::string& text) {
    coins[node].push_back(width_of(text, film::word_size, true) + 14);
    const std::size_t shown = std::min(coins[node].size(), film::most_coins);
    double width = 0;
    for (std::size_t k = coins[node].size() - shown; k < coins[node].size(); ++k) width += coins[node][k] + 5;
    raise(widest.coins[node], width);
  };
  for (std::size_t i = 0; i < n; ++i) raise(widest.data[i], value(film_number(walk.graph().nodes[i].data)));
  for (const Walk::Step& step : walk.steps()) {
    if (step.kind == Kind::forward || step.kind == Kind::update)
      raise(widest.data[step.node], value(film_number(step.after)));
    if (step.kind == Kind::seed) {
      raise(widest.grad[step.node], value(signed_number(step.after)));
      pay(step.node, "seed " + signed_number(step.after));
    }
    for (const Walk::Deposit& deposit : step.deposits) {
      raise(widest.grad[deposit.to], value(signed_number(deposit.after)));
      pay(deposit.to, signed_number(deposit.amount) + (deposit.late ? " late" : ""));
      const std::string words =
          factor(step.before) + " \xC3\x97 " + factor(deposit.local) + " = " + signed_number(deposit.amount);
      raise(widest.words[{deposit.from, deposit.operand}], width_of(words, film::word_size, true) + 22);
    }
  }
  return widest;
}

std::string size_text(double size) { return std::to_string(static_cast<int>(std::ceil(size))); }

// Returns a column of empty cells, at which edges end.
std::string ports(char side, std::size_t count, double width) {
  std::string cells = R"(<td><table border="0" cellborder="0" cellspacing="0" cellpadding="0">)";
  const std::size_t rows = std::max<std::size_t>(count, 1);
  for (std::size_t i = 0; i < rows; ++i)
    cells += std::string("<tr><td port=\"") + side + std::to_string(i) + "\" fixedsize=\"true\" width=\"" +
             size_text(width / 2) + "\" height=\"" + size_text(film::card_height / static_cast<double>(rows)) +
             "\"></td></tr>";
  return cells + "</table></td>";
}

class Drawing {
 public:
  explicit Drawing(const Walk& walk) : graph_(walk.graph()), widest_(widths_of(walk)), users_(graph_.nodes.size()) {
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i)
      for (std::size_t k = 0; k < graph_.nodes[i].operands.size(); ++k)
        if (!is_left_out(graph_.nodes[i].operands[k])) users_[graph_.nodes[i].operands[k]].push_back({i, k});
  }

  FilmStage stage() {
    const Layout drawing("film", dot());
    Agraph_t* const laid = drawing.graph();
    const double top = GD_bb(laid).UR.y, across = GD_bb(laid).UR.x;
    const double whole = std::max(film::least_width, across + 2 * film::margin), left = (whole - across) / 2;
    const auto place = [&](double x, double y) { return Point{left + x, film::margin + top - y}; };
    FilmStage stage{whole, top + 2 * film::margin + film::caption_height, {}, {}};
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (is_left_out(i)) continue;
      Agnode_t* const node = agnode(laid, name(i).data(), 0);
      const Point middle = place(ND_coord(node).x, ND_coord(node).y);
      const double width = card_width(i);
      stage.cards.push_back(
          {i, {middle.x - width / 2, middle.y - film::card_height / 2, width, film::card_height}, head_of(graph_, i)});
      for (Agedge_t* edge = agfstout(laid, node); edge != nullptr; edge = agnxtout(laid, edge))
        stage.edges.push_back(edge_of(edge, place));
    }
    return stage;
  }

 private:
  struct Use {
    std::size_t user, operand;
  };
  // Constants have no card, because formulas show them. A root that is a constant has one.
  bool is_left_out(std::size_t i) const { return graph_.nodes[i].is_constant() && i != graph_.root(); }
  static std::string name(std::size_t node) { return "n" + std::to_string(node); }

  double card_width(std::size_t i) const {
    const double head = width_of(head_of(graph_, i), film::head_size, true) + 24 + (graph_.nodes[i].is_leaf() ? 24 : 0);
    const double values = widest_.data[i] + std::max(widest_.grad[i], 30.0) + 30;
    return std::ceil(2 * film::pad + std::max({112.0, head, values, widest_.coins[i]}));
  }

  std::string dot() const {
    std::string text =
        "digraph film {\n  rankdir=LR; nodesep=0.3; ranksep=0.25; node [shape=none, margin=0]; edge [arrowhead=none]\n";
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (is_left_out(i)) continue;
      const double width = card_width(i);
      text += "  " + name(i) +
              " [label=<<table border=\"0\" cellborder=\"0\" cellspacing=\"0\" cellpadding=\"0\"><tr>" +
              ports('i', graph_.nodes[i].operands.size(), width) + ports('o', users_[i].size(), width) +
              "</tr></table>>]\n";
      for (std::size_t k = 0; k < users_[i].size(); ++k) {
        const auto [user, operand] = users_[i][k];
        const auto found = widest_.words.find({user, operand});
        const double words = found == widest_.words.end() ? 40 : found->second;
        text += "  " + name(i) + ":o" + std::to_string(k) + ":e -> " + name(user) + ":i" + std::to_string(operand) +
                ":w [id=\"" + std::to_string(user) + " " + std::to_string(operand) +
                "\", label=<<table border=\"0\" cellborder=\"0\" cellspacing=\"0\" cellpadding=\"0\"><tr><td "
                "fixedsize=\"true\" width=\"" +
                size_text(words + 16) + "\" height=\"" + size_text(film::pill_height + 6) + "\"></td></tr></table>>]\n";
      }
    }
    return text + "}\n";
  }

  template <class Place> FilmEdge edge_of(Agedge_t* edge, const Place& place) const {
    const std::string id = agget(edge, const_cast<char*>("id"));
    FilmEdge result{std::stoul(id), std::stoul(id.substr(id.find(' ') + 1)), {}, 0.5};
    const bezier& curve = ED_spl(edge)->list[0];
    for (std::size_t i = 0; i < static_cast<std::size_t>(curve.size); ++i)
      result.curve.push_back(place(curve.list[i].x, curve.list[i].y));
    // Graphviz reserves space for words beside the edge. We write them on the edge, at the same distance from the user.
    if (ED_label(edge) == nullptr || !ED_label(edge)->set) return result;
    const Point wanted = place(ED_label(edge)->pos.x, ED_label(edge)->pos.y);
    double least = std::abs(result.at(0.5).x - wanted.x);
    for (int i = 10; i <= 40; ++i)
      if (const double part = i / 50.0, off = std::abs(result.at(part).x - wanted.x); off < least)
        least = off, result.words = part;
    return result;
  }

  const Snapshot& graph_;
  const Widths widest_;
  std::vector<std::vector<Use>> users_;  // by node
};

}  // namespace

std::string with_real_signs(std::string text) {
  for (const auto& [from, to] : {std::pair{"**", "^"}, std::pair{"*", "\xC2\xB7"}, std::pair{"-", "\xE2\x88\x92"}})
    for (std::size_t at = 0; (at = text.find(from, at)) != text.npos; at += std::string_view(to).size())
      text.replace(at, std::string_view(from).size(), to);
  return text;
}

std::string film_number(double number) {
  if (std::isnan(number)) return "NaN";
  const std::string sign = number < 0 ? "\xE2\x88\x92" : "";
  return sign + (std::isinf(number) ? "\xE2\x88\x9E" : short_number(std::abs(number), 5));
}
std::string signed_number(double number) { return (number > 0 ? "+" : "") + film_number(number); }
std::string factor(double number) { return number < 0 ? "(" + film_number(number) + ")" : film_number(number); }

// Each cubic piece counts by the distance between its ends.
Point FilmEdge::at(double part) const {
  const std::size_t pieces = (curve.size() - 1) / 3;
  const auto length = [&](std::size_t i) {
    return std::hypot(curve[3 * i + 3].x - curve[3 * i].x, curve[3 * i + 3].y - curve[3 * i].y);
  };
  double left = 0;
  for (std::size_t i = 0; i < pieces; ++i) left += length(i);
  left *= std::clamp(part, 0.0, 1.0);
  std::size_t piece = 0;
  while (piece + 1 < pieces && left > length(piece)) left -= length(piece++);
  const double s = length(piece) > 0 ? std::min(1.0, left / length(piece)) : 1, r = 1 - s;
  const Point* const p = &curve[3 * piece];
  const auto mix = [&](double a, double b, double c, double d) {
    return r * r * r * a + 3 * r * r * s * b + 3 * r * s * s * c + s * s * s * d;
  };
  return {mix(p[0].x, p[1].x, p[2].x, p[3].x), mix(p[0].y, p[1].y, p[2].y, p[3].y)};
}

const FilmCard& FilmStage::card_of(std::size_t node) const { return *std::ranges::find(cards, node, &FilmCard::node); }
const FilmEdge& FilmStage::edge_of(std::size_t user, std::size_t operand) const {
  return *std::ranges::find_if(edges,
                               [&](const FilmEdge& edge) { return edge.user == user && edge.operand == operand; });
}

FilmStage lay_out(const Walk& walk) { return Drawing(walk).stage(); }

}  // namespace gradwalk::detail
