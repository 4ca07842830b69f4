// SPDX-License-Identifier: MIT
// Bindings of minimize, fit and root, and of functions that are differentiated at many points. Ctrl-C stops a solver
// between iterations.
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "convert.hpp"
#include "gradwalk/solve.hpp"

namespace gradwalk::python {
namespace {

using Values = std::vector<Value>;

// Calls the user's function after each iteration. Checks for signals, such as Ctrl-C, before.
Progress progress_of(const py::object& progress, const char* call) {
  py::object function = progress.is_none() ? progress : to_function(progress, {call, "progress"});
  return [function = std::move(function)](std::size_t iteration, double value) {
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    if (!function.is_none()) function(iteration, value);
    enter();
  };
}

// The arguments of a solver: solve(f, start), or solve(f, rows, start). Further arguments of f are `args`.
struct Problem {
  Problem(const char* name, const py::function& function, py::object rows, py::object start, const py::object& args)
      : call(name), f(function), more(as_tuple(args)) {
    if (start.is_none()) std::swap(rows, start);
    if (start.is_none())
      throw py::type_error(std::string(call) +
                           ": needs a start, got none; give a number to start from for each parameter");
    form.emplace(start, Place{call, "start"});
    has_arrays = form->is_array();
    if (rows.is_none()) return;
    table = to_array(rows, {call, "rows"});
    if (table->ndim() < 1 || table->ndim() > 2 || table->size() == 0)
      throw Error(call, "rows as an array of one or two dimensions", described(*table), "give one row per sample");
    row_form = Form::of_row(rows, *table);
    has_arrays = has_arrays || is_array(rows);
  }

  ScalarFunction scalar() const { return scalar_function_of(f, *form, call, more); }
  VectorFunction vector() const { return vector_function_of(f, *form, call, more); }
  py::object of_row(const Values& parameters, const Values& row) const {
    return f(form->inputs(parameters), row_form->inputs(row), *more);
  }
  Rows rows() const { return {numbers_in(*table), static_cast<std::size_t>(table->ndim() == 1 ? 1 : table->shape(1))}; }

  const char* call;
  py::function f;
  py::tuple more;
  std::optional<Form> form, row_form;
  std::optional<Array> table;
  bool has_arrays = false;  // then residuals and matrices are arrays, too

 private:
  static py::tuple as_tuple(const py::object& args) {
    return PyTuple_Check(args.ptr()) != 0 || PyList_Check(args.ptr()) != 0 ? py::tuple(args) : py::make_tuple(args);
  }
};

// The bounds of the parameters: pairs such as [(0, None), (-1, 1)], or an object with lb and ub, as SciPy's.
class Bounds {
 public:
  Numbers lower, upper;

  Bounds(const py::object& bounds, const Form& form, const char* call) {
    constexpr const char* needs = "one pair (low, high) per parameter";
    const std::size_t count = form.numbers().size();
    if (bounds.is_none()) return;
    if (py::hasattr(bounds, "lb") && py::hasattr(bounds, "ub")) {
      lower = side(bounds.attr("lb"), count, call);
      upper = side(bounds.attr("ub"), count, call);
      return;
    }
    std::vector<py::object> pairs = to_items(bounds, {call, "bounds"}, needs);
    if (form.is_one() && pairs.size() == 2 && !has_items(pairs[0]) && !has_items(pairs[1])) pairs = {bounds};
    for (const py::object& pair : pairs) {
      if (!has_items(pair)) refuse({call, "bounds"}, needs, pair, "write None where there is no bound");
      const std::vector<py::object> ends = to_items(pair, {call, "bounds"}, needs);
      if (ends.size() != 2) refuse({call, "bounds"}, needs, pair, "write None where there is no bound");
      lower.push_back(ends[0].is_none() ? -infinity : to_double(ends[0], {call, "bounds"}));
      upper.push_back(ends[1].is_none() ? infinity : to_double(ends[1], {call, "bounds"}));
    }
    if (pairs.size() != count)
      throw Error(call, "one pair of bounds per parameter: " + std::to_string(count), std::to_string(pairs.size()),
                  "write (None, None) where there are no bounds");
  }

 private:
  static constexpr double infinity = std::numeric_limits<double>::infinity();
  static bool has_items(const py::object& object) {
    return PySequence_Check(object.ptr()) != 0 && PyUnicode_Check(object.ptr()) == 0;
  }
  static Numbers side(const py::object& bound, std::size_t count, const char* call) {
    if (has_items(bound)) return to_numbers(bound, {call, "bounds"});
    return Numbers(count, to_double(bound, {call, "bounds"}));
  }
};

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
  Form form;
  bool has_arrays;
};
template <class Result> Found<Result> found(Result result, const Problem& problem) {
  return {std::move(result), *problem.form, problem.has_arrays};
}

// Sets the options that minimize, fit and root share.
template <class Options> void set(Options& options, const char* call, std::uint64_t iterations, double step_tolerance,
                                  double value_tolerance, bool compile, const py::object& progress) {
  options.iterations = iterations;
  options.step_tolerance = step_tolerance;
  options.value_tolerance = value_tolerance;
  options.compile = compile;
  options.progress = progress_of(progress, call);
}

// Binds a property of a result, under one name or two. In the example, {} stands for the name.
template <class Result, class Get> void result_property(py::class_<Found<Result>>& bound,
                                                        std::initializer_list<const char*> names,
                                                        const std::string& text, const std::string& example, Get get) {
  static const std::string call = std::is_same_v<Result, Minimum> ? "minimize(lambda x: (x - 3) ** 2 + 1, 0.0)"
                                  : std::is_same_v<Result, Fit>   ? "fit(lambda p: [p[0] - 1, p[0] - 3], [0.0])"
                                                                  : "root(lambda x: x - 1, 0.0)";
  for (const char* const name : names) {
    std::string shown = text + "\n\n>>> found = " + call + "\n>>> " + example;
    shown.replace(shown.find("{}"), 2, name);
    property(bound, name, shown, [get](const Found<Result>& self) {
      if constexpr (std::is_invocable_v<Get, const Found<Result>&>)
        return get(self);
      else
        return get(self.result);
    });
  }
}

template <class Result> py::class_<Found<Result>> bind_ending(py::module_& module, const char* name, const char* text) {
  py::class_<Found<Result>> bound(module, name, text);
  result_property(bound, {"x"}, "The solution, in the form of the start: a number, a list or an array.",
                  "type(found.{}).__name__ in ('float', 'list')\nTrue",
                  [](const Found<Result>& self) { return self.form.result(self.result.x); });
  result_property(bound, {"stop"}, "Why the iterations stopped.", "found.{}.startswith('converged')\nTrue",
                  [](const Result& r) { return std::string(gradwalk::name(r.stop)); });
  result_property(bound, {"converged", "success"}, "Whether a tolerance was reached.", "found.{}\nTrue",
                  [](const Result& r) { return r.converged(); });
  result_property(bound, {"iterations", "nit"}, "The number of iterations.", "found.{} > 0\nTrue",
                  [](const Result& r) { return r.iterations; });
  result_property(bound, {"evaluations", "nfev"}, "The number of points evaluated.", "found.{} > 0\nTrue",
                  [](const Result& r) { return r.evaluations; });
  result_property(bound, {"message"}, "How the search ended, in one line.", "found.{}.split()[0]\n'converged'",
                  [](const Result& r) { return r.summary(); });
  result_property(bound, {"recordings"}, "How often the Python function was called to record a graph.",
                  "found.{} > 0\nTrue", [](const Result& r) { return r.recordings; });
  result_property(bound, {"compiled"}, "Whether a compiled program was used.", "type(found.{})\n<class 'bool'>",
                  [](const Result& r) { return r.compiled; });
  result_property(bound, {"not_compiled"}, "Why the function was not compiled, or ''.", "type(found.{})\n<class 'str'>",
                  [](const Result& r) { return in_python(r.not_compiled); });
  define(bound, std::string(name) + ".__repr__(self)", "Returns the solution and how the search ended.",
         [name = std::string(name)](const Found<Result>& self) {
           return "<" + name + " x=" + std::string(py::str(self.form.result(self.result.x))) + ", " +
                  self.result.summary() + ">";
         });
  return bound;
}

constexpr const char* about_minimize =
    "Finds a local minimum near the start: minimize(f, start), or minimize(loss_of_one_row, rows, start).\n\nf takes "
    "the parameters in the form of the start: one Value for a number, a list for a list, an array for an array. The "
    "row form minimizes the sum of f(parameters, row) over the rows. It calls f on a few rows and compiles it. Both "
    "pass args on. bounds has a pair (low, high) per parameter; tol sets the tolerances of gradient and value. method "
    "is 'lbfgs', 'bfgs', 'newton' or 'gradient_descent'. progress is called with the number and the value of each "
    "iteration.\n\n>>> best = minimize(lambda x: (x[0] - 3) ** 2 + (x[1] + 1) ** 2, [0.0, 0.0])\n>>> best.stop, "
    "[f\"{v:.4f}\" for v in best.x]\n('converged on gradient', ['3.0000', '-1.0000'])\n>>> f\"{minimize(lambda centre, "
    "x: abs(x - centre) ** 1.5, [1.0, 2.0, 9.0], 0.0).x:.4f}\"\n'3.0335'";

void bind_minimize(py::module_& module) {
  auto bound = bind_ending<Minimum>(module, "Minimum",
                                    "The result of minimize().\n\n>>> minimize(lambda x: (x - 3) ** 2, 0.0).success\n"
                                    "True");
  result_property(bound, {"value", "fun"}, "The value of the function at x.", "found.{}\n1.0",
                  [](const Minimum& r) { return r.value; });
  result_property(bound, {"gradient", "jac"}, "The gradient at x.", "abs(found.{}) < 1e-9\nTrue",
                  [](const Found<Minimum>& self) { return self.form.result(self.result.gradient); });
  define(module,
         "minimize(f, rows=None, start=None, *, method='lbfgs', args=(), bounds=None, tol=None, iterations=1000, "
         "gradient_tolerance=1e-10, step_tolerance=0.0, value_tolerance=0.0, compile=True, progress=None)",
         about_minimize,
         [](const py::function& f, const py::object& rows, const py::object& start, const std::string& by,
            const py::object& args, const py::object& bounds, const std::optional<double>& tol,
            std::uint64_t iterations, double gradient_tolerance, double step_tolerance, double value_tolerance,
            bool compile, const py::object& progress) {
           constexpr const char* call = "minimize";
           const Problem problem(call, f, rows, start, args);
           Bounds box(bounds, *problem.form, call);
           MinimizeOptions options;
           options.method = method(by);
           set(options, call, iterations, step_tolerance, tol.value_or(value_tolerance), compile, progress);
           options.gradient_tolerance = tol.value_or(gradient_tolerance);
           options.lower = std::move(box.lower);
           options.upper = std::move(box.upper);
           enter();
           if (!problem.table) return found(minimize(problem.scalar(), problem.form->numbers(), options), problem);
           const RowLoss loss = [&](const Values& parameters, const Values& row) {
             return returned_value(problem.of_row(parameters, row), call);
           };
           return found(minimize(loss, problem.rows(), problem.form->numbers(), options), problem);
         });
}

constexpr const char* about_fit =
    "Finds the parameters with the least sum of squared residuals, and their standard errors.\n\nfit(residuals, start) "
    "takes a function that returns all residuals. fit(residual_of_one_row, rows, start) takes a function of the "
    "parameters and one row, which returns one residual or several; it is called on a few rows and compiled. With "
    "known_errors, the residuals are in units of their standard deviation. bounds has a pair (low, high) per "
    "parameter; tol sets all tolerances.\n\n>>> points = [(0, 1.0), (1, 3.1), (2, 4.9), (3, 7.0)]\n>>> line = "
    "fit(lambda p, row: p[0] + p[1] * row[0] - row[1], points, [0.0, 0.0])\n>>> [f\"{v:.2f} +- {e:.2f}\" for v, e in "
    "zip(line.x, line.standard_errors)]\n['1.03 +- 0.08', '1.98 +- 0.04']";

void bind_fit(py::module_& module) {
  auto bound =
      bind_ending<Fit>(module, "Fit",
                       "The result of fit(), with the uncertainty of the parameters.\n\n>>> fit(lambda p: [p[0] "
                       "- 1, p[0] - 3], [0.0]).sum_of_squares\n2.0");
  result_property(bound, {"residuals", "fun"}, "The residuals at x.",
                  "[f\"{r:.3f}\" for r in found.{}]\n['1.000', '-1.000']",
                  [](const Found<Fit>& self) { return list_of(self.result.residuals, self.has_arrays); });
  result_property(bound, {"sum_of_squares"}, "The sum of the squared residuals.", "f\"{found.{}:.3f}\"\n'2.000'",
                  [](const Fit& r) { return r.sum_of_squares; });
  result_property(bound, {"deviation"}, "The standard deviation of a residual; 1 with known_errors.",
                  "f\"{found.{}:.3f}\"\n'1.414'", [](const Fit& r) { return r.deviation; });
  result_property(bound, {"covariance"}, "The covariance matrix of the parameters, to first order.",
                  "f\"{found.{}[0][0]:.3f}\"\n'1.000'",
                  [](const Found<Fit>& self) { return matrix_of(self.result.covariance, self.has_arrays); });
  result_property(bound, {"standard_errors"},
                  "The standard error of each parameter; infinite if the residuals do not determine it.",
                  "f\"{found.{}[0]:.3f}\"\n'1.000'",
                  [](const Found<Fit>& self) { return self.form.result(self.result.standard_errors); });
  result_property(bound, {"rank"},
                  "The rank of the Jacobian. If it is less than the number of parameters, some are not determined.",
                  "found.{}\n1", [](const Fit& r) { return r.rank; });
  define(module,
         "fit(residuals, rows=None, start=None, *, args=(), bounds=None, tol=None, iterations=1000, "
         "gradient_tolerance=1e-13, step_tolerance=1e-15, value_tolerance=1e-24, known_errors=False, compile=True, "
         "progress=None)",
         about_fit,
         [](const py::function& f, const py::object& rows, const py::object& start, const py::object& args,
            const py::object& bounds, const std::optional<double>& tol, std::uint64_t iterations,
            double gradient_tolerance, double step_tolerance, double value_tolerance, bool known_errors, bool compile,
            const py::object& progress) {
           constexpr const char* call = "fit";
           const Problem problem(call, f, rows, start, args);
           Bounds box(bounds, *problem.form, call);
           FitOptions options;
           set(options, call, iterations, tol.value_or(step_tolerance), tol.value_or(value_tolerance), compile,
               progress);
           options.gradient_tolerance = tol.value_or(gradient_tolerance);
           options.known_errors = known_errors;
           options.lower = std::move(box.lower);
           options.upper = std::move(box.upper);
           enter();
           if (!problem.table) return found(fit(problem.vector(), problem.form->numbers(), options), problem);
           const RowResiduals residuals = [&](const Values& parameters, const Values& row) {
             return returned_values(problem.of_row(parameters, row), call);
           };
           return found(fit(residuals, problem.rows(), problem.form->numbers(), options), problem);
         });
}

void bind_root(py::module_& module) {
  auto bound =
      bind_ending<Root>(module, "Root", "The result of root().\n\n>>> root(lambda x: x - 1, 0.0).success\nTrue");
  result_property(bound, {"values", "fun"}, "The values of the function at x.", "found.{}\n[0.0]",
                  [](const Found<Root>& self) { return list_of(self.result.values, self.has_arrays); });
  define(module,
         "root(f, start, *, args=(), tol=None, iterations=200, value_tolerance=1e-13, step_tolerance=1e-15, "
         "compile=True, progress=None)",
         "Finds where f is 0. f returns one Value, or as many Values as there are parameters. tol sets both "
         "tolerances.\n\n>>> root(lambda x: x * x - 2, 1.0).x\n1.4142135623730951",
         [](const py::function& f, const py::object& start, const py::object& args, const std::optional<double>& tol,
            std::uint64_t iterations, double value_tolerance, double step_tolerance, bool compile,
            const py::object& progress) {
           const Problem problem("root", f, py::none(), start, args);
           RootOptions options;
           set(options, "root", iterations, tol.value_or(step_tolerance), tol.value_or(value_tolerance), compile,
               progress);
           enter();
           return found(root(problem.vector(), problem.form->numbers(), options), problem);
         });
}

// A function that _derivatives.py calls at many points. The counter of numbers that were read shows whether the
// function used a number of the graph, such as x.data: then its graph may differ at other points.
void bind_differentiator(py::module_& module) {
  py::class_<Differentiator> bound(module, "_Differentiator");
  define_init(bound, "_Differentiator(f, call)", [](const py::function& f, const std::string& call) {
    return Differentiator(
        [f, call](const Values& inputs) { return returned_values(f(py::cast(inputs)), call.c_str()); });
  });
  const auto at_point = [&]<class Result>(const char* name, Result (Differentiator::*method)(const AnyNumbers&)) {
    define(bound, std::string("_Differentiator.") + name + "(self, x)", "Differentiates at x.",
           [method](Differentiator& self, const Numbers& x) { return (self.*method)(x); });
  };
  const auto along = [&](const char* name, Numbers (Differentiator::*method)(const AnyNumbers&, const AnyNumbers&)) {
    define(bound, std::string("_Differentiator.") + name + "(self, x, v)", "Differentiates at x along v.",
           [method](Differentiator& self, const Numbers& x, const Numbers& v) { return (self.*method)(x, v); });
  };
  at_point("value_and_gradient", &Differentiator::value_and_gradient);
  at_point("values", &Differentiator::values);
  at_point("jacobian", &Differentiator::jacobian);
  at_point("hessian", &Differentiator::hessian);
  along("jvp", &Differentiator::jacobian_vector_product);
  along("hvp", &Differentiator::hessian_vector_product);
  define(bound, "_Differentiator.forget(self)", "Forgets the programs.", [](Differentiator& self) { self.forget(); });
  define(bound, "_Differentiator.never_compile(self, why)", "Records at every point.",
         [](Differentiator& self, const std::string& why) { self.never_compile(why); });
  property(bound, "compiled", "Whether a program is in use.",
           [](const Differentiator& self) { return self.compiled(); });
  property(bound, "not_compiled", "Why not, or ''.",
           [](const Differentiator& self) { return in_python(self.not_compiled()); });
  define(module, "_numbers_read()", "Returns how often a Value's data was read.", [] { return numbers_read; });
}

}  // namespace

void bind_solve(py::module_& module) {
  bind_minimize(module);
  bind_fit(module);
  bind_root(module);
  bind_differentiator(module);
}

}  // namespace gradwalk::python
