// SPDX-License-Identifier: MIT
// A graph as plain data: what walk, explain and draw read, and all that their users need to show it.
//
// Taking one changes no number of the graph. Nodes are indices into `nodes`, so a snapshot can be read on any thread.
// It keeps the graph it was taken of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gradwalk/value.hpp"

namespace gradwalk {

struct Snapshot {
  struct Node {
    std::string name;   // its label, or the expression it stands for, or t1, t2, ...; only constants share one
    std::string label;  // as its user gave it
    std::uint64_t id;   // Value::id() of the node it was taken of, or is a part of:
    std::size_t part;   // 0, or counted from 1, the how-manieth
    Op op;
    std::string op_name;  // what a drawing shows: the op's symbol, or a custom node's name
    double data, grad;
    std::vector<std::size_t> operands;  // in operand order; a * a has the same one twice
    std::vector<double> locals;         // the local derivative by each operand

    bool is_constant() const { return op == Op::constant; }
    bool is_leaf() const { return operands.empty() && !is_constant(); }
  };
  std::shared_ptr<const Value> taken_of;  // the root: while it lives, no id comes to mean another node
  std::vector<Node> nodes;  // each after its operands, as topological_order() gives them; the root is last

  std::size_t root() const { return nodes.size() - 1; }
  GRADWALK_EXPORT std::optional<std::size_t> find(std::string_view name) const;
  GRADWALK_EXPORT std::optional<std::size_t> find(const Value& value) const;
};

inline constexpr std::size_t largest_snapshot = 1'000'000;  // nodes

GRADWALK_EXPORT Snapshot snapshot(const Value& root);

// Data and local derivatives anew, from the leaves' data; a custom node keeps its own.
GRADWALK_EXPORT void recompute(Snapshot& graph);

GRADWALK_EXPORT std::string to_json(const Snapshot& graph);  // docs/walk-format.md describes it

// The local derivative of an op by one of its operands, as ops.def writes it: 1 - r * r; "given" for a custom node.
GRADWALK_EXPORT std::string_view local_formula(Op op, std::size_t operand);
// The same for a node, with the names of its operands and its own for x, y and r: 1 - o * o.
GRADWALK_EXPORT std::string local_formula(const Snapshot& graph, std::size_t node, std::size_t operand);
// A node's operation with its operands as given: a + b, -a, tanh(n).
GRADWALK_EXPORT std::string written_out(const Snapshot::Node& node, const std::vector<std::string>& operands);
// A node's name as it may stand in front of .grad or beside an operator: o, tanh(n), (a + b).
GRADWALK_EXPORT std::string bracketed_name(const Snapshot& graph, std::size_t node);

}  // namespace gradwalk
