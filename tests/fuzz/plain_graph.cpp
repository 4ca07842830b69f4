// SPDX-License-Identifier: MIT
// The plain evaluator. It is as short as possible, so that it is obviously correct.
#include "plain_graph.hpp"

#include <cmath>
#include <queue>
#include <utility>

namespace plain {

using gradwalk::rules::Rule;

Index Graph::leaf(double data, Op op) {
  nodes_.push_back({op, data});
  seen_.push_back(0);
  return static_cast<Index>(nodes_.size() - 1);
}

Index Graph::select(Index condition, Index x, Index y) {
  const Edge edges[] = {{condition, 0}, {x, 0}, {y, 0}};
  const Index node = custom(0, edges);
  nodes_[node].op = Op::select;
  nodes_[node].data = evaluate(nodes_[node]);
  return node;
}

Index Graph::custom(double data, std::span<const Edge> inputs) {
  const Index index = leaf(data, Op::custom);
  nodes_[index].first_edge = edges_.size();
  nodes_[index].edges = inputs.size();
  edges_.insert(edges_.end(), inputs.begin(), inputs.end());
  return index;
}

Index Graph::unary(Op op, Index x) {
  const Index index = custom(0, std::vector<Edge>{{x, 0}});
  nodes_[index].op = op;
  nodes_[index].data = evaluate(nodes_[index]);
  return index;
}

Index Graph::binary(Op op, Index x, Index y) {
  const Index index = custom(0, std::vector<Edge>{{x, 0}, {y, 0}});
  nodes_[index].op = op;
  nodes_[index].data = evaluate(nodes_[index]);
  return index;
}

std::span<const Edge> Graph::inputs(Index node) const {
  return std::span(edges_).subspan(nodes_[node].first_edge, nodes_[node].edges);
}

double Graph::evaluate(const Node& node) const {
  has_sign_of_nan_ |= node.op == Op::copysign && std::isnan(operand(node, 1));
  switch (node.op) {
#define GRADWALK_UNARY(name, ...) \
  case Op::name: return Rule<Op::name>::value(operand(node, 0));
#define GRADWALK_BINARY(name, ...) \
  case Op::name: return Rule<Op::name>::value(operand(node, 0), operand(node, 1));
#include "gradwalk/ops.def"
#undef GRADWALK_UNARY
#undef GRADWALK_BINARY
    case Op::select: return operand(node, 0) != 0 ? operand(node, 1) : operand(node, 2);
    default: return node.data;
  }
}

double Graph::local(const Node& node, std::size_t i) const {
  switch (node.op) {
#define GRADWALK_UNARY(name, ...) \
  case Op::name: return Rule<Op::name>::dx(operand(node, 0), node.data);
#define GRADWALK_BINARY(name, ...)                                                    \
  case Op::name:                                                                      \
    return i == 0 ? Rule<Op::name>::dx(operand(node, 0), operand(node, 1), node.data) \
                  : Rule<Op::name>::dy(operand(node, 0), operand(node, 1), node.data);
#include "gradwalk/ops.def"
#undef GRADWALK_UNARY
#undef GRADWALK_BINARY
    case Op::select: return i == (operand(node, 0) != 0 ? 1 : 2) ? 1 : 0;
    default: return edges_[node.first_edge + i].derivative;
  }
}

void Graph::propagate(Index index) {
  const Node node = nodes_[index];
  for (std::size_t i = 0; i < node.edges; ++i) {
    Node& input = nodes_[edges_[node.first_edge + i].input];
    const double derivative = local(node, i);
    if (node.grad != 0) input.grad += node.grad * derivative;
    input.weight += node.weight * std::abs(derivative);
  }
}

// Visits the node with the largest index first: the users of a node are newer, so they have larger indices.
void Graph::backward(Index root, double seed) {
  std::priority_queue<Index> next;
  ++pass_;
  const auto reach = [&](Index index) {
    if (std::exchange(seen_[index], pass_) == pass_) return;
    next.push(index);
    if (nodes_[index].edges > 0) nodes_[index].grad = nodes_[index].weight = 0;
  };
  reach(root);
  nodes_[root].grad = seed;
  nodes_[root].weight = std::abs(seed);
  for (; !next.empty(); ++visited_) {
    const Index index = next.top();
    next.pop();
    for (const Edge& edge : inputs(index)) reach(edge.input);
    propagate(index);
  }
}

std::vector<Index> Graph::order(Index root) {
  struct Visit {
    Index node;
    std::size_t next = 0;  // the input to visit next
  };
  std::vector<Visit> stack{{root}};
  std::vector<Index> result;
  seen_[root] = ++pass_;
  while (!stack.empty()) {
    Visit& visit = stack.back();
    if (visit.next == nodes_[visit.node].edges) {
      result.push_back(visit.node);
      stack.pop_back();
    } else if (const Index input = inputs(visit.node)[visit.next++].input; seen_[input] != pass_) {
      seen_[input] = pass_;
      stack.push_back({input});
    }
  }
  visited_ += result.size();
  return result;
}

bool Graph::recompute(Index root) {
  const std::vector<Index> all = order(root);
  for (const Index index : all)
    if (nodes_[index].op == Op::custom) return false;
  for (const Index index : all) nodes_[index].data = evaluate(nodes_[index]);
  return true;
}

}  // namespace plain
