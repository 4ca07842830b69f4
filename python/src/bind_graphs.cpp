// SPDX-License-Identifier: MIT
// Bindings of functions on whole graphs: order, derivatives, pictures and walks.
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

// The context manager gradwalk.no_grad().
class NoGradBlock {
 public:
  void begin() {
    enter();
    guards_.push_back(std::make_unique<NoGrad>());
    ++no_grad_blocks;
  }
  void end() {
    if (guards_.empty())
      throw Error("no_grad", "__enter__ before __exit__", "__exit__ alone", "write: with no_grad(): ...");
    enter();
    guards_.pop_back();
    --no_grad_blocks;
  }

 private:
  std::vector<std::unique_ptr<NoGrad>> guards_;
};

py::object parsed(const std::string& json) { return py::module_::import("json").attr("loads")(json); }

Language language(const std::string& wanted) {
  for (const Language known : {Language::cpp, Language::python, Language::pytorch})
    if (name(known) == wanted) return known;
  throw Error("to_code", "language 'cpp', 'python' or 'pytorch'", "'" + wanted + "'", "choose one of them");
}

void bind_looking(py::module_& module) {
  module.def("topological_order", &topological_order, py::arg("root"), py::call_guard<Entered>(),
             "Returns the nodes below the root, each once, inputs before the nodes that use them.");
  module.def(
      "recompute", [](const Value& root) { recompute(root); }, py::arg("root"), py::call_guard<Entered>(),
      "Evaluates the graph again with the current data of its leaves.");
  module.def(
      "find_nonfinite",
      [](const Value& root) -> std::optional<std::pair<Value, std::string>> {
        std::optional<NonFinite> found = find_nonfinite(root);
        if (!found) return std::nullopt;
        return std::pair(found->node, found->message);
      },
      py::arg("root"), py::call_guard<Entered>(),
      "Returns the first node that is infinite or NaN, with a message; None if all nodes are finite.");
  module.def(
      "select", [](const Value& condition, const Value& x, const Value& y) { return select(condition, x, y); },
      py::arg("condition"), py::arg("x"), py::arg("y"), py::call_guard<Entered>(),
      "Returns x if the condition is not 0, else y. The condition is a Value, such as a.less(b).\n\n"
      "The choice is recorded: recompute() and compiled programs choose again.");
  module.def(
      "custom",
      [](double result, const Vector& inputs, const std::vector<double>& derivatives, const std::string& name) {
        return custom(result, inputs, derivatives, name);
      },
      py::arg("result"), py::arg("inputs"), py::arg("derivatives"), py::arg("name") = "custom",
      py::call_guard<Entered>(), "Makes a node with your own result and local derivatives, one derivative per input.");
  module.def(
      "parse",
      [](const std::string& text) {
        Expression expression = parse(text);
        return std::pair(expression.root, py::dict(py::cast(expression.names)));
      },
      py::arg("text"), py::call_guard<Entered>(),
      "Parses an expression such as 'a=2; b=-3; a*b + a'. Returns its root, and a dict of its names.");
  py::class_<NoGradBlock>(
      module, "no_grad", "A context manager. Inside it, operations record nothing, and their results are plain leaves.")
      .def(py::init<>())
      .def("__enter__", [](NoGradBlock& block) { block.begin(); })
      .def("__exit__", [](NoGradBlock& block, const py::args&) { block.end(); });
}

void bind_derivatives(py::module_& module) {
  module.def(
      "gradient",
      [](py::function f, const Numbers& x) { return gradient(function_of_values<Scalar>(std::move(f)), x); },
      py::arg("f"), py::arg("x"), py::call_guard<Entered>(),
      "Returns the gradient at x of a function that takes a list of Values.\n\n>>> gradient(lambda x: x[0] ** 2 * "
      "x[1], [3.0, "
      "5.0])\n[30.0, 9.0]");
  module.def(
      "value_and_gradient",
      [](py::function f, const Numbers& x) { return value_and_gradient(function_of_values<Scalar>(std::move(f)), x); },
      py::arg("f"), py::arg("x"), py::call_guard<Entered>(),
      "Returns the function's value at x, and its gradient there.");
  module.def(
      "jacobian",
      [](py::function f, const Numbers& x) { return jacobian(function_of_values<Vector>(std::move(f)), x); },
      py::arg("f"), py::arg("x"), py::call_guard<Entered>(),
      "Returns the Jacobian at x: one row per output, one column per input.");
  module.def(
      "hessian", [](py::function f, const Numbers& x) { return hessian(function_of_values<Scalar>(std::move(f)), x); },
      py::arg("f"), py::arg("x"), py::call_guard<Entered>(),
      "Returns the matrix of second derivatives at x.\n\n>>> hessian(lambda x: x[0] ** 2 * x[1], [3.0, 5.0])\n[[10.0, "
      "6.0], [6.0, 0.0]]");
  module.def(
      "derivatives", [](const Value& root, const Vector& inputs) { return derivatives(root, inputs); }, py::arg("root"),
      py::arg("inputs"), py::call_guard<Entered>(),
      "Returns the derivatives of root with respect to each input, as Values that can be differentiated again.");
  py::class_<GradientCheck>(module, "GradientCheck", "The result of check_gradient(). It is true if the check passed.")
      .def_readonly("ok", &GradientCheck::ok, "Whether every coordinate is within the tolerance.")
      .def_readonly("worst", &GradientCheck::worst, "The index of the coordinate with the largest error.")
      .def_readonly("gradient", &GradientCheck::gradient, "The gradient at the worst coordinate.")
      .def_readonly("difference", &GradientCheck::difference, "The central difference at the worst coordinate.")
      .def_readonly("error", &GradientCheck::error, "The relative error at the worst coordinate.")
      .def_readonly("message", &GradientCheck::message, "The result in words.")
      .def("__bool__", [](const GradientCheck& check) { return check.ok; })
      .def("__repr__", [](const GradientCheck& check) { return check.message; });
  module.def(
      "check_gradient",
      [](py::function f, const Numbers& x, double tolerance) {
        return check_gradient(function_of_values<Scalar>(std::move(f)), x, tolerance);
      },
      py::arg("f"), py::arg("x"), py::arg("tolerance") = 1e-6, py::call_guard<Entered>(),
      "Compares the gradient of f at x with central differences.");
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
      py::call_guard<Entered>(), "Returns the drawing of the graph as DOT text, the language of Graphviz.");
  module.def(
      "walk",
      [](const Value& root, const std::string& rule, double rate) {
        return parsed(to_json(Walk(root, {.rule = walk_rule(rule), .rate = rate})));
      },
      py::arg("root"), py::kw_only(), py::arg("rule") = "right", py::arg("rate") = 0.1, py::call_guard<Entered>(),
      "Returns the forward and backward pass step by step, as a dict that docs/walk-format.md describes.\n\n"
      "rule breaks a rule of the backward pass, such as 'overwrite'; rate is the learning rate of 'no-zeroing'.");
  module.def(
      "explain",
      [](const Value& root, const Value& node, std::size_t paths) {
        return parsed(to_json(explain(root, node, paths)));
      },
      py::arg("root"), py::arg("node"), py::kw_only(), py::arg("paths") = most_paths, py::call_guard<Entered>(),
      "Returns the deposits and paths that add up to a node's gradient, as a dict that docs/walk-format.md describes.");
  module.def(
      "to_code",
      [](const Value& root, const std::string& wanted) { return to_string(to_code(snapshot(root), language(wanted))); },
      py::arg("root"), py::arg("language") = "python", py::call_guard<Entered>(),
      "Returns a program that builds the graph, runs the backward pass and prints the gradients.\n\n"
      "language is 'cpp', 'python' or 'pytorch'.");
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
