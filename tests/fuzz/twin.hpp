// SPDX-License-Identifier: MIT
// Twin: a node of the plain evaluator with the operators of a Value, so that one template builds an expression for
// both.
#pragma once

#include <utility>

#include "plain_graph.hpp"

namespace fuzz {

struct Twin {
  plain::Graph* graph;
  plain::Index node;

  friend Twin apply(plain::Op op, Twin x, Twin y) { return {x.graph, x.graph->binary(op, x.node, y.node)}; }
  Twin number(double data) const { return {graph, graph->leaf(data, plain::Op::constant)}; }

#define OPERATOR(sign, op)                                                                     \
  friend Twin operator sign(Twin x, Twin y) { return apply(plain::Op::op, x, y); }             \
  friend Twin operator sign(Twin x, double y) { return apply(plain::Op::op, x, x.number(y)); } \
  friend Twin operator sign(double x, Twin y) { return apply(plain::Op::op, y.number(x), y); }
  OPERATOR(+, add)
  OPERATOR(-, sub)
  OPERATOR(*, mul)
#undef OPERATOR
  template <class Y> Twin& operator+=(Y y) { return *this = *this + y; }
  friend Twin sin(Twin x) { return {x.graph, x.graph->unary(plain::Op::sin, x.node)}; }
};

// Builds sums and products with temporaries. T is Value or Twin.
template <class T> T expression(unsigned which, const T& a, const T& b, const T& c, const T& d, double n) {
  switch (which % 16) {
    case 0: return a * b + c;
    case 1: return c + a * b;
    case 2: return a * b + c * d;
    case 3: return a * n + c;
    case 4: return c + n * a;
    case 5: return a * b + c * d + a * c;
    case 6: return a * b + c + d;
    case 7: return d + (a * b + c);
    case 8: return a * b + (c * d + n);
    case 9: return n + a * b;
    case 10: return a * b - c * d;
    case 11: return a * a + a;
    case 12: return a * n + b * c + n * d + b + n;
    case 13: return (a + b) + (c * d) * n;
    case 14: return (a * b) * (c * d) + n * (a * c);
    default: return a * b + sin(c * d + a) + b * n;
  }
}

template <class T> void extend(T& sum, unsigned how, const T& a, const T& b, double n) {
  switch (how % 8) {
    case 0: sum += a * b; break;
    case 1: sum += a; break;
    case 2: sum += n * b; break;
    case 3: sum = std::move(sum) + a * n; break;
    case 4: sum = b * a + std::move(sum); break;
    case 5: sum += n; break;
    case 6: sum = a + std::move(sum); break;
    default: sum = std::move(sum) + b; break;
  }
}

}  // namespace fuzz
