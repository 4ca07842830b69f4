// SPDX-License-Identifier: MIT
// The fuzzer of the parser. Any bytes give an ExpressionError that points into the text, or a graph that can be walked
// by every rule and explained.
#include <cmath>
#include <cstdint>
#include <cstdlib>

#include "gradwalk/explain.hpp"
#include "gradwalk/expression.hpp"
#include "gradwalk/walk.hpp"

namespace {

using namespace gradwalk;

void require(bool holds) {
  if (!holds) std::abort();
}

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

void look(const Snapshot& graph) {
  for (int i = 0; i <= static_cast<int>(WalkRule::no_zeroing); ++i) {
    Walk walk(graph, {.rule = static_cast<WalkRule>(i), .most_visits = 500});
    walk.go_to(walk.steps().size());
    for (std::size_t k = 0; k < graph.nodes.size(); ++k) {
      require(same(walk.state()[k].grad, walk.outcomes()[k].gradient));
      require(same(walk.state()[k].data, walk.outcomes()[k].data));
    }
    if (i == 0) require(walk.late().empty() && !walk.parting());
    require(to_json(walk).size() > graph.nodes.size());
  }
  const Sort sort(graph);
  require(sort.after(sort.steps().size()).stack.empty());
  for (std::size_t k = 0; k < graph.nodes.size(); ++k) {
    if (graph.nodes[k].is_constant()) continue;
    const Explanation explanation = explain(graph, k, 5);
    require(explanation.path_count != "0" && !explanation.paths.empty());
    require(graph.find(graph.nodes[k].name).has_value());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    const Expression expression = parse(text);
    expression.root.backward();
    for (const auto& [name, value] : expression.names) require(!name.empty() && !value.label().empty());
    if (size < 300) look(snapshot(expression.root));
  } catch (const ExpressionError& error) {
    require(error.line > 0 && error.column > 0 && error.column <= size + 1);
  }
  return 0;
}
