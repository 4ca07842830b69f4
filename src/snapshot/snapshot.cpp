// SPDX-License-Identifier: MIT
// Takes a snapshot: the engine's nodes, their operands and local derivatives, as plain data.
#include "gradwalk/snapshot.hpp"

#include <algorithm>
#include <unordered_map>

#include "engine/store.hpp"
#include "names.hpp"

namespace gradwalk {

using namespace detail;

Snapshot snapshot(const Value& root) {
  const std::vector<Value> order = topological_order(root);
  if (order.size() > largest_snapshot)
    throw Error("snapshot", "a graph of at most " + std::to_string(largest_snapshot) + " nodes",
                std::to_string(order.size()), "look at a part of it");
  Snapshot result;
  result.taken_of = std::make_shared<const Value>(root);
  result.nodes.reserve(order.size());
  std::unordered_map<Ref, std::size_t> index;
  for (const Value& value : order) {
    const Ref ref = look_into(value, "snapshot");
    index.emplace(ref, index.size());
    Snapshot::Node node{"",           value.label(), value.id(), value.op(), std::string(value.op_name()),
                        value.data(), value.grad(),  {},         {}};
    each_local(ref, [&](Ref operand, double local) {
      node.operands.push_back(index.at(operand));
      node.locals.push_back(local);
    });
    result.nodes.push_back(std::move(node));
  }
  name_nodes(result.nodes);
  return result;
}

std::optional<std::size_t> Snapshot::find(std::string_view name) const {
  const auto found = std::find_if(nodes.begin(), nodes.end(), [&](const Node& node) { return node.name == name; });
  if (found == nodes.end()) return std::nullopt;
  return static_cast<std::size_t>(found - nodes.begin());
}

std::optional<std::size_t> Snapshot::find(const Value& value) const {
  const std::uint64_t id = value.id();
  const auto found = std::find_if(nodes.begin(), nodes.end(), [&](const Node& node) { return node.id == id; });
  if (found == nodes.end()) return std::nullopt;
  return static_cast<std::size_t>(found - nodes.begin());
}

std::string_view local_formula(Op op, std::size_t operand) {
  if (op == Op::custom) return "given";
  return operand == 0 ? info(op).dx : info(op).dy;
}

std::string local_formula(const Snapshot& graph, std::size_t node, std::size_t operand) {
  const Snapshot::Node& one = graph.nodes[node];
  const std::string_view formula = local_formula(one.op, operand);
  if (one.op == Op::custom) return std::string(formula);
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.'; };
  std::string result;
  for (std::size_t begin = 0, end = 0; begin < formula.size(); begin = end) {
    while (end < formula.size() && is_letter(formula[end]) == is_letter(formula[begin])) ++end;
    const std::string_view word = formula.substr(begin, end - begin);
    if (word == "x" || word == "y") {
      result += bracketed_name(graph, one.operands[word == "x" ? 0 : 1]);
    } else if (word == "r") {
      result += bracketed_name(graph, node);
    } else {
      result += word;
    }
  }
  return result;
}

std::string bracketed_name(const Snapshot& graph, std::size_t node) {
  const Snapshot::Node& one = graph.nodes[node];
  const bool is_operation = one.op == Op::neg || one.op == Op::pow || one.op == Op::add || one.op == Op::sub ||
                            one.op == Op::mul || one.op == Op::div;
  const bool is_written_out = one.label.empty() && one.name.find_first_of("+-*/") != std::string::npos;
  const bool is_negative = one.is_constant() && one.name.front() == '-';
  return (is_operation && is_written_out) || is_negative ? "(" + one.name + ")" : one.name;
}

}  // namespace gradwalk
