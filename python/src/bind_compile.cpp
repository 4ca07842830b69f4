// SPDX-License-Identifier: MIT
// Bindings of compile(), Program and Trainer. Programs take and return NumPy arrays, and release the interpreter's lock
// while they run.
#include <pybind11/functional.h>
#include <pybind11/numpy.h>

#include <memory>
#include <set>
#include <string>

#include "bind.hpp"
#include "gradwalk/compile.hpp"

namespace gradwalk::python {
namespace {

using Array = py::array_t<double, py::array::c_style | py::array::forcecast>;  // copies only if it must convert
using Values = std::vector<Value>;

std::span<const double> numbers(const Array& array) { return {array.data(), static_cast<std::size_t>(array.size())}; }
std::span<double> writable_numbers(py::array_t<double>& array) {
  return {array.mutable_data(), static_cast<std::size_t>(array.size())};
}

// The number of rows in an array, which has the shape n x inputs, is a single row, or is n numbers for one input.
std::size_t rows_in(const Program& program, const Array& rows) {
  const auto inputs = static_cast<py::ssize_t>(program.inputs());
  const bool fits =
      rows.ndim() == 2 ? rows.shape(1) == inputs : rows.ndim() == 1 && (inputs == 1 || rows.size() == inputs);
  if (!fits || inputs == 0)
    throw Error("Program", "rows of " + std::to_string(inputs) + " numbers",
                "an array of shape " +
                    std::string(py::str(py::cast(std::vector<py::ssize_t>(rows.shape(), rows.shape() + rows.ndim())))),
                "give an array with one row per sample and one column per input");
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
  throw Error("compile", "precision 'float64' or 'float32'", "'" + name + "'", "choose one of them");
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
    throw Error("compile", "sample rows as an array of two dimensions", std::to_string(rows.ndim()) + " dimensions",
                "give at least two rows, each with one number per input");
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
  const std::span<const double> row_numbers = numbers(*rows);
  const WithoutLock free;
  return program.run(row_numbers, options);
}

std::pair<double, py::array_t<double>> gradients(Program& program, const std::optional<Array>& rows, bool mean,
                                                 const std::optional<Array>& weights) {
  py::array_t<double> result(static_cast<py::ssize_t>(program.parameters()));
  const std::span<double> to = writable_numbers(result);
  if (rows) rows_in(program, *rows);
  const RunOptions options = run_options(mean, weights);
  const double value = [&] {
    const std::span<const double> row_numbers = rows ? numbers(*rows) : std::span<const double>();
    const WithoutLock free;
    return rows ? program.gradients(row_numbers, to, options) : program.gradients(to);
  }();
  return {value, std::move(result)};
}

py::array_t<double> evaluate(Program& program, const std::optional<Array>& rows) {
  const std::size_t count = rows ? rows_in(program, *rows) : 1;
  py::array_t<double> result({count, program.outputs()});
  const std::span<double> to = writable_numbers(result);
  const std::span<const double> row_numbers = rows ? numbers(*rows) : std::span<const double>();
  const WithoutLock free;
  if (rows)
    program.evaluate(row_numbers, to);
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

// A Trainer of one program, or of a list of programs, whose step takes a list of row arrays.
struct TrainerOf {
  Trainer trainer;
  std::size_t programs = 0;  // length of the list; 0: one program
  std::vector<std::vector<double>> rows = {};
};

double step_of_list(TrainerOf& self, const py::object& rows, const RunOptions& options) {
  const auto given =
      rows.is_none() ? std::vector<std::optional<Array>>() : rows.cast<std::vector<std::optional<Array>>>();
  if (given.size() != self.programs)
    throw Error("Trainer.step", "an array of rows, or None, for each of " + std::to_string(self.programs) + " programs",
                std::to_string(given.size()) + " of them", "give them in the order of the programs");
  self.rows.resize(given.size());
  for (std::size_t i = 0; i < given.size(); ++i) {
    const std::span<const double> row_numbers = given[i] ? numbers(*given[i]) : std::span<const double>();
    self.rows[i].assign(row_numbers.begin(), row_numbers.end());
  }
  const WithoutLock free;
  return self.trainer.step(self.rows, options);
}

double step(TrainerOf& self, const py::object& rows, bool mean, const std::optional<Array>& weights) {
  const RunOptions options = run_options(mean, weights);
  if (self.programs != 0) return step_of_list(self, rows, options);
  if (rows.is_none()) {
    const WithoutLock free;
    return self.trainer.step();
  }
  const auto array = rows.cast<Array>();
  const std::span<const double> row_numbers = numbers(array);
  const WithoutLock free;
  return self.trainer.step(row_numbers, options);
}

// The destructor of a Trainer writes the parameters back, so it needs the tape.
struct EndOfTrainer {
  void operator()(TrainerOf* trainer) const {
    enter();
    delete trainer;
  }
};
using TrainerPointer = std::unique_ptr<TrainerOf, EndOfTrainer>;

// A Trainer needs its programs in one array, but each is inside a Python object. This class moves them into an array
// while the Trainer is constructed, and back afterwards.
class SideBySide {
 public:
  explicit SideBySide(std::span<Program* const> programs) : from_(programs.begin(), programs.end()) {
    for (Program* const program : from_) programs_.push_back(std::move(*program));
  }
  ~SideBySide() {
    for (std::size_t i = 0; i < from_.size(); ++i) *from_[i] = std::move(programs_[i]);
  }
  SideBySide(const SideBySide&) = delete;
  SideBySide& operator=(const SideBySide&) = delete;
  std::span<const Program> programs() const { return programs_; }

 private:
  std::vector<Program*> from_;
  std::vector<Program> programs_;
};

TrainerPointer trainer_of_list(const std::vector<Program*>& programs, const OptimizerConfig& config,
                               Schedule schedule) {
  if (std::set(programs.begin(), programs.end()).size() != programs.size())
    throw Error("Trainer", "each program once", "the same program twice", "list it once, and give it all its rows");
  const SideBySide together(programs);
  return TrainerPointer(new TrainerOf{Trainer(together.programs(), config, std::move(schedule)), programs.size()});
}

}  // namespace

void bind_compile(py::module_& module) {
  py::class_<Program>(module, "Program", "A compiled graph, which runs whole batches of rows. compile() makes one.")
      .def("run", run, py::arg("rows") = py::none(), py::kw_only(), py::arg("mean") = false,
           py::arg("weights") = py::none(),
           "Returns the sum of the output over the rows, or the mean, and adds its gradients to the parameters.\n\n"
           "rows is an array with one row per sample and one column per input. weights has one number per row.")
      .def("gradients", gradients, py::arg("rows") = py::none(), py::kw_only(), py::arg("mean") = false,
           py::arg("weights") = py::none(),
           "Returns what run() returns, and the gradients as an array. The parameters keep their own gradients.")
      .def("evaluate", evaluate, py::arg("rows") = py::none(),
           "Returns all outputs of each row, as an array with one row per sample.")
      .def("describe", describe,
           "Returns a dict that describes the program: nodes recorded and computed, instructions, layers, constants, "
           "bytes, instruction set.")
      .def_property_readonly("inputs", &Program::inputs, "The number of inputs of a row.")
      .def_property_readonly("parameters", &Program::parameters, "The number of parameters.")
      .def_property_readonly("outputs", &Program::outputs, "The number of outputs.");
  module.def(
      "compile",
      [](const Value& output, Values inputs, Values parameters, const std::string& precision_name,
         std::size_t threads) {
        return compile(output, compile_options(std::move(inputs), std::move(parameters), precision_name, threads));
      },
      py::arg("output"), py::kw_only(), py::arg("inputs") = Values{}, py::arg("parameters") = Values{},
      py::arg("precision") = "float64", py::arg("threads") = 1, py::call_guard<Entered>(),
      "Compiles a recorded Value, a list of them, or a function of a row.\n\nA function is called on the sample rows; "
      "give at least two. precision is 'float64' or 'float32'; threads=0 uses all cores.\n\n"
      ">>> w = Value(2.0)\n"
      ">>> program = compile(lambda row: (w * row[0] - row[1]) ** 2, [[1, 1], [2, 2]], parameters=[w])\n"
      ">>> program.run([[1.0, 1.0], [2.0, 5.0]]), w.grad\n(2.0, -2.0)");
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

  py::class_<TrainerOf, TrainerPointer>(
      module, "Trainer",
      "Trains the parameters of a program with an optimizer.\n\nThe parameters are copied back to their Values by "
      "write_back(), and when the Trainer is deleted. A list of programs must share their parameters, for example "
      "one program per text length. Then step() takes a list: for each program its rows, or None.")
      .def(py::init([](const Program& program, const OptimizerConfig& config, Schedule schedule) {
             return TrainerPointer(new TrainerOf{Trainer(program, config, std::move(schedule))});
           }),
           py::arg("program"), py::arg("config"), py::arg("schedule") = Schedule{}, py::call_guard<Entered>())
      .def(py::init(&trainer_of_list), py::arg("programs"), py::arg("config"), py::arg("schedule") = Schedule{},
           py::call_guard<Entered>())
      .def("step", step, py::arg("rows") = py::none(), py::kw_only(), py::arg("mean") = false,
           py::arg("weights") = py::none(), "Makes one optimizer step and returns what run() would return.")
      .def(
          "clip_norm", [](TrainerOf& self, double most) { self.trainer.clip_norm(most); }, py::arg("most"),
          "Clips the norm of the gradient to `most` in all further steps.")
      .def(
          "write_back", [](TrainerOf& self) { self.trainer.write_back(); }, py::call_guard<Entered>(),
          "Copies the parameters to their Values.")
      .def(
          "read_again", [](TrainerOf& self) { self.trainer.read_again(); }, py::call_guard<Entered>(),
          "Copies the parameters from their Values, after you have changed them.")
      .def_property_readonly(
          "steps", [](const TrainerOf& self) { return self.trainer.steps(); }, "The number of steps made so far.");
  module.def("instruction_sets", &instruction_sets,
             "Returns the names of the instruction sets that this machine supports, best first.");
}

}  // namespace gradwalk::python
