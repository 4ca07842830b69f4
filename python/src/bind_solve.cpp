// SPDX-License-Identifier: MIT
// Bindings of minimize, fit and root, for Python functions. Ctrl-C stops them between iterations.
#include <pybind11/functional.h>

#include "bind.hpp"
#include "gradwalk/solve.hpp"

namespace gradwalk::python {
namespace {

using Values = std::vector<Value>;

// Where to start: a list of numbers for a function of a list, or one number for a function of one Value.
struct Start {
  Numbers numbers;
  bool is_one = false;

  explicit Start(const py::object& given) : is_one(PySequence_Check(given.ptr()) == 0) {
    numbers = is_one ? Numbers{given.cast<double>()} : given.cast<Numbers>();
  }
  py::object call(const py::function& f, const Values& inputs) const {
    return is_one ? f(py::cast(inputs[0])) : f(py::cast(inputs));
  }
  py::object result(const Numbers& x) const { return is_one ? py::cast(x[0]) : py::cast(x); }
};

ScalarFunction scalar_function(py::function f, const Start& start) {
  return [f = std::move(f), start](const Values& inputs) {
    Value result = start.call(f, inputs).cast<Value>();
    enter();
    return result;
  };
}

// A function that returns a single Value counts as a function that returns a list of one Value.
VectorFunction vector_function(py::function f, const Start& start) {
  return [f = std::move(f), start](const Values& inputs) {
    const py::object returned = start.call(f, inputs);
    Values result = is_value(returned.ptr()) ? Values{returned.cast<Value>()} : returned.cast<Values>();
    enter();
    return result;
  };
}

// Checks for signals, such as Ctrl-C, before each call of the user's progress function.
Progress honouring_signals(Progress progress) {
  return [progress = std::move(progress)](std::size_t iteration, double value) {
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    if (progress) progress(iteration, value);
    enter();
  };
}

Method method(const std::string& name) {
  if (name == "lbfgs") return Method::lbfgs;
  if (name == "bfgs") return Method::bfgs;
  if (name == "newton") return Method::newton;
  if (name == "gradient_descent") return Method::gradient_descent;
  throw Error("minimize", "method 'lbfgs', 'bfgs', 'newton' or 'gradient_descent'", "'" + name + "'",
              "choose one of them");
}

// A result whose x has the form of the start: a number or a list.
template <class Result> struct Found {
  Result result;
  py::object x;
};

template <class Result> Found<Result> found(Result result, const Start& start) {
  py::object x = start.result(result.x);
  return {std::move(result), std::move(x)};
}

// Sets the options that minimize, fit and root share.
template <class Options> void set(Options& options, std::size_t iterations, double step_tolerance,
                                  double value_tolerance, bool compile, Progress progress) {
  options.iterations = iterations;
  options.step_tolerance = step_tolerance;
  options.value_tolerance = value_tolerance;
  options.compile = compile;
  options.progress = honouring_signals(std::move(progress));
}

template <class Result> py::class_<Found<Result>> bind_ending(py::module_& module, const char* name, const char* text) {
  using Self = Found<Result>;
  return py::class_<Self>(module, name, text)
      .def_readonly("x", &Self::x, "The solution: a number, or a list if the start was a list.")
      .def_property_readonly(
          "stop", [](const Self& self) { return std::string(gradwalk::name(self.result.stop)); },
          "Why the iterations stopped.")
      .def_property_readonly(
          "converged", [](const Self& self) { return self.result.converged(); }, "Whether a tolerance was reached.")
      .def_property_readonly(
          "iterations", [](const Self& self) { return self.result.iterations; }, "The number of iterations.")
      .def_property_readonly(
          "evaluations", [](const Self& self) { return self.result.evaluations; },
          "How often the function was evaluated.")
      .def_property_readonly(
          "recordings", [](const Self& self) { return self.result.recordings; },
          "How often the Python function was called to record a graph.")
      .def_property_readonly(
          "compiled", [](const Self& self) { return self.result.compiled; }, "Whether a compiled program was used.")
      .def_property_readonly(
          "not_compiled", [](const Self& self) { return self.result.not_compiled; },
          "Why the function was not compiled, or ''.")
      .def("__repr__", [name](const Self& self) {
        return std::string("<") + name + " x=" + std::string(py::repr(self.x)) + ", " + self.result.summary() + ">";
      });
}

void bind_minimize(py::module_& module) {
  using Self = Found<Minimum>;
  bind_ending<Minimum>(module, "Minimum", "The result of minimize().")
      .def_property_readonly(
          "value", [](const Self& self) { return self.result.value; }, "The value of the function at x.")
      .def_property_readonly("gradient", [](const Self& self) { return self.result.gradient; }, "The gradient at x.");
  module.def(
      "minimize",
      [](py::function f, const py::object& from, const std::string& by, std::size_t iterations,
         double gradient_tolerance, double step_tolerance, double value_tolerance, bool compile, Progress progress) {
        const Start start(from);
        MinimizeOptions options;
        options.method = method(by);
        set(options, iterations, step_tolerance, value_tolerance, compile, std::move(progress));
        options.gradient_tolerance = gradient_tolerance;
        return found(minimize(scalar_function(std::move(f), start), start.numbers, options), start);
      },
      py::arg("f"), py::arg("start"), py::kw_only(), py::arg("method") = "lbfgs",
      py::arg("iterations") = MinimizeOptions{}.iterations,
      py::arg("gradient_tolerance") = MinimizeOptions{}.gradient_tolerance,
      py::arg("step_tolerance") = MinimizeOptions{}.step_tolerance,
      py::arg("value_tolerance") = MinimizeOptions{}.value_tolerance, py::arg("compile") = true,
      py::arg("progress") = Progress{}, py::call_guard<Entered>(),
      "Finds a local minimum of f near the start (docs/solve.md).\n\nf takes a list of Values, or one Value if the "
      "start is a number. method is 'lbfgs', 'bfgs', 'newton' or 'gradient_descent'. progress is called with the "
      "number and the value of each iteration.\n\n>>> best = minimize(lambda x: (x[0] - 3) ** 2 + (x[1] + 1) ** 2, "
      "[0.0, 0.0])\n>>> best.stop, [f\"{v:.4f}\" for v in best.x]\n('converged on gradient', ['3.0000', '-1.0000'])");
}

void bind_fit(py::module_& module) {
  using Self = Found<Fit>;
  bind_ending<Fit>(module, "Fit", "The result of fit(), with the uncertainty of the parameters.")
      .def_property_readonly(
          "residuals", [](const Self& self) { return self.result.residuals; }, "The residuals at x.")
      .def_property_readonly(
          "sum_of_squares", [](const Self& self) { return self.result.sum_of_squares; },
          "The sum of the squared residuals.")
      .def_property_readonly(
          "deviation", [](const Self& self) { return self.result.deviation; },
          "The standard deviation of a residual; 1 with known_errors.")
      .def_property_readonly(
          "covariance", [](const Self& self) { return self.result.covariance; },
          "The covariance matrix of the parameters, to first order.")
      .def_property_readonly(
          "standard_errors", [](const Self& self) { return self.result.standard_errors; },
          "The standard error of each parameter; infinite if the residuals do not determine it.")
      .def_property_readonly(
          "rank", [](const Self& self) { return self.result.rank; },
          "The rank of the Jacobian. If it is less than the number of parameters, some are not determined.");
  module.def(
      "fit",
      [](py::function f, const py::object& from, std::size_t iterations, double gradient_tolerance,
         double step_tolerance, double value_tolerance, bool known_errors, bool compile, Progress progress) {
        const Start start(from);
        FitOptions options;
        set(options, iterations, step_tolerance, value_tolerance, compile, std::move(progress));
        options.gradient_tolerance = gradient_tolerance;
        options.known_errors = known_errors;
        return found(fit(vector_function(std::move(f), start), start.numbers, options), start);
      },
      py::arg("residuals"), py::arg("start"), py::kw_only(), py::arg("iterations") = FitOptions{}.iterations,
      py::arg("gradient_tolerance") = FitOptions{}.gradient_tolerance,
      py::arg("step_tolerance") = FitOptions{}.step_tolerance,
      py::arg("value_tolerance") = FitOptions{}.value_tolerance, py::arg("known_errors") = false,
      py::arg("compile") = true, py::arg("progress") = Progress{}, py::call_guard<Entered>(),
      "Finds the parameters with the least sum of squared residuals, and their standard errors.\n\nWith known_errors "
      "the residuals are in units of their standard deviation.\n\n>>> points "
      "= [(0, 1.0), (1, 3.1), (2, 4.9), (3, 7.0)]\n>>> line = fit(lambda p: [p[0] + p[1] * x - y for x, y in points], "
      "[0.0, 0.0])\n>>> [f\"{v:.2f}\" for v in line.x + line.standard_errors]\n['1.03', '1.98', '0.08', '0.04']");
}

void bind_root(py::module_& module) {
  using Self = Found<Root>;
  bind_ending<Root>(module, "Root", "The result of root().")
      .def_property_readonly(
          "values", [](const Self& self) { return self.result.values; }, "The values of the function at x.");
  module.def(
      "root",
      [](py::function f, const py::object& from, std::size_t iterations, double value_tolerance, double step_tolerance,
         bool compile, Progress progress) {
        const Start start(from);
        RootOptions options;
        set(options, iterations, step_tolerance, value_tolerance, compile, std::move(progress));
        return found(root(vector_function(std::move(f), start), start.numbers, options), start);
      },
      py::arg("f"), py::arg("start"), py::kw_only(), py::arg("iterations") = RootOptions{}.iterations,
      py::arg("value_tolerance") = RootOptions{}.value_tolerance,
      py::arg("step_tolerance") = RootOptions{}.step_tolerance, py::arg("compile") = true,
      py::arg("progress") = Progress{}, py::call_guard<Entered>(),
      "Finds where f is 0. f returns one Value, or a list of as many Values as there are parameters.\n\n>>> "
      "root(lambda x: x * x - 2, "
      "1.0).x\n1.4142135623730951");
}

}  // namespace

void bind_solve(py::module_& module) {
  bind_minimize(module);
  bind_fit(module);
  bind_root(module);
}

}  // namespace gradwalk::python
