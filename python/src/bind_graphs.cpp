// SPDX-License-Identifier: MIT
// Bindings of functions on whole graphs: order, derivatives, pictures and walks.
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>

#include "bind.hpp"
#include "convert.hpp"
#include "gradwalk/code.hpp"
#include "gradwalk/derivatives.hpp"
#include "gradwalk/dot.hpp"
#include "gradwalk/explain.hpp"
#include "gradwalk/expression.hpp"
#include "gradwalk/graph.hpp"
#include "gradwalk/pick.hpp"
#include "gradwalk/walk.hpp"
#include "no_grad.hpp"

namespace gradwalk::python {
namespace {

// The guards of the no_grad blocks that are active, innermost last.
std::vector<std::unique_ptr<NoGrad>>& guards() {
  static auto* const guards = new std::vector<std::unique_ptr<NoGrad>>;
  return *guards;
}

py::object parsed(const std::string& json) { return py::module_::import("json").attr("loads")(json); }

Language language(const std::string& wanted) {
  for (const Language known : {Language::cpp, Language::python, Language::pytorch})
    if (name(known) == wanted) return known;
  throw Error("to_code", "language 'cpp', 'python' or 'pytorch'", "'" + wanted + "'", "choose one of them");
}

const std::string with_table =
    "\n\n>>> p = [Value(float(i)) for i in range(6)]\n>>> table = LookupTable(p, columns=2)\n";

void bind_picks(py::module_& module) {
  py::class_<LookupTable> bound(
      module, "LookupTable",
      "Values in rows of the same length, to look up by the number of the row. A look-up takes constant time however "
      "large the table is. compile() reads the whole table, so keep it until then.\n\n>>> p = [Value(float(i)) for i "
      "in "
      "range(6)]\n>>> table = LookupTable(p, columns=2)\n>>> pick_row(table, 1)[0].data\n2.0");
  define_init(bound, "LookupTable(values, columns=1)",
              [](const Nodes& values, std::uint64_t columns) { return LookupTable(values.values, columns); });
  define(bound, "LookupTable.__len__(self)", "Returns the number of rows." + with_table + ">>> len(table)\n3",
         [](const LookupTable& self) { return self.rows(); });
  define(
      module, "pick(values, index)",
      "Returns a new node: the value with this index of a list, or of a LookupTable with one column.\n\nIt gets the "
      "gradient; the index gets none. The choice is recorded: recompute() and compiled programs choose again.\n\n>>> "
      "values, index = [Value(2.0), Value(3.0)], Value(1.0)\n>>> picked = pick(values, index)\n>>> "
      "picked.data\n3.0\n>>> index.data = 0\n>>> recompute(picked)\n>>> picked.data\n2.0",
      [](const py::object& values, const Value& index) {
        if (py::isinstance<LookupTable>(values)) return pick(py::cast<const LookupTable&>(values), index);
        return pick(to_nodes(values, {"pick", "values"}), index);
      });
  define(module, "pick_row(table, index)",
         "Returns a row of a LookupTable: a list with a new node per column." + with_table +
             ">>> [value.data for value in pick_row(table, 2)]\n[4.0, 5.0]",
         [](const LookupTable& table, const Value& index) { return pick_row(table, index); });
}

void bind_looking(py::module_& module) {
  define(module, "topological_order(root)",
         "Returns the nodes below the root, each once, inputs before the nodes that use them.\n\n>>> a = Value(2.0)\n"
         ">>> [node._op for node in topological_order(a * a + a)]\n['', '*', '+']",
         [](const Node& root) { return topological_order(root); });
  define(module, "recompute(root)",
         "Evaluates the graph again with the current data of its leaves.\n\n>>> a = Value(2.0)\n>>> b = a * a\n>>> "
         "a.data = 3\n>>> recompute(b)\n>>> b.data\n9.0",
         [](const Node& root) { recompute(root); });
  define(module, "find_nonfinite(root)",
         "Returns the first node that is infinite or NaN, with a message; None if all nodes are finite.\n\n>>> node, "
         "message = find_nonfinite(log(Value(0.0)) + 1)\n>>> node._op\n'log'",
         [](const Node& root) -> std::optional<std::pair<Value, std::string>> {
           std::optional<NonFinite> found = find_nonfinite(root);
           if (!found) return std::nullopt;
           return std::pair(found->node, found->message);
         });
  define(module, "custom(result, inputs, derivatives, name='custom')",
         "Makes a node with your own result and local derivatives, one derivative per input.\n\n>>> a = Value(3.0)\n"
         ">>> custom(9.0, [a], [6.0], 'square').backward()\n>>> a.grad\n6.0",
         [](double result, const std::vector<Value>& inputs, const Numbers& derivatives, const std::string& name) {
           return custom(result, inputs, derivatives, name);
         });
  define(module, "parse(text)",
         "Parses an expression such as 'a=2; b=-3; a*b + a'. Returns its root, and a dict of its names.\n\n>>> root, "
         "names = parse('a=2; b=-3; a*b + a')\n>>> root.data, names['b'].data\n(-4.0, -3.0)",
         [](const std::string& text) {
           Expression expression = parse(text);
           return std::pair(expression.root, py::dict(py::cast(expression.names)));
         });
  // gradwalk.no_grad is a context manager of these two.
  define(module, "_begin_no_grad()", "Stops recording.", [] {
    guards().push_back(std::make_unique<NoGrad>());
    ++no_grad_blocks;
  });
  define(module, "_end_no_grad()", "Ends the innermost block that stopped recording.", [] {
    if (guards().empty())
      throw Error("no_grad", "__enter__ before __exit__", "__exit__ alone", "write: with no_grad(): ...");
    guards().pop_back();
    --no_grad_blocks;
  });
}

void bind_derivatives(py::module_& module) {
  define(
      module, "gradient(f, x)",
      "Returns the gradient of f at x, in the form of x: a list, an array or a number.\n\nf takes Values in the same "
      "form, and returns one Value.\n\n>>> gradient(lambda x: x[0] ** 2 * x[1], [3.0, 5.0])\n[30.0, 9.0]\n>>> "
      "gradient(lambda x: x ** 3, 2.0)\n12.0",
      [](const py::function& f, const py::object& x) {
        const Form form(x, {"gradient", "x"});
        return form.result(gradient(scalar_function_of(f, form, "gradient"), form.numbers()));
      });
  define(module, "value_and_gradient(f, x)",
         "Returns the value of f at x and its gradient there, in the form of x.\n\n>>> value_and_gradient(lambda x: "
         "x[0] ** 2 * x[1], [3.0, 5.0])\n(45.0, [30.0, 9.0])",
         [](const py::function& f, const py::object& x) {
           const Form form(x, {"value_and_gradient", "x"});
           const auto [value, slopes] =
               value_and_gradient(scalar_function_of(f, form, "value_and_gradient"), form.numbers());
           return std::pair(value, form.result(slopes));
         });
  define(module, "derivatives(root, inputs)",
         "Returns the derivatives of root with respect to each input, as Values that can be differentiated again.\n\n"
         ">>> a = Value(3.0)\n>>> first, = derivatives(a ** 3, [a])\n>>> second, = derivatives(first, [a])\n>>> "
         "first.data, second.data\n(27.0, 18.0)",
         [](const Node& root, const Nodes& inputs) { return derivatives(root, inputs.values); });
  py::class_<GradientCheck> check(module, "GradientCheck",
                                  "The result of check_gradient(). It is true if the check passed.\n\n>>> "
                                  "bool(check_gradient(lambda x: x[0] ** 2, [3.0]))\nTrue");
  const std::string with_check = "\n\n>>> check = check_gradient(lambda x: x[0] ** 2, [3.0])\n>>> ";
  property(check, "ok", "Whether every coordinate is within the tolerance." + with_check + "check.ok\nTrue",
           [](const GradientCheck& self) { return self.ok; });
  property(check, "worst", "The index of the coordinate with the largest error." + with_check + "check.worst\n0",
           [](const GradientCheck& self) { return self.worst; });
  property(check, "gradient", "The gradient at the worst coordinate." + with_check + "check.gradient\n6.0",
           [](const GradientCheck& self) { return self.gradient; });
  property(check, "difference",
           "The central difference at the worst coordinate." + with_check + "abs(check.difference - 6) < 1e-6\nTrue",
           [](const GradientCheck& self) { return self.difference; });
  property(check, "error", "The relative error at the worst coordinate." + with_check + "check.error < 1e-6\nTrue",
           [](const GradientCheck& self) { return self.error; });
  property(check, "message", "The result in words." + with_check + "type(check.message)\n<class 'str'>",
           [](const GradientCheck& self) { return self.message; });
  define(check, "GradientCheck.__bool__(self)", "Whether the check passed.",
         [](const GradientCheck& self) { return self.ok; });
  define(check, "GradientCheck.__repr__(self)", "Returns the result in words.",
         [](const GradientCheck& self) { return self.message; });
  define(module, "check_gradient(f, x, tolerance=1e-06)",
         "Compares the gradient of f at x with central differences.\n\n>>> check_gradient(lambda x: x[0] ** 2, "
         "[3.0]).ok\nTrue",
         [](const py::function& f, const py::object& x, double tolerance) {
           const Form form(x, {"check_gradient", "x"});
           return check_gradient(scalar_function_of(f, form, "check_gradient"), form.numbers(), tolerance);
         });
}

void bind_pictures(py::module_& module) {
  py::class_<Snapshot>(module, "_Snapshot");
  define(module, "_snapshot(root, call)", "Returns the graph as plain data, for a drawing.",
         [](const py::object& root, const std::string& call) { return snapshot(to_node(root, {call, "root"})); });
  define(module, "_graph_json(root)", "Returns the graph as JSON.",
         [](const py::object& root) { return to_json(snapshot(to_node(root, {"show", "root"}))); });
  define(module, "draw_dot(root, *, digits=4, hide_constants=False, limit=400)",
         "Returns the drawing of the graph as DOT text, the language of Graphviz.\n\n>>> draw_dot(Value(1.0) + 2)[:7]\n"
         "'digraph'",
         [](const Node& root, int digits, bool hide_constants, std::uint64_t limit) {
           return draw_dot(root, {.digits = digits, .hide_constants = hide_constants, .limit = limit});
         });
  define(module, "walk(root, *, rule='right', rate=0.1)",
         "Returns the forward and backward pass step by step, as a dict that docs/walk-format.md describes.\n\n"
         "rule breaks a rule of the backward pass, such as 'overwrite'; rate is the learning rate of 'no-zeroing'.\n\n"
         ">>> len(walk(Value(1.0) + 2)['steps']) > 0\nTrue",
         [](const Node& root, const std::string& rule, double rate) {
           return parsed(to_json(Walk(root, {.rule = walk_rule(rule), .rate = rate})));
         });
  define(module, "explain(root, node, *, paths=" + std::to_string(default_paths) + ")",
         "Returns the deposits and paths that add up to a node's gradient, as a dict that docs/walk-format.md "
         "describes.\n\n>>> a = Value(3.0)\n>>> explain(a * a, a)['grad']\n6",
         [](const Node& root, const Node& node, std::uint64_t paths) {
           return parsed(to_json(explain(root, node, paths)));
         });
  define(
      module, "to_code(root, language='python')",
      "Returns a program that builds the graph, runs the backward pass and prints the gradients.\n\n"
      "language is 'cpp', 'python' or 'pytorch'.\n\n>>> 'backward()' in to_code(Value(1.0) + 2)\nTrue",
      [](const Node& root, const std::string& wanted) { return to_string(to_code(snapshot(root), language(wanted))); });
}

}  // namespace

void bind_graphs(py::module_& module) {
  py::register_exception_translator([](std::exception_ptr pending) {
    try {
      if (pending) std::rethrow_exception(pending);
    } catch (const Error& error) {
      raise_error(error);
    } catch (const std::bad_alloc&) {
      PyErr_NoMemory();
    } catch (const std::length_error&) {  // of a container that cannot be so large
      PyErr_NoMemory();
    }
  });
  bind_forms(module);
  bind_looking(module);
  bind_picks(module);
  bind_derivatives(module);
  bind_pictures(module);
}

}  // namespace gradwalk::python
