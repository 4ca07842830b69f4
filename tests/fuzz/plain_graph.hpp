// SPDX-License-Identifier: MIT
// The plain evaluator the engine is compared with: a vector of nodes that only grows, one node an op, never fused.
// Local rules come from the op table; the bookkeeping, the order and the adding up are its own.
//
// Each gradient has a weight: the sum of the magnitudes of everything added up on any path to it. Two orders of adding
// agree within a few roundings of it, and it is finite only where nothing on the way overflowed.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "gradwalk/ops.hpp"

namespace plain {

using gradwalk::Op;
using Index = std::uint32_t;

struct Edge {
  Index input;
  double derivative;  // of a custom node
};

struct Node {
  Op op;
  double data, grad = 0, weight = 0;
  std::size_t first_edge = 0, edges = 0;
};

class Graph {
 public:
  Index leaf(double data, Op op = Op::leaf);  // or a constant
  Index unary(Op op, Index x);
  Index binary(Op op, Index x, Index y);
  Index select(Index condition, Index x, Index y);
  Index custom(double data, std::span<const Edge> inputs);

  Node& at(Index node) { return nodes_[node]; }
  const Node& at(Index node) const { return nodes_[node]; }
  std::span<const Edge> inputs(Index node) const;
  std::size_t size() const { return nodes_.size(); }
  std::size_t visited() const { return visited_; }  // by all passes together: what a session has cost

  void backward(Index root, double seed);
  void propagate(Index node);
  std::vector<Index> order(Index root);  // micrograd's build_topo
  bool recompute(Index root);            // false, and nothing done, if there is a custom node

  // Whether a number was given the sign of a NaN, which is whatever the processor made it.
  bool has_sign_of_nan() const { return has_sign_of_nan_; }

  std::map<Index, std::string> labels;

 private:
  double evaluate(const Node& node) const;
  double local(const Node& node, std::size_t operand) const;
  double operand(const Node& node, std::size_t i) const { return nodes_[edges_[node.first_edge + i].input].data; }

  std::vector<Node> nodes_;
  std::vector<Edge> edges_;
  std::vector<std::uint32_t> seen_;  // by node: the number of the last pass that met it
  std::uint32_t pass_ = 0;
  std::size_t visited_ = 0;
  mutable bool has_sign_of_nan_ = false;
};

}  // namespace plain
