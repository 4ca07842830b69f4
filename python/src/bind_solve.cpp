// SPDX-License-Identifier: MIT
// Bindings of minimize, fit and root, for gradwalk/_solve.py. Ctrl-C stops them between iterations.
#include <pybind11/functional.h>
#include <pybind11/numpy.h>

#include "bind.hpp"
#include "gradwalk/solve.hpp"

namespace gradwalk::python {
namespace {

using Values = std::vector<Value>;

// Python functions as C++ functions. gradwalk/_solve.py gives them a list of Values and takes a Value or a list.
Value value_of(const py::object& returned, const char* call) {
  if (is_value(returned.ptr())) return value_in(returned.ptr());
  if (is_condition(returned.ptr())) return Value(condition_in(returned.ptr()));
  double number = 0;
  if (to_number(returned.ptr(), number) != Conversion::done) {
    PyErr_Clear();
    throw_type_error(call, "a function that returns Values", returned.ptr(), "return a Value, or a list of Values");
  }
  return Value(number);
}

Values values_of(const py::object& returned, const char* call) {
  if (PyList_Check(returned.ptr()) == 0) return {value_of(returned, call)};
  Values values;
  for (const py::handle item : returned) values.push_back(value_of(py::reinterpret_borrow<py::object>(item), call));
  return values;
}

ScalarFunction scalar_function(py::function f, const char* call) {
  return [f = std::move(f), call](const Values& inputs) {
    const py::object returned = f(py::cast(inputs));
    enter();
    return value_of(returned, call);
  };
}

VectorFunction vector_function(py::function f, const char* call) {
  return [f = std::move(f), call](const Values& inputs) {
    const py::object returned = f(py::cast(inputs));
    enter();
    return values_of(returned, call);
  };
}

RowResiduals row_function(py::function f, const char* call) {
  return [f = std::move(f), call](const Values& parameters, const Values& row) {
    const py::object returned = f(py::cast(parameters), py::cast(row));
    enter();
    return values_of(returned, call);
  };
}

RowLoss row_loss(py::function f, const char* call) {
  return [f = std::move(f), call](const Values& parameters, const Values& row) {
    const py::object returned = f(py::cast(parameters), py::cast(row));
    enter();
    return value_of(returned, call);
  };
}

// Rows for the row forms: an array of two dimensions.
using Table = py::array_t<double, py::array::c_style | py::array::forcecast>;

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

// A result in the form of the start: x is a number, a list or an array, and so are the other numbers.
template <class Result> struct Found {
  Result result;
  py::object form;  // gradwalk._forms.Form

  py::object x() const { return form.attr("result")(result.x); }
  // Returns numbers as a list, or as an array if the start or the rows were one.
  py::object list(const Numbers& numbers) const {
    if (!form.attr("is_array").cast<bool>()) return py::cast(numbers);
    return py::array_t<double>(static_cast<py::ssize_t>(numbers.size()), numbers.data());
  }
  py::object matrix(const std::vector<Numbers>& rows) const {
    if (!form.attr("is_array").cast<bool>()) return py::cast(rows);
    return py::module_::import("numpy").attr("array")(rows);
  }
};

template <class Result> Found<Result> found(Result result, const py::object& form) { return {std::move(result), form}; }

// Sets the options that minimize, fit and root share.
template <class Options> void set(Options& options, std::size_t iterations, double step_tolerance,
                                  double value_tolerance, bool compile, Progress progress) {
  options.iterations = iterations;
  options.step_tolerance = step_tolerance;
  options.value_tolerance = value_tolerance;
  options.compile = compile;
  options.progress = honouring_signals(std::move(progress));
}

// Binds a property that returns Get of the result.
template <class Class, class Get> void property(Class& bound, const char* name, Get get, const char* text) {
  using Self = typename Class::type;
  bound.def_property_readonly(
      name,
      [get](const Self& self) {
        if constexpr (std::is_invocable_v<Get, const Self&>)
          return get(self);
        else
          return get(self.result);
      },
      text);
}

template <class Result> py::class_<Found<Result>> bind_ending(py::module_& module, const char* name, const char* text) {
  using Self = Found<Result>;
  py::class_<Self> bound(module, name, text);
  bound.def_property_readonly("x", &Self::x, "The solution, in the form of the start: a number, a list or an array.");
  property(
      bound, "stop", [](const Result& r) { return std::string(gradwalk::name(r.stop)); },
      "Why the iterations stopped.");
  for (const char* same : {"converged", "success"})
    property(bound, same, [](const Result& r) { return r.converged(); }, "Whether a tolerance was reached.");
  for (const char* same : {"iterations", "nit"})
    property(bound, same, [](const Result& r) { return r.iterations; }, "The number of iterations.");
  for (const char* same : {"evaluations", "nfev"})
    property(bound, same, [](const Result& r) { return r.evaluations; }, "The number of points evaluated.");
  property(bound, "message", [](const Result& r) { return r.summary(); }, "How the search ended, in one line.");
  property(
      bound, "recordings", [](const Result& r) { return r.recordings; },
      "How often the Python function was called to record a graph.");
  property(bound, "compiled", [](const Result& r) { return r.compiled; }, "Whether a compiled program was used.");
  property(
      bound, "not_compiled", [](const Result& r) { return r.not_compiled; },
      "Why the function was not compiled, or ''.");
  bound.def("__repr__", [name](const Self& self) {
    return std::string("<") + name + " x=" + std::string(py::str(self.x())) + ", " + self.result.summary() + ">";
  });
  return bound;
}

void bind_minimize(py::module_& module) {
  auto bound = bind_ending<Minimum>(module, "Minimum", "The result of minimize().");
  for (const char* same : {"value", "fun"})
    property(bound, same, [](const Minimum& r) { return r.value; }, "The value of the function at x.");
  for (const char* same : {"gradient", "jac"})
    property(
        bound, same, [](const Found<Minimum>& f) { return f.form.attr("result")(f.result.gradient); },
        "The gradient at x.");
  module.def(
      "_minimize",
      [](py::function f, const std::optional<Table>& rows, const Numbers& start, const py::object& form,
         const std::string& by, std::size_t iterations, double gradient_tolerance, double step_tolerance,
         double value_tolerance, Numbers lower, Numbers upper, bool compile, Progress progress) {
        MinimizeOptions options;
        options.method = method(by);
        set(options, iterations, step_tolerance, value_tolerance, compile, std::move(progress));
        options.gradient_tolerance = gradient_tolerance;
        options.lower = std::move(lower);
        options.upper = std::move(upper);
        if (!rows) return found(minimize(scalar_function(std::move(f), "minimize"), start, options), form);
        const Rows over({rows->data(), static_cast<std::size_t>(rows->size())},
                        static_cast<std::size_t>(rows->shape(1)));
        return found(minimize(row_loss(std::move(f), "minimize"), over, start, options), form);
      },
      py::call_guard<Entered>());
}

void bind_fit(py::module_& module) {
  auto bound = bind_ending<Fit>(module, "Fit", "The result of fit(), with the uncertainty of the parameters.");
  for (const char* same : {"residuals", "fun"})
    property(bound, same, [](const Found<Fit>& f) { return f.list(f.result.residuals); }, "The residuals at x.");
  property(bound, "sum_of_squares", [](const Fit& r) { return r.sum_of_squares; }, "The sum of the squared residuals.");
  property(
      bound, "deviation", [](const Fit& r) { return r.deviation; },
      "The standard deviation of a residual; 1 with known_errors.");
  property(
      bound, "covariance", [](const Found<Fit>& f) { return f.matrix(f.result.covariance); },
      "The covariance matrix of the parameters, to first order.");
  property(
      bound, "standard_errors", [](const Found<Fit>& f) { return f.form.attr("result")(f.result.standard_errors); },
      "The standard error of each parameter; infinite if the residuals do not determine it.");
  property(
      bound, "rank", [](const Fit& r) { return r.rank; },
      "The rank of the Jacobian. If it is less than the number of parameters, some are not determined.");
  module.def(
      "_fit",
      [](py::function f, const std::optional<Table>& rows, const Numbers& start, const py::object& form,
         std::size_t iterations, double gradient_tolerance, double step_tolerance, double value_tolerance,
         Numbers lower, Numbers upper, bool known_errors, bool compile, Progress progress) {
        FitOptions options;
        set(options, iterations, step_tolerance, value_tolerance, compile, std::move(progress));
        options.gradient_tolerance = gradient_tolerance;
        options.known_errors = known_errors;
        options.lower = std::move(lower);
        options.upper = std::move(upper);
        if (!rows) return found(fit(vector_function(std::move(f), "fit"), start, options), form);
        const Rows over({rows->data(), static_cast<std::size_t>(rows->size())},
                        static_cast<std::size_t>(rows->shape(1)));
        return found(fit(row_function(std::move(f), "fit"), over, start, options), form);
      },
      py::call_guard<Entered>());
}

void bind_root(py::module_& module) {
  auto bound = bind_ending<Root>(module, "Root", "The result of root().");
  for (const char* same : {"values", "fun"})
    property(
        bound, same, [](const Found<Root>& f) { return f.list(f.result.values); }, "The values of the function at x.");
  module.def(
      "_root",
      [](py::function f, const Numbers& start, const py::object& form, std::size_t iterations, double value_tolerance,
         double step_tolerance, bool compile, Progress progress) {
        RootOptions options;
        set(options, iterations, step_tolerance, value_tolerance, compile, std::move(progress));
        return found(root(vector_function(std::move(f), "root"), start, options), form);
      },
      py::call_guard<Entered>());
}

// A function that _derivatives.py calls at many points. The counter of numbers that were read shows whether the
// function used a number of the graph, such as x.data: then its graph may differ at other points.
void bind_differentiator(py::module_& module) {
  py::class_<Differentiator>(module, "_Differentiator")
      .def(py::init([](py::function f) { return Differentiator(vector_function(std::move(f), "derivative")); }))
      .def(
          "value_and_gradient", [](Differentiator& d, const Numbers& x) { return d.value_and_gradient(x); },
          py::call_guard<Entered>())
      .def(
          "values", [](Differentiator& d, const Numbers& x) { return d.values(x); }, py::call_guard<Entered>())
      .def(
          "jacobian", [](Differentiator& d, const Numbers& x) { return d.jacobian(x); }, py::call_guard<Entered>())
      .def(
          "hessian", [](Differentiator& d, const Numbers& x) { return d.hessian(x); }, py::call_guard<Entered>())
      .def(
          "jvp", [](Differentiator& d, const Numbers& x, const Numbers& v) { return d.jacobian_vector_product(x, v); },
          py::call_guard<Entered>())
      .def(
          "hvp", [](Differentiator& d, const Numbers& x, const Numbers& v) { return d.hessian_vector_product(x, v); },
          py::call_guard<Entered>())
      .def("forget", &Differentiator::forget, py::call_guard<Entered>())
      .def("never_compile", &Differentiator::never_compile, py::call_guard<Entered>())
      .def_property_readonly("compiled", &Differentiator::compiled)
      .def_property_readonly("not_compiled", &Differentiator::not_compiled);
  module.def("_numbers_read", [] { return numbers_read; });
}

}  // namespace

void bind_solve(py::module_& module) {
  bind_minimize(module);
  bind_fit(module);
  bind_root(module);
  bind_differentiator(module);
}

}  // namespace gradwalk::python
