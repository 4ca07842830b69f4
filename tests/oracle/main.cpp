// SPDX-License-Identifier: MIT
// The oracle: reads commands from stdin, one per line, and answers on stdout. Numbers are C hex floats in both
// directions. Steps (graph.hpp) build the current graph. The commands are:
//
//   table                          the op table: name, operands, symbol, domain, value, dx, dy, between tabs
//   op tanh X | op mul X Y         one op of leaves: its value and its derivative with respect to each operand
//   graph                          discards the current graph and begins another
//   backward STEP SEED, propagate STEP, recompute STEP, set STEP X     call these functions, without an answer
//   read                           one line per step: data and gradient, or - if no live Value leads to the node
//   order STEP                     topological_order() as step numbers on one line, with c for a constant
//   hessian                        the Hessian of the last step with respect to all leaves, one line per row
//   expressions                    the texts of all expressions, one per line
//   expression K A B C D           its value, and its value by recompute() of a graph made at (D, C, B, A)
#include <cstdio>
#include <iostream>
#include <span>
#include <sstream>
#include <unordered_map>

#include "expressions.hpp"
#include "graph.hpp"

namespace {

using namespace oracle;
using gradwalk::Op;
using Words = std::vector<std::string>;

void print(std::span<const double> numbers) {
  const char* separator = "";
  for (const double number : numbers) std::printf("%s%a", separator, number), separator = " ";
  std::printf("\n");
}

void print_table() {
  for (const gradwalk::OpInfo& op : gradwalk::op_table) {
    if (op.operands == 0) continue;
    std::cout << op.name << '\t' << op.operands;
    for (const std::string_view text : {op.symbol, op.domain, op.value, op.dx, op.dy}) std::cout << '\t' << text;
    std::cout << '\n';
  }
  std::cout.flush();
}

void print_op(const Words& words) {
  std::vector<Value> operands;
  for (std::size_t i = 2; i < words.size(); ++i) operands.emplace_back(parse_number(words[i]));
  const Op op = parse_op(words.at(1));
  const Value result = operands.size() == 1 ? unary(op, Spelling::function, operands[0])
                                            : binary(op, Spelling::function, operands.at(0), operands.at(1));
  result.backward();
  std::vector<double> answer{result.data()};
  for (const Value& operand : operands) answer.push_back(operand.grad());
  print(answer);
}

void print_nodes(const Graph& graph) {
  for (const std::optional<Value>& node : graph.nodes()) {
    if (node)
      print(std::vector{std::as_const(*node).data(), std::as_const(*node).grad()});
    else
      std::printf("-\n");
  }
}

void print_order(const Graph& graph, std::size_t root) {
  const std::vector<Value> order = topological_order(graph.at(root));
  std::unordered_map<std::uint64_t, std::size_t> steps;
  const std::vector<std::optional<Value>> nodes = graph.nodes();
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (nodes[i]) steps[nodes[i]->id()] = i;
  for (const Value& node : order) {
    if (node.op() == Op::constant)
      std::printf("c ");
    else
      std::printf("%zu ", steps.at(node.id()));
  }
  std::printf("\n");
}

void print_hessian(const Graph& graph) {
  const auto last = [&](const std::vector<Value>& leaves) { return graph.rebuild(leaves); };
  for (const gradwalk::Numbers& row : gradwalk::hessian(last, graph.leaf_data())) print(row);
}

void print_expression(const Words& words) {
  const Expression& expression = expressions()[std::stoul(words.at(1))];
  std::vector<double> at;
  for (std::size_t i = 2; i < 6; ++i) at.push_back(parse_number(words.at(i)));
  const Value a = at[0], b = at[1], c = at[2], d = at[3];
  const Value eager = expression.at(a, b, c, d);

  std::vector<Value> moved(at.rbegin(), at.rend());
  const Value again = expression.at(moved[0], moved[1], moved[2], moved[3]);
  for (std::size_t i = 0; i < 4; ++i) moved[i].data() = at[i];
  recompute(again);
  print(std::vector{eager.data(), again.data()});
}

void answer(const Words& words, Graph& graph) {
  const std::string& command = words[0];
  const auto step = [&] { return std::stoul(words.at(1)); };
  if (command == "table")
    print_table();
  else if (command == "op")
    print_op(words);
  else if (command == "graph")
    graph = Graph();
  else if (command == "backward")
    graph.at(step()).backward(parse_number(words.at(2)));
  else if (command == "propagate")
    graph.at(step()).propagate();
  else if (command == "recompute")
    recompute(graph.at(step()));
  else if (command == "set")
    graph.at(step()).data() = parse_number(words.at(2));
  else if (command == "read")
    print_nodes(graph);
  else if (command == "order")
    print_order(graph, step());
  else if (command == "hessian")
    print_hessian(graph);
  else if (command == "expressions")
    for (const Expression& one : expressions()) std::printf("%s\n", one.text.data());
  else if (command == "expression")
    print_expression(words);
  else
    graph.add(parse_step(words));
}

}  // namespace

int main() try {
  Graph graph;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream in(line);
    Words words;
    for (std::string word; in >> word;) words.push_back(word);
    if (!words.empty()) answer(words, graph);
  }
} catch (const std::exception& error) {
  std::fprintf(stderr, "oracle: %s\n", error.what());
  return 2;
}
