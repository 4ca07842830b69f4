// SPDX-License-Identifier: MIT
// minimize, fit and root of functions of the user's. Ctrl-C is honoured between iterations.
#include <pybind11/functional.h>

#include "bind.hpp"
#include "gradwalk/solve.hpp"

namespace gradwalk::python {
namespace {

using Values = std::vector<Value>;

// A list of numbers to start from, for functions of a list; or one number, for functions of one Value.
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
    Value made = start.call(f, inputs).cast<Value>();
    enter();
    return made;
  };
}

// What gives one Value gives a list of one.
VectorFunction vector_function(py::function f, const Start& start) {
  return [f = std::move(f), start](const Values& inputs) {
    const py::object result = start.call(f, inputs);
    Values made = is_value(result.ptr()) ? Values{result.cast<Value>()} : result.cast<Values>();
    enter();
    return made;
  };
}

Progress honouring_signals(Progress told) {
  return [told = std::move(told)](std::size_t iteration, double value) {
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    if (told) told(iteration, value);
    enter();
  };
}

Method method(const std::string& name) {
  if (name == "lbfgs") return Method::lbfgs;
  if (name == "bfgs") return Method::bfgs;
  if (name == "newton") return Method::newton;
  if (name == "gradient_descent") return Method::gradient_descent;
  throw Error("minimize", "lbfgs, bfgs, newton or gradient_descent", name, "choose one");
}

// A result with x as it was asked for: a number, or a list.
template <class Result> struct Found {
  Result result;
  py::object x;
};

template <class Result> Found<Result> found(Result result, const Start& start) {
  py::object x = start.result(result.x);
  return {std::move(result), std::move(x)};
}

// What all three methods take.
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
      .def_readonly("x", &Self::x)
      .def_property_readonly("stop", [](const Self& self) { return std::string(gradwalk::name(self.result.stop)); })
      .def_property_readonly("converged", [](const Self& self) { return self.result.converged(); })
      .def_property_readonly("iterations", [](const Self& self) { return self.result.iterations; })
      .def_property_readonly("evaluations", [](const Self& self) { return self.result.evaluations; })
      .def_property_readonly("recordings", [](const Self& self) { return self.result.recordings; })
      .def_property_readonly("compiled", [](const Self& self) { return self.result.compiled; })
      .def_property_readonly("not_compiled", [](const Self& self) { return self.result.not_compiled; })
      .def("__repr__", [name](const Self& self) {
        return std::string("<") + name + " x=" + std::string(py::repr(self.x)) + ", " + self.result.summary() + ">";
      });
}

void bind_minimize(py::module_& module) {
  using Self = Found<Minimum>;
  bind_ending<Minimum>(module, "Minimum", "What minimize() found, and how.")
      .def_property_readonly("value", [](const Self& self) { return self.result.value; })
      .def_property_readonly("gradient", [](const Self& self) { return self.result.gradient; });
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
      "Where f, a function of a list of Values or of one, is least near the start (docs/solve.md). progress is called "
      "with each iteration's number and value.\n\n>>> best = minimize(lambda x: (x[0] - 3) ** 2 + (x[1] + 1) ** 2, "
      "[0.0, 0.0])\n>>> best.stop, [f\"{v:.4f}\" for v in best.x]\n('converged on gradient', ['3.0000', '-1.0000'])");
}

void bind_fit(py::module_& module) {
  using Self = Found<Fit>;
  bind_ending<Fit>(module, "Fit", "What fit() found, how, and how well it is known.")
      .def_property_readonly("residuals", [](const Self& self) { return self.result.residuals; })
      .def_property_readonly("sum_of_squares", [](const Self& self) { return self.result.sum_of_squares; })
      .def_property_readonly("deviation", [](const Self& self) { return self.result.deviation; })
      .def_property_readonly("covariance", [](const Self& self) { return self.result.covariance; })
      .def_property_readonly("standard_errors", [](const Self& self) { return self.result.standard_errors; })
      .def_property_readonly("rank", [](const Self& self) { return self.result.rank; });
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
      "The parameters for which the sum of the residuals' squares is least, with their standard errors.\n\n>>> points "
      "= [(0, 1.0), (1, 3.1), (2, 4.9), (3, 7.0)]\n>>> line = fit(lambda p: [p[0] + p[1] * x - y for x, y in points], "
      "[0.0, 0.0])\n>>> [f\"{v:.2f}\" for v in line.x + line.standard_errors]\n['1.03', '1.98', '0.08', '0.04']");
}

void bind_root(py::module_& module) {
  using Self = Found<Root>;
  bind_ending<Root>(module, "Root", "What root() found, and how.")
      .def_property_readonly("values", [](const Self& self) { return self.result.values; });
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
      "Where f, which gives a Value or as many as there are parameters, is 0.\n\n>>> root(lambda x: x * x - 2, "
      "1.0).x\n1.4142135623730951");
}

}  // namespace

void bind_solve(py::module_& module) {
  bind_minimize(module);
  bind_fit(module);
  bind_root(module);
}

}  // namespace gradwalk::python
