// SPDX-License-Identifier: MIT
// The two buffers, and what every call does first: reading its arguments.
#include "exchange.hpp"

#include <cmath>

#include "gradwalk/graph.hpp"
#include "listing.hpp"

namespace gradwalk::web {
namespace {

std::vector<double> input;  // doubles, for their alignment
std::string text_result;
std::vector<double> number_result;
const void* result = nullptr;
std::size_t result_size = 0;

}  // namespace

void give(std::string json) {
  text_result = std::move(json);
  result = text_result.data(), result_size = text_result.size();
}

void give(std::span<const double> numbers) {
  number_result.assign(numbers.begin(), numbers.end());
  result = number_result.data(), result_size = numbers.size_bytes();
}

void refuse(const Error& error) {
  JsonWriter json;
  json.object([&] { json("error").value(std::string_view(error.what())); });
  give(json.take());
}

std::string merged(std::string first, std::string_view second) {
  first.back() = ',';
  return first.append(second.substr(1));
}

std::size_t count(double number, std::string_view what, std::size_t most) {
  if (number >= 0 && number <= static_cast<double>(most) && number == std::floor(number))
    return static_cast<std::size_t>(number);
  JsonWriter got;
  got.value(number);
  throw Error(what, "a whole number from 0 to " + std::to_string(most), got.take(), "choose one of them");
}

Error too_long(std::size_t bytes) {
  return {"expression", "at most " + std::to_string(longest_text) + " bytes", std::to_string(bytes),
          "try a shorter one"};
}

Error too_large(std::size_t nodes) {
  return {"expression", "at most " + std::to_string(largest_graph) + " nodes", std::to_string(nodes),
          "try a smaller one"};
}

std::optional<Graph> read_graph(std::string_view text, std::span<const double> overrides) {
  const auto refused = [](const Error& error) { return refuse(error), std::nullopt; };
  if (text.size() > longest_text) return refused(too_long(text.size()));
  std::variant<Expression, ExpressionError> parsed = try_parse(text);
  if (const auto* error = std::get_if<ExpressionError>(&parsed)) return refused(*error);
  Graph graph{std::move(std::get<Expression>(parsed)), {}};
  graph.nodes = topological_order(graph.expression.root);
  if (graph.nodes.size() > largest_graph) return refused(too_large(graph.nodes.size()));
  for (std::size_t i = 0; i + 1 < overrides.size(); i += 2) {
    const std::size_t node = count(overrides[i], "override", graph.nodes.size() - 1);
    if (graph.nodes[node].op() != Op::leaf)
      return refused(Error("override", "a leaf", "node " + std::to_string(node), "set the leaves it depends on"));
    graph.nodes[node].data() = overrides[i + 1];
  }
  if (!overrides.empty()) recompute(graph.expression.root);
  return graph;
}

std::optional<Snapshot> read_snapshot(std::string_view text, std::span<const double> overrides) {
  if (is_listing(text)) {
    std::variant<Snapshot, Error> read = read_listing(text);
    if (const auto* error = std::get_if<Error>(&read)) return refuse(*error), std::nullopt;
    return std::get<Snapshot>(std::move(read));
  }
  const std::optional<Graph> graph = read_graph(text, overrides);
  if (!graph) return std::nullopt;
  return snapshot(graph->expression.root);
}

}  // namespace gradwalk::web

using namespace gradwalk::web;

extern "C" {

// Space for the arguments of the next call.
__attribute__((export_name("gradwalk_input"))) void* gradwalk_input(std::size_t bytes) {
  input.resize(bytes / sizeof(double) + 1);
  return input.data();
}
__attribute__((export_name("gradwalk_result"))) const void* gradwalk_result() { return result; }
__attribute__((export_name("gradwalk_result_size"))) std::size_t gradwalk_result_size() { return result_size; }
}
