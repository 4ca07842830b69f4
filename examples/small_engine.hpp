// SPDX-License-Identifier: MIT
// A complete autograd engine without tricks: micrograd in C++, on one page. docs/tape.md explains it
// line by line, and goes from here to the fast engine step by step. The tests run both engines side
// by side and compare every number, so the two share no code. Its semantics are those of
// docs/semantics.md.
#pragma once

#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

namespace small_engine {

struct Node;
using Ref = std::shared_ptr<Node>;
using Inputs = std::vector<Ref>;
using Locals = std::vector<double>;  // local derivatives, one per input

struct Rule {
  std::function<double(const Node&)> value;   // empty for a leaf and for a custom node
  std::function<Locals(const Node&)> locals;  // empty for a leaf
};

struct Node {
  double data;
  std::string op;
  Inputs inputs;
  Rule rule;
  double grad = 0, magnitude = 0;
  std::string label = {};
  bool is_constant = false;

  Node(double data_, std::string op_, Inputs inputs_ = {}, Rule rule_ = {})
      : data(data_), op(std::move(op_)), inputs(std::move(inputs_)), rule(std::move(rule_)) {
    if (rule.value) data = rule.value(*this);
  }
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  ~Node() {  // A recursive destructor would overflow the stack on a long chain.
    std::vector<Ref> dying = std::move(inputs);
    while (!dying.empty()) {
      const Ref node = std::move(dying.back());
      dying.pop_back();
      if (node && node.use_count() == 1) {
        dying.insert(dying.end(), node->inputs.begin(), node->inputs.end());
        node->inputs.clear();
      }
    }
  }

  double x() const { return inputs[0]->data; }
  double y() const { return inputs[1]->data; }
};

inline Ref leaf(double data) { return std::make_shared<Node>(data, ""); }

inline Ref constant(double data) {
  Ref node = leaf(data);
  node->is_constant = true;
  return node;
}

// While a NoGrad lives, operations return leaves.
inline thread_local int no_grad = 0;
struct NoGrad {
  NoGrad() { ++no_grad; }
  ~NoGrad() { --no_grad; }
  NoGrad(const NoGrad&) = delete;
  NoGrad& operator=(const NoGrad&) = delete;
};

inline Ref operation(const char* op, const Inputs& inputs, const Rule& rule) {
  const Ref node = std::make_shared<Node>(0, op, inputs, rule);
  return no_grad > 0 ? leaf(node->data) : node;
}

inline Ref add(const Ref& x, const Ref& y) {
  const auto value = [](const Node& n) { return n.x() + n.y(); };
  const auto locals = [](const Node&) { return Locals{1, 1}; };
  return operation("+", {x, y}, {value, locals});
}

inline Ref sub(const Ref& x, const Ref& y) {
  const auto value = [](const Node& n) { return n.x() - n.y(); };
  const auto locals = [](const Node&) { return Locals{1, -1}; };
  return operation("-", {x, y}, {value, locals});
}

inline Ref mul(const Ref& x, const Ref& y) {
  const auto value = [](const Node& n) { return n.x() * n.y(); };
  const auto locals = [](const Node& n) { return Locals{n.y(), n.x()}; };
  return operation("*", {x, y}, {value, locals});
}

inline Ref div(const Ref& x, const Ref& y) {
  const auto value = [](const Node& n) { return n.x() / n.y(); };
  const auto locals = [](const Node& n) { return Locals{1 / n.y(), -n.x() / (n.y() * n.y())}; };
  return operation("/", {x, y}, {value, locals});
}

inline Ref max(const Ref& x, const Ref& y) {
  const auto value = [](const Node& n) { return n.x() > n.y() ? n.x() : n.y(); };
  const auto locals = [](const Node& n) {
    if (n.x() == n.y()) return Locals{0.5, 0.5};
    return n.x() > n.y() ? Locals{1, 0} : Locals{0, 1};
  };
  return operation("max", {x, y}, {value, locals});
}

inline Ref neg(const Ref& x) {
  const auto value = [](const Node& n) { return -n.x(); };
  const auto locals = [](const Node&) { return Locals{-1}; };
  return operation("neg", {x}, {value, locals});
}

inline Ref tanh(const Ref& x) {
  const auto value = [](const Node& n) { return std::tanh(n.x()); };
  const auto locals = [](const Node& n) { return Locals{1 - n.data * n.data}; };
  return operation("tanh", {x}, {value, locals});
}

inline Ref relu(const Ref& x) {
  const auto value = [](const Node& n) { return n.x() > 0 ? n.x() : 0; };
  const auto locals = [](const Node& n) { return Locals{n.x() > 0 ? 1.0 : 0.0}; };
  return operation("relu", {x}, {value, locals});
}

inline Ref custom(double result, const Inputs& inputs, const Locals& derivatives, const char* op) {
  const auto locals = [derivatives](const Node&) { return derivatives; };
  return no_grad > 0 ? leaf(result) : std::make_shared<Node>(result, op, inputs, Rule{{}, locals});
}

inline std::vector<Ref> topological_order(const Ref& root) {
  std::vector<Ref> order;
  std::unordered_set<const Node*> visited{root.get()};
  std::vector<std::pair<Ref, std::size_t>> path{{root, 0}};
  while (!path.empty()) {
    auto& [node, next] = path.back();
    if (next == node->inputs.size()) {
      order.push_back(node);
      path.pop_back();
    } else {
      const Ref input = node->inputs[next++];
      if (visited.insert(input.get()).second) path.emplace_back(input, 0);
    }
  }
  return order;
}

inline void propagate(const Node& node) {
  if (node.inputs.empty()) return;
  const Locals locals = node.rule.locals(node);
  for (std::size_t i = 0; i < locals.size(); ++i) {
    node.inputs[i]->grad += node.grad * locals[i];
    node.inputs[i]->magnitude += node.magnitude * std::abs(locals[i]);
  }
}

inline void backward(const Ref& root, double seed = 1) {
  const std::vector<Ref> order = topological_order(root);
  for (const Ref& node : order)
    if (!node->inputs.empty() || node->is_constant) node->grad = node->magnitude = 0;
  root->grad = seed;
  root->magnitude = std::abs(seed);
  for (auto node = order.rbegin(); node != order.rend(); ++node) propagate(**node);
}

inline void recompute(const Ref& root) {
  for (const Ref& node : topological_order(root))
    if (node->rule.value) node->data = node->rule.value(*node);
}

}  // namespace small_engine
