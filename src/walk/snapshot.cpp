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

}  // namespace gradwalk
