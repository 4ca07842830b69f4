// SPDX-License-Identifier: MIT
// A graph as programs, line by line.
#include "gradwalk/code.hpp"

#include "exchange.hpp"

using namespace gradwalk;
using namespace gradwalk::web;

GRADWALK_CALL(code)(const char* text, std::size_t size, const double* overrides, std::size_t overrides_size) {
  const std::optional<Snapshot> graph = read_snapshot({text, size}, {overrides, overrides_size});
  if (!graph) return;
  JsonWriter json;
  json.object([&] {
    for (const Language language : {Language::cpp, Language::python, Language::pytorch}) {
      const Code code = to_code(*graph, language);
      json(name(language)).object([&] {
        json("lines").array(code.lines, [&](const Code::Line& line) {
          json.object([&] {
            json("text").value(line.text);
            json("node");
            line.node ? json.value(*line.node) : json.null();
          });
        });
        json("backward").value(code.backward);
      });
    }
  });
  give(json.take());
}
