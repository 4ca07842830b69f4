// SPDX-License-Identifier: MIT
// Goal: see a whole autograd engine before you use the fast one. small_engine.hpp is that engine, on one page.
// The program builds the first graph of Karpathy's lecture, L = (a * b + c) * f, runs the backward pass and prints
// every node. docs/tape.md explains the engine line by line.
#include <cstdio>

#include "small_engine.hpp"

using namespace small_engine;

int main() {
  const Ref a = leaf(2), b = leaf(-3), c = leaf(10), f = leaf(-2);
  const Ref product = mul(a, b), sum = add(product, c), loss = mul(sum, f);
  a->label = "a", b->label = "b", c->label = "c", f->label = "f";
  product->label = "a * b", sum->label = "a * b + c", loss->label = "L";
  backward(loss);
  for (const Ref& node : topological_order(loss))
    std::printf("%-9s  data %4g   grad %4g\n", node->label.c_str(), node->data, node->grad);
}
