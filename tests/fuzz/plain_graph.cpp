// SPDX-License-Identifier: MIT
// The plain evaluator. It is as short as possible, so that it is obviously correct.
#include "plain_graph.hpp"

#include <algorithm>
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

Index Graph::pick(const std::shared_ptr<const Table>& table, std::size_t column, Index index) {
  const auto row = static_cast<std::size_t>(nodes_[index].data);
  const Index chosen = table->nodes[row * table->columns + column];
  const Edge edges[] = {{chosen, 1}, {index, 0}};
  const Index node = custom(nodes_[chosen].data, edges);
  nodes_[node].op = Op::pick;
  picks_[node] = {table, nullptr, column};
  return node;
}

Index Graph::pick(std::span<const Index> list, Index index) {
  const auto table = std::make_shared<const Table>(Table{{list.begin(), list.end()}});
  const Index node = pick(table, 0, index);
  picks_[node].kept = table;
  return node;
}

std::vector<Index> Graph::choices(Index pick) const {
  const auto found = picks_.find(pick);
  const auto table = found == picks_.end() ? nullptr : found->second.table.lock();
  std::vector<Index> result;
  if (table != nullptr)
    for (std::size_t i = found->second.column; i < table->nodes.size(); i += table->columns)
      result.push_back(table->nodes[i]);
  return result;
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

template <class Operands> std::vector<Index> Graph::search(Index root, Operands operands) {
  struct Visit {
    Index node;
    std::vector<Index> operands;
    std::size_t next = 0;  // the operand to visit next
  };
  std::vector<Visit> stack;
  stack.push_back({root, operands(root)});
  std::vector<Index> result;
  seen_[root] = ++pass_;
  while (!stack.empty()) {
    Visit& visit = stack.back();
    if (visit.next == visit.operands.size()) {
      result.push_back(visit.node);
      stack.pop_back();
    } else if (const Index input = visit.operands[visit.next++]; seen_[input] != pass_) {
      seen_[input] = pass_;
      stack.push_back({input, operands(input)});
    }
  }
  visited_ += result.size();
  return result;
}

std::vector<Index> Graph::order(Index root) {
  return search(root, [&](Index node) {
    std::vector<Index> operands;
    for (const Edge& edge : inputs(node)) operands.push_back(edge.input);
    return operands;
  });
}

std::vector<Index> Graph::order_with_choices(Index root) {
  return search(root, [&](Index node) {
    std::vector<Index> operands = choices(node);
    for (const Edge& edge : inputs(node)) operands.push_back(edge.input);
    return operands;
  });
}

bool Graph::can_recompute(std::span<const Index> order_with_choices) const {
  return std::none_of(order_with_choices.begin(), order_with_choices.end(), [&](Index index) {
    return nodes_[index].op == Op::custom || (nodes_[index].op == Op::pick && choices(index).empty());
  });
}

Recomputed Graph::recompute(Index root) {
  const std::vector<Index> all = order_with_choices(root);
  if (!can_recompute(all)) return Recomputed::nothing;
  for (const Index index : all) {
    Node& node = nodes_[index];
    if (node.op == Op::pick) {
      const std::vector<Index> list = choices(index);
      if (!is_index(operand(node, 1), list.size())) return Recomputed::part;
      edges_[node.first_edge].input = list[static_cast<std::size_t>(operand(node, 1))];
      node.data = operand(node, 0);
    } else {
      node.data = evaluate(node);
    }
  }
  return Recomputed::all;
}

}  // namespace plain
