// SPDX-License-Identifier: MIT
// compile(): programs of recorded graphs and of functions, with NumPy arrays in and out. The interpreter's lock is
// given up while they run.
#include <pybind11/functional.h>
#include <pybind11/numpy.h>

#include <memory>
#include <string>

#include "bind.hpp"
#include "gradwalk/compile.hpp"

namespace gradwalk::python {
namespace {

using Array = py::array_t<double, py::array::c_style | py::array::forcecast>;  // no copy where it is one already
using Values = std::vector<Value>;

std::span<const double> numbers(const Array& array) { return {array.data(), static_cast<std::size_t>(array.size())}; }
std::span<double> room(py::array_t<double>& array) {
  return {array.mutable_data(), static_cast<std::size_t>(array.size())};
}

// Rows of a program: n x inputs, or one row alone; of one input, n numbers.
std::size_t rows_in(const Program& program, const Array& rows) {
  const auto inputs = static_cast<py::ssize_t>(program.inputs());
  const bool fits =
      rows.ndim() == 2 ? rows.shape(1) == inputs : rows.ndim() == 1 && (inputs == 1 || rows.size() == inputs);
  if (!fits || inputs == 0)
    throw Error("Program", "rows of " + std::to_string(inputs) + " numbers",
                "an array of shape " +
                    std::string(py::str(py::cast(std::vector<py::ssize_t>(rows.shape(), rows.shape() + rows.ndim())))),
                "give an array with a row a sample and a column an input");
  return static_cast<std::size_t>(rows.size() / inputs);
}

RunOptions run_options(bool mean, const std::optional<Array>& weights) {
  RunOptions options;
  options.result = mean ? RunOptions::Result::mean : RunOptions::Result::sum;
  if (weights) options.weights = numbers(*weights);
  return options;
}

Precision precision(const std::string& name) {
  if (name == "float64") return Precision::float64;
  if (name == "float32") return Precision::float32;
  throw Error("compile", "float64 or float32", name, "choose one");
}

CompileOptions compile_options(Values inputs, Values parameters, const std::string& precision_name,
                               std::size_t threads) {
  return {.inputs = std::move(inputs),
          .parameters = std::move(parameters),
          .precision = precision(precision_name),
          .threads = threads};
}

Program compile_function(py::function function, const Array& rows, Values parameters, const std::string& precision_name,
                         std::size_t threads) {
  if (rows.ndim() != 2)
    throw Error("compile", "sample rows as an array of two dimensions", std::to_string(rows.ndim()),
                "give two rows at least, each with a number an input");
  std::vector<std::vector<double>> samples;
  for (py::ssize_t i = 0; i < rows.shape(0); ++i)
    samples.emplace_back(rows.data(i, 0), rows.data(i, 0) + rows.shape(1));
  return compile(RowFunction(function_of_values<Value>(std::move(function))), samples,
                 compile_options({}, std::move(parameters), precision_name, threads));
}

double run(Program& program, const std::optional<Array>& rows, bool mean, const std::optional<Array>& weights) {
  if (!rows) {
    const WithoutLock free;
    return program.run();
  }
  rows_in(program, *rows);
  const RunOptions options = run_options(mean, weights);
  const std::span<const double> all = numbers(*rows);
  const WithoutLock free;
  return program.run(all, options);
}

std::pair<double, py::array_t<double>> gradients(Program& program, const std::optional<Array>& rows, bool mean,
                                                 const std::optional<Array>& weights) {
  py::array_t<double> result(static_cast<py::ssize_t>(program.parameters()));
  const std::span<double> to = room(result);
  if (rows) rows_in(program, *rows);
  const RunOptions options = run_options(mean, weights);
  const double value = [&] {
    const std::span<const double> all = rows ? numbers(*rows) : std::span<const double>();
    const WithoutLock free;
    return rows ? program.gradients(all, to, options) : program.gradients(to);
  }();
  return {value, std::move(result)};
}

py::array_t<double> evaluate(Program& program, const std::optional<Array>& rows) {
  const std::size_t count = rows ? rows_in(program, *rows) : 1;
  py::array_t<double> result({count, program.outputs()});
  const std::span<double> to = room(result);
  const std::span<const double> all = rows ? numbers(*rows) : std::span<const double>();
  const WithoutLock free;
  if (rows)
    program.evaluate(all, to);
  else
    program.evaluate(to);
  return result;
}

py::dict describe(const Program& program) {
  const Program::Description d = program.describe();
  using namespace py::literals;
  return py::dict("recorded"_a = d.recorded, "computed"_a = d.computed, "instructions"_a = d.instructions,
                  "layers"_a = d.layers, "constants"_a = d.constants, "bytes"_a = d.bytes,
                  "instruction_set"_a = d.instruction_set);
}

double step(Trainer& trainer, const std::optional<Array>& rows, bool mean, const std::optional<Array>& weights) {
  const RunOptions options = run_options(mean, weights);
  const std::span<const double> all = rows ? numbers(*rows) : std::span<const double>();
  const WithoutLock free;
  return rows ? trainer.step(all, options) : trainer.step();
}

// It writes the parameters back at its end.
struct EndOfTrainer {
  void operator()(Trainer* trainer) const {
    enter();
    delete trainer;
  }
};

}  // namespace

void bind_compile(py::module_& module) {
  py::class_<Program>(module, "Program", "A graph as a program that runs whole batches of rows.")
      .def("run", run, py::arg("rows") = py::none(), py::kw_only(), py::arg("mean") = false,
           py::arg("weights") = py::none(),
           "The sum of the output over the rows, or its mean; its gradients are added to the parameters.")
      .def("gradients", gradients, py::arg("rows") = py::none(), py::kw_only(), py::arg("mean") = false,
           py::arg("weights") = py::none(),
           "The same, the gradients as an array; the parameters' own stay as they are.")
      .def("evaluate", evaluate, py::arg("rows") = py::none(), "All outputs of each row.")
      .def("describe", describe, "What it was made of, and what it became.")
      .def_property_readonly("inputs", &Program::inputs)
      .def_property_readonly("parameters", &Program::parameters)
      .def_property_readonly("outputs", &Program::outputs);
  module.def(
      "compile",
      [](const Value& output, Values inputs, Values parameters, const std::string& precision_name,
         std::size_t threads) {
        return compile(output, compile_options(std::move(inputs), std::move(parameters), precision_name, threads));
      },
      py::arg("output"), py::kw_only(), py::arg("inputs") = Values{}, py::arg("parameters") = Values{},
      py::arg("precision") = "float64", py::arg("threads") = 1, py::call_guard<Entered>(),
      "A recorded Value, a list of them, or a function of a row, as a program.\n\nA function is called on the sample "
      "rows, two "
      "at least.\n\n>>> w = Value(2.0)\n>>> program = compile(lambda row: (w * row[0] - row[1]) ** 2, [[1, 1], [2, "
      "2]], "
      "parameters=[w])\n>>> program.run([[1.0, 1.0], [2.0, 5.0]]), w.grad\n(2.0, -2.0)");
  module.def(
      "compile",
      [](const Values& outputs, Values inputs, Values parameters, const std::string& precision_name,
         std::size_t threads) {
        return compile(outputs, compile_options(std::move(inputs), std::move(parameters), precision_name, threads));
      },
      py::arg("outputs"), py::kw_only(), py::arg("inputs") = Values{}, py::arg("parameters") = Values{},
      py::arg("precision") = "float64", py::arg("threads") = 1, py::call_guard<Entered>());
  module.def("compile", compile_function, py::arg("function"), py::arg("rows"), py::kw_only(),
             py::arg("parameters") = Values{}, py::arg("precision") = "float64", py::arg("threads") = 1,
             py::call_guard<Entered>());

  py::class_<Trainer, std::unique_ptr<Trainer, EndOfTrainer>>(
      module, "Trainer",
      "Steps of a learning rule on a program; the parameters get their numbers by write_back(), and when "
      "it ends.")
      .def(py::init([](const Program& program, const OptimizerConfig& config, Schedule schedule) {
             return std::unique_ptr<Trainer, EndOfTrainer>(new Trainer(program, config, std::move(schedule)));
           }),
           py::arg("program"), py::arg("config"), py::arg("schedule") = Schedule{}, py::call_guard<Entered>())
      .def("step", step, py::arg("rows") = py::none(), py::kw_only(), py::arg("mean") = false,
           py::arg("weights") = py::none(),
           "Moves the parameters by the gradient of what run() would give, and gives that.")
      .def("clip_norm", &Trainer::clip_norm, py::arg("most"), "From now on no gradient's norm is larger.")
      .def("write_back", &Trainer::write_back, py::call_guard<Entered>(), "The parameters to their Values.")
      .def("read_again", &Trainer::read_again, py::call_guard<Entered>(), "The parameters from their Values.")
      .def_property_readonly("steps", &Trainer::steps);
  module.def("instruction_sets", &instruction_sets, "Those this machine has, best first.");
}

}  // namespace gradwalk::python
