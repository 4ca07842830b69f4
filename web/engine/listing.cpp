// SPDX-License-Identifier: MIT
// Reads the lines of a graph. They come from a file someone was sent, so nothing in them is believed.
#include "listing.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "exchange.hpp"

namespace gradwalk::web {
namespace {

constexpr std::string_view head = "# gradwalk-graph", changed = " changed";
enum Field { op, symbol_text, data, operands, locals, label, name_text, fields };

// Takes the text before the next `end`, and drops that `end`.
std::string_view taken(std::string_view& text, char end) {
  const std::size_t at = text.find(end);
  const std::string_view part = text.substr(0, at);
  text.remove_prefix(at == text.npos ? text.size() : at + 1);
  return part;
}

std::optional<double> number(std::string_view text) {
  const std::string whole(text);
  char* end = nullptr;
  const double value = std::strtod(whole.c_str(), &end);
  if (whole.empty() || end != whole.c_str() + whole.size()) return std::nullopt;
  return value;
}

std::optional<std::vector<double>> numbers(std::string_view text) {
  std::vector<double> result;
  while (!text.empty()) {
    const std::optional<double> one = number(taken(text, ' '));
    if (!one) return std::nullopt;
    result.push_back(*one);
  }
  return result;
}

std::optional<Op> op_named(std::string_view name) {
  const auto found = std::ranges::find(op_table, name, &OpInfo::name);
  if (found == op_table.end()) return std::nullopt;
  return static_cast<Op>(found - op_table.begin());
}

// The node of a line; nothing where it is none that could stand after `before` others.
std::optional<Snapshot::Node> node_of(std::string_view line, std::size_t before) {
  std::array<std::string_view, fields> field;
  for (std::string_view& one : field) one = taken(line, '\t');
  const auto kind = op_named(field[op]);
  const auto value = number(field[data]);
  const auto from = numbers(field[operands]), by = numbers(field[locals]);
  if (!line.empty() || !kind || !value || !from || !by || from->size() != by->size()) return std::nullopt;
  if (*kind != Op::custom && from->size() != static_cast<std::size_t>(info(*kind).operands)) return std::nullopt;
  Snapshot::Node node{std::string(field[name_text]),
                      std::string(field[label]),
                      before,
                      0,
                      *kind,
                      std::string(field[symbol_text]),
                      *value,
                      0,
                      {},
                      *by};
  for (const double one : *from) {
    if (!(one >= 0 && one < static_cast<double>(before)) || one != static_cast<double>(static_cast<std::size_t>(one)))
      return std::nullopt;
    node.operands.push_back(static_cast<std::size_t>(one));
  }
  return node;
}

}  // namespace

bool is_listing(std::string_view text) { return text.starts_with(head); }

std::variant<Snapshot, Error> read_listing(std::string_view text) {
  constexpr std::string_view call = "graph", advice = "write it with to_json(snapshot(root))";
  if (text.size() > longest_listing)
    return Error(call, "at most " + std::to_string(longest_listing) + " bytes", std::to_string(text.size()),
                 "show a part of it");
  const bool is_changed = taken(text, '\n').ends_with(changed);
  Snapshot graph;
  while (!text.empty()) {
    std::optional<Snapshot::Node> node = node_of(taken(text, '\n'), graph.nodes.size());
    if (!node)
      return Error(call, "a node in every line", "another text for node " + std::to_string(graph.nodes.size()), advice);
    graph.nodes.push_back(std::move(*node));
    if (graph.nodes.size() > largest_graph) return too_large(graph.nodes.size());
  }
  if (graph.nodes.empty()) return Error(call, "at least one node", "none", advice);
  if (is_changed) recompute(graph);
  return graph;
}

}  // namespace gradwalk::web
