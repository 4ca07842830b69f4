// SPDX-License-Identifier: MIT
// The plain evaluator, which tests compare the engine with: a vector of nodes that only grows, with one node per op and
// no fusion. Local derivatives come from the op table; the order of nodes and the sums are its own code.
//
// Each gradient has a weight: the sum of the magnitudes of all paths to it. Gradients that were added in another order
// agree within a few roundings of the weight. The weight is finite only if nothing on these paths overflowed.
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
  double derivative;  // for a custom node
};

struct Node {
  Op op;
  double data, grad = 0, weight = 0;
  std::size_t first_edge = 0, edges = 0;
};

class Graph {
 public:
  Index leaf(double data, Op op = Op::leaf);  // op may be Op::constant
  Index unary(Op op, Index x);
  Index binary(Op op, Index x, Index y);
  Index select(Index condition, Index x, Index y);
  Index custom(double data, std::span<const Edge> inputs);

  Node& at(Index node) { return nodes_[node]; }
  const Node& at(Index node) const { return nodes_[node]; }
  std::span<const Edge> inputs(Index node) const;
  std::size_t size() const { return nodes_.size(); }
  std::size_t visited() const { return visited_; }  // the number of visits of all passes, a measure of time

  void backward(Index root, double seed);
  void propagate(Index node);
  std::vector<Index> order(Index root);  // micrograd's build_topo
  bool recompute(Index root);            // does nothing and returns false if there is a custom node

  // Returns true if a number got the sign of a NaN, which depends on the processor.
  bool has_sign_of_nan() const { return has_sign_of_nan_; }

  std::map<Index, std::string> labels;

 private:
  double evaluate(const Node& node) const;
  double local(const Node& node, std::size_t operand) const;
  double operand(const Node& node, std::size_t i) const { return nodes_[edges_[node.first_edge + i].input].data; }

  std::vector<Node> nodes_;
  std::vector<Edge> edges_;
  std::vector<std::uint32_t> seen_;  // by node: the number of the last pass that visited it
  std::uint32_t pass_ = 0;
  std::size_t visited_ = 0;
  mutable bool has_sign_of_nan_ = false;
};

}  // namespace plain
