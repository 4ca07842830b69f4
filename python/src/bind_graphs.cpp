// SPDX-License-Identifier: MIT
// Functions of whole graphs: their order, derivatives, pictures and walks.
#include <memory>
#include <optional>

#include "bind.hpp"
#include "gradwalk/code.hpp"
#include "gradwalk/derivatives.hpp"
#include "gradwalk/dot.hpp"
#include "gradwalk/explain.hpp"
#include "gradwalk/expression.hpp"
#include "gradwalk/graph.hpp"
#include "gradwalk/walk.hpp"
#include "no_grad.hpp"

namespace gradwalk::python {
namespace {

using Scalar = Value;
using Vector = std::vector<Value>;

// with gradwalk.no_grad(): ...
class NoGradBlock {
 public:
  void begin() {
    enter();
    guards_.push_back(std::make_unique<NoGrad>());
    ++no_grad_blocks;
  }
  void end() {
    if (guards_.empty()) throw Error("no_grad", "to be entered first", "its end", "write with no_grad(): ...");
    enter();
    guards_.pop_back();
    --no_grad_blocks;
  }

 private:
  std::vector<std::unique_ptr<NoGrad>> guards_;
};

py::object parsed(const std::string& json) { return py::module_::import("json").attr("loads")(json); }

Language language(const std::string& wanted) {
  for (const Language one : {Language::cpp, Language::python, Language::pytorch})
    if (name(one) == wanted) return one;
  throw Error("to_code", "cpp, python or pytorch", wanted, "choose one");
}

void bind_looking(py::module_& module) {
  module.def("topological_order", &topological_order, py::arg("root"), py::call_guard<Entered>(),
             "Every node below the root once, inputs before their users.");
  module.def(
      "recompute", [](const Value& root) { recompute(root); }, py::arg("root"), py::call_guard<Entered>(),
      "The same graph evaluated again from its leaves' present data.");
  module.def(
      "find_nonfinite",
      [](const Value& root) -> std::optional<std::pair<Value, std::string>> {
        std::optional<NonFinite> found = find_nonfinite(root);
        if (!found) return std::nullopt;
        return std::pair(found->node, found->message);
      },
      py::arg("root"), py::call_guard<Entered>(),
      "The first node that is infinite or not a number, and a sentence that says so; None if all are finite.");
  module.def(
      "select", [](const Value& condition, const Value& x, const Value& y) { return select(condition, x, y); },
      py::arg("condition"), py::arg("x"), py::arg("y"), py::call_guard<Entered>(),
      "x where the condition, a Value such as a.less(b), is not 0, else y; recorded, so it is chosen again when the "
      "graph is "
      "evaluated again.");
  module.def(
      "custom",
      [](double result, const Vector& inputs, const std::vector<double>& derivatives, const std::string& name) {
        return custom(result, inputs, derivatives, name);
      },
      py::arg("result"), py::arg("inputs"), py::arg("derivatives"), py::arg("name") = "custom",
      py::call_guard<Entered>(), "A node with a result and local derivatives of one's own.");
  module.def(
      "parse",
      [](const std::string& text) {
        Expression expression = parse(text);
        return std::pair(expression.root, py::dict(py::cast(expression.names)));
      },
      py::arg("text"), py::call_guard<Entered>(),
      "The root of an expression such as 'a=2; b=-3; a*b + a', and its names.");
  py::class_<NoGradBlock>(module, "no_grad", "While one is entered, operations give plain leaves and record nothing.")
      .def(py::init<>())
      .def("__enter__", [](NoGradBlock& block) { block.begin(); })
      .def("__exit__", [](NoGradBlock& block, const py::args&) { block.end(); });
}

void bind_derivatives(py::module_& module) {
  module.def(
      "gradient",
      [](py::function f, const Numbers& x) { return gradient(function_of_values<Scalar>(std::move(f)), x); },
      py::arg("f"), py::arg("x"), py::call_guard<Entered>(),
      "The gradient of a function of a list of Values at x.\n\n>>> gradient(lambda x: x[0] ** 2 * x[1], [3.0, "
      "5.0])\n[30.0, 9.0]");
  module.def(
      "value_and_gradient",
      [](py::function f, const Numbers& x) { return value_and_gradient(function_of_values<Scalar>(std::move(f)), x); },
      py::arg("f"), py::arg("x"), py::call_guard<Entered>(), "The function's value at x, and its gradient there.");
  module.def(
      "jacobian",
      [](py::function f, const Numbers& x) { return jacobian(function_of_values<Vector>(std::move(f)), x); },
      py::arg("f"), py::arg("x"), py::call_guard<Entered>(), "A row an output, a column an input.");
  module.def(
      "hessian", [](py::function f, const Numbers& x) { return hessian(function_of_values<Scalar>(std::move(f)), x); },
      py::arg("f"), py::arg("x"), py::call_guard<Entered>(),
      "The second derivatives.\n\n>>> hessian(lambda x: x[0] ** 2 * x[1], [3.0, 5.0])\n[[10.0, 6.0], [6.0, 0.0]]");
  module.def(
      "derivatives", [](const Value& root, const Vector& inputs) { return derivatives(root, inputs); }, py::arg("root"),
      py::arg("inputs"), py::call_guard<Entered>(),
      "The derivatives of root by each input, themselves Values: they can be walked back again.");
  py::class_<GradientCheck>(module, "GradientCheck", "The gradient beside central differences.")
      .def_readonly("ok", &GradientCheck::ok)
      .def_readonly("worst", &GradientCheck::worst)
      .def_readonly("gradient", &GradientCheck::gradient)
      .def_readonly("difference", &GradientCheck::difference)
      .def_readonly("error", &GradientCheck::error)
      .def_readonly("message", &GradientCheck::message)
      .def("__bool__", [](const GradientCheck& check) { return check.ok; })
      .def("__repr__", [](const GradientCheck& check) { return check.message; });
  module.def(
      "check_gradient",
      [](py::function f, const Numbers& x, double tolerance) {
        return check_gradient(function_of_values<Scalar>(std::move(f)), x, tolerance);
      },
      py::arg("f"), py::arg("x"), py::arg("tolerance") = 1e-6, py::call_guard<Entered>(),
      "The gradient beside central differences.");
}

void bind_pictures(py::module_& module) {
  py::class_<Snapshot>(module, "_Snapshot");
  module.def("_snapshot", &snapshot, py::call_guard<Entered>());
  module.def("_graph_json", [](const Value& root) { return to_json(snapshot(root)); }, py::call_guard<Entered>());
  module.def(
      "draw_dot",
      [](const Value& root, int digits, bool hide_constants, std::size_t limit) {
        return draw_dot(root, {.digits = digits, .hide_constants = hide_constants, .limit = limit});
      },
      py::arg("root"), py::kw_only(), py::arg("digits") = 4, py::arg("hide_constants") = false, py::arg("limit") = 400,
      py::call_guard<Entered>(), "The graph's drawing in Graphviz's language.");
  module.def(
      "walk",
      [](const Value& root, const std::string& rule, double rate) {
        return parsed(to_json(Walk(root, {.rule = walk_rule(rule), .rate = rate})));
      },
      py::arg("root"), py::kw_only(), py::arg("rule") = "right", py::arg("rate") = 0.1, py::call_guard<Entered>(),
      "The backward pass step by step, as docs/walk-format.md describes it.");
  module.def(
      "explain",
      [](const Value& root, const Value& node, std::size_t paths) {
        return parsed(to_json(explain(root, node, paths)));
      },
      py::arg("root"), py::arg("node"), py::kw_only(), py::arg("paths") = default_paths, py::call_guard<Entered>(),
      "Where a node's gradient comes from, as docs/walk-format.md describes it.");
  module.def(
      "to_code",
      [](const Value& root, const std::string& wanted) { return to_string(to_code(snapshot(root), language(wanted))); },
      py::arg("root"), py::arg("language") = "python", py::call_guard<Entered>(),
      "A program that builds the graph, goes backward and prints the gradients: in cpp, python or pytorch.");
}

}  // namespace

void bind_graphs(py::module_& module) {
  py::register_exception_translator([](std::exception_ptr pending) {
    try {
      if (pending) std::rethrow_exception(pending);
    } catch (const Error& error) {
      PyErr_SetString(PyExc_ValueError, error.what());
    }
  });
  bind_looking(module);
  bind_derivatives(module);
  bind_pictures(module);
}

}  // namespace gradwalk::python
