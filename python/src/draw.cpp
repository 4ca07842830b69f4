// SPDX-License-Identifier: MIT
// The module gradwalk._draw: draws graphs with the Graphviz library. It is separate from _core, so that _core works
// where Graphviz is not installed.
#include "gradwalk/draw.hpp"

#include <pybind11/pybind11.h>

namespace py = pybind11;

namespace {

gradwalk::DrawOptions options(int digits, bool hide_constants, std::size_t limit) {
  return {.digits = digits, .hide_constants = hide_constants, .limit = limit};
}

}  // namespace

PYBIND11_MODULE(_draw, module) {
  py::module_::import("gradwalk._core");  // registers Snapshot
  module.def(
      "draw_svg",
      [](const gradwalk::Snapshot& graph, int digits, bool hide_constants, std::size_t limit) {
        return gradwalk::draw_svg(graph, options(digits, hide_constants, limit));
      },
      py::call_guard<py::gil_scoped_release>());
  module.def("draw_png", [](const gradwalk::Snapshot& graph, int digits, bool hide_constants, std::size_t limit) {
    return py::bytes(gradwalk::draw_png(graph, options(digits, hide_constants, limit)));
  });
}
