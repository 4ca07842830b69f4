// SPDX-License-Identifier: MIT
// Writes snapshots as JSON.
#include "snapshot/json.hpp"

namespace gradwalk {

using namespace detail;

void detail::write_head(JsonWriter& json, std::string_view format) {
  json("format").value(format);
  json("version").value(std::size_t{1});
}

void detail::write_indices(JsonWriter& json, const std::vector<std::size_t>& indices) {
  json.array(indices, [&](std::size_t i) { json.value(i); });
}

void detail::write_nodes(JsonWriter& json, const Snapshot& graph) {
  std::size_t index = 0;
  json("nodes").array(graph.nodes, [&](const Snapshot::Node& node) {
    json.object([&] {
      json("name").value(node.name);
      json("label").value(node.label);
      json("op").value(name(node.op));
      json("symbol").value(node.op_name);
      json("data").value(node.data);
      write_indices(json("operands"), node.operands);
      std::size_t operand = 0;
      json("locals").array(node.locals, [&](double local) {
        json.object([&] {
          json("formula").value(local_formula(node.op, operand));
          json("with_names").value(local_formula(graph, index, operand++));
          json("value").value(local);
        });
      });
    });
    ++index;
  });
  json("root").value(graph.root());
}

std::string to_json(const Snapshot& graph) {
  JsonWriter json;
  json.object([&] {
    write_head(json, "gradwalk-graph");
    write_nodes(json, graph);
  });
  return json.take();
}

}  // namespace gradwalk
