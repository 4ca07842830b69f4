// SPDX-License-Identifier: MIT
// A Snapshot is a graph as plain data. walk, explain and draw read Snapshots, never the graph itself.
//
// Taking a snapshot changes no number of the graph. Nodes are indices into `nodes`, so any thread can read a snapshot.
// A snapshot keeps its graph alive.
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

// A copy of a graph: its nodes, operands, data, gradients and local derivatives.
struct Snapshot {
  // One node of the graph.
  struct Node {
    // The label; or the expression that the node computes; or t1, t2, ... Only constants can share a name.
    std::string name;
    std::string label;                  // the label that the user gave, or ""
    std::uint64_t id;                   // Value::id() of the node, or of the fused record that contains it
    std::size_t part;                   // 0; or, for a node inside a fused record, its number there, counted from 1
    Op op;                              // the operation
    std::string op_name;                // the text that drawings show: the op's symbol, or the name of a custom node
    double data;                        // the number of the node
    double grad;                        // its gradient
    std::vector<std::size_t> operands;  // the operands in order; a * a lists the same node twice
    std::vector<double> locals;         // the local derivative with respect to each operand

    // Returns true for a number that takes no gradient.
    bool is_constant() const { return op == Op::constant; }
    // Returns true for a node without operands that takes a gradient.
    bool is_leaf() const { return operands.empty() && !is_constant(); }
  };
  // The root. While it lives, the engine gives its nodes' ids to no other node.
  std::shared_ptr<const Value> taken_of;
  // The nodes in the order of topological_order(): each one after its operands, the root last.
  std::vector<Node> nodes;

  // Returns the index of the root.
  std::size_t root() const { return nodes.size() - 1; }
  // Returns the index of the first node with this name, if there is one. Searches all nodes.
  GRADWALK_EXPORT std::optional<std::size_t> find(std::string_view name) const;
  // Returns the index of the node that the Value refers to, if the snapshot has it. Searches all nodes.
  GRADWALK_EXPORT std::optional<std::size_t> find(const Value& value) const;
};

inline constexpr std::size_t largest_snapshot = 1'000'000;  // the largest number of nodes that snapshot() takes

// Takes a snapshot of the graph below the root. Throws an Error if it has more than largest_snapshot nodes.
GRADWALK_EXPORT Snapshot snapshot(const Value& root);

// Computes the data and local derivatives of a snapshot anew from the data of its leaves. Custom nodes keep theirs.
GRADWALK_EXPORT void recompute(Snapshot& graph);

// Returns the snapshot as JSON. docs/walk-format.md describes the format.
GRADWALK_EXPORT std::string to_json(const Snapshot& graph);

// Returns the local derivative of an op with respect to an operand, as ops.def writes it: "1 - r * r". Returns "given"
// for a custom node.
GRADWALK_EXPORT std::string_view local_formula(Op op, std::size_t operand);
// Returns the same formula for a node, with names of nodes in place of x, y and r: "1 - o * o".
GRADWALK_EXPORT std::string local_formula(const Snapshot& graph, std::size_t node, std::size_t operand);
// Returns the operation of a node, written with these operands: "a + b", "-a", "tanh(n)".
GRADWALK_EXPORT std::string written_out(const Snapshot::Node& node, const std::vector<std::string>& operands);
// Returns the name of a node, in parentheses where it needs them in front of .grad or beside an operator: "o",
// "tanh(n)", "(a + b)".
GRADWALK_EXPORT std::string bracketed_name(const Snapshot& graph, std::size_t node);

}  // namespace gradwalk
