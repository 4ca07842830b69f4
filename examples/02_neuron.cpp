// SPDX-License-Identifier: MIT
// Goal: do by hand what backward() does. The neuron tanh(x1*w1 + x2*w2 + b) is a graph of ten nodes.
// topological_order() lists the nodes, inputs before their users. In the reverse order, each node passes its gradient
// times the local derivative to its inputs. propagate() does this for one node, as micrograd's _backward() does.
// The program prints each node when it is visited, with its gradient, and then the gradients that backward() computes.
#include <algorithm>
#include <cstdio>
#include <gradwalk/gradwalk.hpp>
#include <string>

using namespace gradwalk;

int main() {
  Value x1 = Value(2.0).label("x1"), w1 = Value(-3.0).label("w1");
  Value x2 = Value(0.0).label("x2"), w2 = Value(1.0).label("w2");
  Value b = Value(6.8813735870195432).label("b");

  Value x1w1 = (x1 * w1).label("x1*w1");
  Value x2w2 = (x2 * w2).label("x2*w2");
  Value sum = (x1w1 + x2w2).label("x1*w1 + x2*w2");
  Value n = (sum + b).label("n");
  Value o = tanh(n).label("o");

  std::vector<Value> nodes = topological_order(o);
  std::reverse(nodes.begin(), nodes.end());

  std::printf("%-14s  %-5s  %8s  %8s\n", "node", "op", "data", "gradient");
  o.grad() = 1;
  for (const Value& node : nodes) {
    const std::string name = node.label(), op(node.op_name());
    std::printf("%-14s  %-5s  %8.4f  %8.4f\n", name.c_str(), op.c_str(), node.data(), node.grad());
    node.propagate();
  }

  for (Value& node : nodes) node.grad() = 0;
  o.backward();
  std::printf("\nbackward() gives x1 %.4f, w1 %.4f, x2 %.4f, w2 %.4f\n", x1.grad(), w1.grad(), x2.grad(), w2.grad());
}
