// SPDX-License-Identifier: MIT
// The plain evaluator, which tests compare the engine with: a vector of nodes that only grows, with one node per op and
// no fusion. Local derivatives come from the op table; the order of nodes and the sums are its own code.
//
// Each gradient has a weight: the sum of the magnitudes of all paths to it. Gradients that were added in another order
// agree within a few roundings of the weight. The weight is finite only if nothing on these paths overflowed.
#pragma once

#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gradwalk/ops.hpp"

namespace plain {

using gradwalk::Op;
using Index = std::uint32_t;

struct Edge {
  Index input;
  double derivative;  // for a custom node
};

struct Node {
  Op op;
  double data, grad = 0, weight = 0;
  std::size_t first_edge = 0, edges = 0;
};

// The nodes that picks choose from, in rows of the same length.
struct Table {
  std::vector<Index> nodes;
  std::size_t columns = 1;
};

// Whether recompute() evaluated the whole graph; or nothing, because of a custom node or a pick from a table that is
// gone; or a part, because an index is wrong now.
enum class Recomputed : std::uint8_t { all, nothing, part };

// Whether a number is an index of a table with this many rows.
inline bool is_index(double number, std::size_t rows) {
  return number >= 0 && number < static_cast<double>(rows) && number == std::floor(number);
}

class Graph {
 public:
  Index leaf(double data, Op op = Op::leaf);  // op may be Op::constant
  Index unary(Op op, Index x);
  Index binary(Op op, Index x, Index y);
  Index select(Index condition, Index x, Index y);
  Index custom(double data, std::span<const Edge> inputs);
  // A pick from a column of a table. It does not keep the table.
  Index pick(const std::shared_ptr<const Table>& table, std::size_t column, Index index);
  // A pick from a list, which it keeps.
  Index pick(std::span<const Index> list, Index index);

  Node& at(Index node) { return nodes_[node]; }
  const Node& at(Index node) const { return nodes_[node]; }
  std::span<const Edge> inputs(Index node) const;
  std::vector<Index> choices(
      Index pick) const;  // what it chooses from; nothing for another node or if its table is gone
  std::size_t size() const { return nodes_.size(); }
  std::size_t visited() const { return visited_; }  // the number of visits of all passes, a measure of time

  void backward(Index root, double seed);
  void propagate(Index node);
  std::vector<Index> order(Index root);               // micrograd's build_topo
  std::vector<Index> order_with_choices(Index root);  // the same with all that picks could have chosen
  bool can_recompute(std::span<const Index> order_with_choices) const;  // except for wrong indices
  Recomputed recompute(Index root);

  // Returns true if a number got the sign of a NaN, which depends on the processor.
  bool has_sign_of_nan() const { return has_sign_of_nan_; }

  std::map<Index, std::string> labels;

 private:
  struct Choice {
    std::weak_ptr<const Table> table;
    std::shared_ptr<const Table> kept;  // of a pick from a list
    std::size_t column;
  };
  template <class Operands> std::vector<Index> search(Index root, Operands operands);
  double evaluate(const Node& node) const;
  double local(const Node& node, std::size_t operand) const;
  double operand(const Node& node, std::size_t i) const { return nodes_[edges_[node.first_edge + i].input].data; }

  std::vector<Node> nodes_;
  std::vector<Edge> edges_;
  std::map<Index, Choice> picks_;
  std::vector<std::uint32_t> seen_;  // by node: the number of the last pass that visited it
  std::uint32_t pass_ = 0;
  std::size_t visited_ = 0;
  mutable bool has_sign_of_nan_ = false;
};

}  // namespace plain
