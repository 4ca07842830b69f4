// SPDX-License-Identifier: MIT
// Expressions and what the lesson shows of their graphs; src/engine/types.ts says what each call gives.
#include <algorithm>

#include "exchange.hpp"
#include "gradwalk/explain.hpp"
#include "gradwalk/graph.hpp"
#include "gradwalk/walk.hpp"
#include "listing.hpp"

using namespace gradwalk;
using namespace gradwalk::web;

namespace {

void give_failure(std::string_view message, std::size_t line, std::size_t column) {
  JsonWriter json;
  json.object([&] {
    json("ok").value(false);
    json("message").value(message);
    json("line").value(line);
    json("column").value(column);
  });
  give(json.take());
}

using Names = std::vector<std::pair<std::string, Value>>;

void give_parsed(const Snapshot& graph, const Names& names) {
  if (graph.nodes.size() > largest_graph) return give_failure(too_large(graph.nodes.size()).what(), 0, 0);
  JsonWriter json;
  json.object([&] {
    json("ok").value(true);
    json("names").array(names, [&](const auto& named) {
      const auto& [name, value] = named;
      const std::optional<std::size_t> node = graph.find(value);
      if (!node) return;
      json.array(std::array{0, 1}, [&](int i) { i == 0 ? json.value(std::string_view(name)) : json.value(*node); });
    });
  });
  give(merged(json.take(), to_json(graph)));
}

}  // namespace

GRADWALK_CALL(parse)(const char* text, std::size_t size) {
  if (is_listing({text, size})) {
    const std::variant<Snapshot, Error> read = read_listing({text, size});
    if (const auto* error = std::get_if<Error>(&read)) return give_failure(error->what(), 0, 0);
    return give_parsed(std::get<Snapshot>(read), {});
  }
  if (size > longest_text) return give_failure(too_long(size).what(), 0, 0);
  const std::variant<Expression, ExpressionError> parsed = try_parse({text, size});
  if (const auto* error = std::get_if<ExpressionError>(&parsed))
    return give_failure(error->what(), error->line, error->column);
  const auto& expression = std::get<Expression>(parsed);
  give_parsed(snapshot(expression.root), expression.names);
}

GRADWALK_CALL(walk)(const char* text, std::size_t size, const double* overrides, std::size_t overrides_size,
                    const char* rule, std::size_t rule_size, const double* order, std::size_t order_size, double rate,
                    double most_visits) {
  std::optional<Snapshot> graph = read_snapshot({text, size}, {overrides, overrides_size});
  if (!graph) return;
  WalkOptions options{
      .rule = walk_rule({rule, rule_size}), .most_visits = count(most_visits, "most_visits", 100'000), .rate = rate};
  for (std::size_t i = 0; i < order_size; ++i)
    options.order.push_back(count(order[i], "order", graph->nodes.size() - 1));
  give(to_json(Walk(std::move(*graph), std::move(options))));
}

GRADWALK_CALL(sort)(const char* text, std::size_t size, const double* overrides, std::size_t overrides_size) {
  if (const auto graph = read_snapshot({text, size}, {overrides, overrides_size})) give(to_json(*graph, Sort(*graph)));
}

GRADWALK_CALL(orders)(const char* text, std::size_t size, const double* overrides, std::size_t overrides_size) {
  if (const auto graph = read_snapshot({text, size}, {overrides, overrides_size}))
    give(to_json(*graph, try_all_orders(*graph)));
}

GRADWALK_CALL(explain)(const char* text, std::size_t size, const double* overrides, std::size_t overrides_size,
                       double node, double paths) {
  std::optional<Snapshot> graph = read_snapshot({text, size}, {overrides, overrides_size});
  if (!graph) return;
  const std::size_t index = count(node, "explain", graph->nodes.size() - 1);
  give(to_json(explain(std::move(*graph), index, count(paths, "paths", 1'000))));
}

// How far the root moves when a leaf moves by each h, beside the gradient.
GRADWALK_CALL(wiggle)(const char* text, std::size_t size, const double* overrides, std::size_t overrides_size,
                      double leaf, const double* h, std::size_t h_size) {
  std::optional<Graph> graph = read_graph({text, size}, {overrides, overrides_size});
  if (!graph) return;
  Value& moved = graph->nodes[count(leaf, "wiggle", graph->nodes.size() - 1)];
  if (moved.op() != Op::leaf) return refuse(Error("wiggle", "a leaf", "another node", "choose a leaf"));
  const Value& root = graph->expression.root;
  root.backward();
  const double gradient = moved.grad(), x = moved.data(), at_x = root.data();
  JsonWriter json;
  json.object([&] {
    json("gradient").value(gradient);
    json("root").value(at_x);
    json("points").array(std::span(h, h_size), [&](double step) {
      moved.data() = x + step;
      recompute(root);
      const double quotient = (root.data() - at_x) / step;
      json.object([&] {
        json("h").value(step);
        json("root").value(root.data());
        json("quotient").value(quotient);
        json("difference").value(quotient - gradient);
      });
    });
  });
  give(json.take());
}

// How far every node moves when a leaf moves by h.
GRADWALK_CALL(nudge)(const char* text, std::size_t size, const double* overrides, std::size_t overrides_size,
                     double leaf, double h) {
  std::optional<Graph> graph = read_graph({text, size}, {overrides, overrides_size});
  if (!graph) return;
  Value& moved = graph->nodes[count(leaf, "nudge", graph->nodes.size() - 1)];
  if (moved.op() != Op::leaf) return refuse(Error("nudge", "a leaf", "another node", "choose a leaf"));
  std::vector<double> before;
  for (const Value& node : graph->nodes) before.push_back(node.data());
  moved.data() += h;
  recompute(graph->expression.root);
  JsonWriter json;
  json.object([&] {
    json("leaf").value(static_cast<std::size_t>(leaf));
    json("h").value(h);
    std::size_t i = 0;
    json("nodes").array(graph->nodes, [&](const Value& node) {
      const double from = before[i++];
      json.object([&] {
        json("before").value(from);
        json("after").value(node.data());
        json("moved").value(node.data() - from);
        json("rate").value((node.data() - from) / h);
      });
    });
  });
  give(json.take());
}

GRADWALK_CALL(ops)() {
  JsonWriter json;
  json.array(op_table, [&](const OpInfo& op) {
    if (op.operands == 0) return;
    json.object([&] {
      json("name").value(op.name);
      json("symbol").value(op.symbol);
      json("operands").value(static_cast<std::size_t>(op.operands));
      json("domain").value(op.domain);
      json("value").value(op.value);
      json("dx").value(op.dx);
      json("dy").value(op.dy);
    });
  });
  give(json.take());
}
