// SPDX-License-Identifier: MIT
// An independent engine to compare with: micrograd written naively, one shared node an operation, no tape, no fusing.
// It shares no code with the library. Backward follows docs/semantics.md: leaves accumulate, any other node's gradient
// is that of the last pass that reached it. Beside each gradient stands the sum of its deposits' magnitudes, the
// measure for what rounding may change when deposits are added in another order.
#pragma once

#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

namespace gradwalk::tests::reference {

struct Node;
using Ref = std::shared_ptr<Node>;

struct Node {
  double data;
  std::string op;
  std::vector<Ref> inputs;
  std::function<double(const Node&)> forward;                   // none for a leaf and a node of the user's own
  std::function<std::vector<double>(const Node&)> derivatives;  // one an input
  double grad = 0, magnitude = 0;
  std::string label = {};
  bool is_constant = false;  // a number written in an expression; its gradient is of the last pass too

  double x() const { return inputs[0]->data; }
  double y() const { return inputs[1]->data; }

  Node(double data_, std::string op_, std::vector<Ref> inputs_ = {}, std::function<double(const Node&)> forward_ = {},
       std::function<std::vector<double>(const Node&)> derivatives_ = {})
      : data(data_),
        op(std::move(op_)),
        inputs(std::move(inputs_)),
        forward(std::move(forward_)),
        derivatives(std::move(derivatives_)) {
    if (forward) data = forward(*this);
  }
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  ~Node() {  // without recursion: chains are long
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
};

inline thread_local int no_grad = 0;
struct NoGrad {
  NoGrad() { ++no_grad; }
  ~NoGrad() { --no_grad; }
  NoGrad(const NoGrad&) = delete;
  NoGrad& operator=(const NoGrad&) = delete;
};

inline Ref leaf(double data) { return std::make_shared<Node>(data, ""); }
inline Ref recorded(const Ref& node) { return no_grad > 0 ? leaf(node->data) : node; }
inline Ref constant(double data) {
  Ref node = leaf(data);
  node->is_constant = true;
  return node;
}
inline Ref binary(const char* op, const Ref& x, const Ref& y, std::function<double(const Node&)> forward,
                  std::function<std::vector<double>(const Node&)> derivatives) {
  return recorded(std::make_shared<Node>(0, op, std::vector<Ref>{x, y}, std::move(forward), std::move(derivatives)));
}
inline Ref unary(const char* op, const Ref& x, std::function<double(const Node&)> forward,
                 std::function<std::vector<double>(const Node&)> derivatives) {
  return recorded(std::make_shared<Node>(0, op, std::vector<Ref>{x}, std::move(forward), std::move(derivatives)));
}

using Locals = std::vector<double>;

inline Ref add(const Ref& x, const Ref& y) {
  return binary("+", x, y, [](const Node& n) { return n.x() + n.y(); }, [](const Node&) { return Locals{1, 1}; });
}
inline Ref sub(const Ref& x, const Ref& y) {
  return binary("-", x, y, [](const Node& n) { return n.x() - n.y(); }, [](const Node&) { return Locals{1, -1}; });
}
inline Ref mul(const Ref& x, const Ref& y) {
  return binary(
      "*", x, y, [](const Node& n) { return n.x() * n.y(); }, [](const Node& n) { return Locals{n.y(), n.x()}; });
}
inline Ref div(const Ref& x, const Ref& y) {
  return binary(
      "/", x, y, [](const Node& n) { return n.x() / n.y(); },
      [](const Node& n) { return Locals{1 / n.y(), -n.x() / (n.y() * n.y())}; });
}
inline Ref max(const Ref& x, const Ref& y) {
  return binary(
      "max", x, y, [](const Node& n) { return n.x() > n.y() ? n.x() : n.y(); },
      [](const Node& n) {
        if (n.x() == n.y()) return Locals{0.5, 0.5};
        return n.x() > n.y() ? Locals{1, 0} : Locals{0, 1};
      });
}
inline Ref neg(const Ref& x) {
  return unary("neg", x, [](const Node& n) { return -n.x(); }, [](const Node&) { return Locals{-1}; });
}
inline Ref tanh(const Ref& x) {
  return unary(
      "tanh", x, [](const Node& n) { return std::tanh(n.x()); },
      [](const Node& n) { return Locals{1 - n.data * n.data}; });
}
inline Ref relu(const Ref& x) {
  return unary(
      "relu", x, [](const Node& n) { return n.x() > 0 ? n.x() : 0; },
      [](const Node& n) { return Locals{n.x() > 0 ? 1.0 : 0.0}; });
}
inline Ref custom(double result, std::vector<Ref> inputs, const Locals& locals, const char* name) {
  return recorded(
      std::make_shared<Node>(result, name, std::move(inputs), nullptr, [locals](const Node&) { return locals; }));
}

// micrograd's build_topo(), with its recursion turned into a stack.
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
  const Locals locals = node.derivatives(node);
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
  for (auto at = order.rbegin(); at != order.rend(); ++at) propagate(**at);
}

inline void recompute(const Ref& root) {
  for (const Ref& node : topological_order(root))
    if (node->forward) node->data = node->forward(*node);
}

}  // namespace gradwalk::tests::reference
