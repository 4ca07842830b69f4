// SPDX-License-Identifier: MIT
// Bindings of compile(), Program and Trainer. Programs take and return NumPy arrays, and release the interpreter's lock
// while they run.
#include <pybind11/functional.h>

#include <memory>
#include <set>
#include <string>

#include "given.hpp"
#include "gradwalk/compile.hpp"

namespace gradwalk::python {
namespace {

using Values = std::vector<Value>;

std::span<double> writable_numbers(py::array_t<double>& array) {
  return {array.mutable_data(), static_cast<std::size_t>(array.size())};
}

// Rows and weights of a call, converted. An argument that is None is absent.
std::optional<Array> optional_array(const py::object& given, const char* call, const char* what) {
  if (given.is_none()) return std::nullopt;
  return array_given(given, call, what);
}
std::optional<Array> rows_given(const py::object& rows, const char* call) {
  return optional_array(rows, call, "rows of numbers");
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

// A Python function that returns a list of Values, one per output (gradwalk/_compile.py).
Program compile_function(py::function function, const Array& rows, const py::object& parameters,
                         const std::string& precision_name, std::size_t threads) {
  std::vector<std::vector<double>> samples;
  for (py::ssize_t i = 0; i < rows.shape(0); ++i)
    samples.emplace_back(rows.data(i, 0), rows.data(i, 0) + rows.shape(1));
  return compile(
      RowOutputs([&](const Values& inputs) {
        const py::object returned = function(py::cast(inputs));
        return values_given(returned, "compile", "a function that returns Values");
      }),
      samples,
      compile_options({}, values_given(parameters, "compile", "parameters that are Values"), precision_name, threads));
}

double run(Program& program, const py::object& given_rows, bool mean, const py::object& given_weights) {
  const std::optional<Array> rows = rows_given(given_rows, "Program.run");
  const std::optional<Array> weights = optional_array(given_weights, "Program.run", "one weight per row");
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

// Returns one value and one row of gradients per row.
py::tuple gradients_per_row(Program& program, const Array& rows) {
  const std::size_t count = rows_in(program, rows), inputs = program.inputs(), parameters = program.parameters();
  py::array_t<double> values(static_cast<py::ssize_t>(count)), all({count, parameters});
  const std::span<double> to_values = writable_numbers(values), to = writable_numbers(all);
  const std::span<const double> from = numbers(rows);
  {
    const WithoutLock free;
    for (std::size_t i = 0; i < count; ++i)
      to_values[i] = program.gradients(from.subspan(i * inputs, inputs), to.subspan(i * parameters, parameters));
  }
  return py::make_tuple(std::move(values), std::move(all));
}

py::tuple gradients(Program& program, const py::object& given_rows, bool mean, const py::object& given_weights,
                    bool per_row) {
  constexpr const char* call = "Program.gradients";
  const std::optional<Array> rows = rows_given(given_rows, call);
  const std::optional<Array> weights = optional_array(given_weights, call, "one weight per row");
  if (per_row) {
    if (!rows || mean || weights)
      throw Error(call, "rows alone with per_row", rows ? "mean or weights, too" : "no rows",
                  "scale the gradients of each row yourself");
    return gradients_per_row(program, *rows);
  }
  py::array_t<double> result(static_cast<py::ssize_t>(program.parameters()));
  const std::span<double> to = writable_numbers(result);
  if (rows) rows_in(program, *rows);
  const RunOptions options = run_options(mean, weights);
  const double value = [&] {
    const std::span<const double> row_numbers = rows ? numbers(*rows) : std::span<const double>();
    const WithoutLock free;
    return rows ? program.gradients(row_numbers, to, options) : program.gradients(to);
  }();
  return py::make_tuple(value, std::move(result));
}

py::array_t<double> evaluate(Program& program, const py::object& given_rows) {
  const std::optional<Array> rows = rows_given(given_rows, "Program.evaluate");
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
  bool writes_back = true;   // after each step; false inside a `with` block
  std::vector<std::vector<double>> rows = {};
};

double step_of_list(TrainerOf& self, const py::object& rows, const RunOptions& options) {
  std::vector<std::optional<Array>> given;
  if (!rows.is_none()) {
    const py::object iterator = py::reinterpret_steal<py::object>(PyObject_GetIter(rows.ptr()));
    if (!iterator) {
      PyErr_Clear();
      throw_type_error("Trainer.step", "a list with the rows of each program", rows.ptr(), "give None for no rows");
    }
    for (const py::handle item : py::reinterpret_borrow<py::iterator>(iterator))
      given.push_back(rows_given(py::reinterpret_borrow<py::object>(item), "Trainer.step"));
    enter();
  }
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

double step_once(TrainerOf& self, const py::object& rows, const RunOptions& options) {
  if (self.programs != 0) return step_of_list(self, rows, options);
  if (rows.is_none()) {
    const WithoutLock free;
    return self.trainer.step();
  }
  const Array array = array_given(rows, "Trainer.step", "rows of numbers");
  const std::span<const double> row_numbers = numbers(array);
  const WithoutLock free;
  return self.trainer.step(row_numbers, options);
}

double step(TrainerOf& self, const py::object& rows, bool mean, const py::object& given_weights) {
  const std::optional<Array> weights = optional_array(given_weights, "Trainer.step", "one weight per row");
  const double result = step_once(self, rows, run_options(mean, weights));
  if (self.writes_back) {
    enter();
    self.trainer.write_back();
  }
  return result;
}

py::dict state_dict(TrainerOf& self) {
  using namespace py::literals;
  const OptimizerState state = self.trainer.optimizer_state();
  return py::dict("steps"_a = state.steps, "first"_a = state.first, "second"_a = state.second);
}

// Calls a Python function with a view of the gradient, before each update.
void before_update(TrainerOf& self, py::function hook) {
  self.trainer.before_update([hook = std::make_shared<py::function>(std::move(hook))](std::span<double> gradient) {
    const py::gil_scoped_acquire lock;
    (*hook)(py::array_t<double>(static_cast<py::ssize_t>(gradient.size()), gradient.data(), py::none()));
  });
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

TrainerPointer trainer_of_list(const py::list& list, const OptimizerConfig& config, Schedule schedule) {
  std::vector<Program*> programs;
  for (const py::handle item : list) {
    if (!py::isinstance<Program>(item))
      throw_type_error("Trainer", "a program or a list of programs", item.ptr(), "compile() makes one");
    programs.push_back(&item.cast<Program&>());
  }
  if (std::set(programs.begin(), programs.end()).size() != programs.size())
    throw Error("Trainer", "each program once", "the same program twice", "list it once, and give it all its rows");
  const SideBySide together(programs);
  return TrainerPointer(new TrainerOf{Trainer(together.programs(), config, std::move(schedule)), programs.size()});
}

void bind_trainer(py::module_& module) {
  py::class_<TrainerOf, TrainerPointer>(
      module, "Trainer",
      "Trains the parameters of a program with an optimizer.\n\nEach step copies the parameters to their Values. A "
      "`with` block does so only at its end, which is faster for large models. A list of programs must share their "
      "parameters, for example one program per text length. Then step() takes a list: for each program its rows, or "
      "None.\n\n>>> w = Value(0.0)\n>>> program = compile(lambda row: (w * row[0] - row[1]) ** 2, [[1, 2], [2, 4]], "
      "parameters=[w])\n>>> with Trainer(program, SGD(lr=0.1)) as trainer:\n...     losses = "
      "[trainer.step([[1.0, 2.0], [2.0, 4.0]], mean=True) for _ in range(50)]\n>>> f\"{w.data:.6f}\"\n'2.000000'")
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
      .def("before_update", before_update, py::arg("hook"),
           "From now on, calls hook(gradient) before each update. The hook may change the array in place.")
      .def(
          "write_back", [](TrainerOf& self) { self.trainer.write_back(); }, py::call_guard<Entered>(),
          "Copies the parameters to their Values, inside a `with` block.")
      .def(
          "read_again", [](TrainerOf& self) { self.trainer.read_again(); }, py::call_guard<Entered>(),
          "Copies the parameters from their Values, after you have changed them.")
      .def(
          "__enter__",
          [](TrainerOf& self) -> TrainerOf& {
            self.writes_back = false;
            return self;
          },
          py::return_value_policy::reference)
      .def(
          "__exit__",
          [](TrainerOf& self, const py::args&) {
            self.writes_back = true;
            self.trainer.write_back();
          },
          py::call_guard<Entered>())
      .def("state_dict", state_dict,
           "Returns the state of the optimizer as a dict: steps, first and second moments. Save it with the "
           "parameters, and training can continue from both.")
      .def(
          "load_state_dict",
          [](TrainerOf& self, const py::dict& state) {
            self.trainer.set_optimizer_state(optimizer_state(state, "Trainer.load_state_dict"));
          },
          py::arg("state"), py::call_guard<Entered>(), "Continues from a dict of state_dict().")
      .def_property_readonly(
          "steps", [](const TrainerOf& self) { return self.trainer.steps(); }, "The number of steps made so far.");
}

}  // namespace

void bind_compile(py::module_& module) {
  py::class_<Program>(module, "Program", py::dynamic_attr(),
                      "A compiled graph, which runs whole batches of rows. compile() makes one.\n\nprogram(rows) "
                      "returns the outputs in the form that the function returns them.")
      .def("run", run, py::arg("rows") = py::none(), py::kw_only(), py::arg("mean") = false,
           py::arg("weights") = py::none(),
           "Returns the sum of the output over the rows, or the mean, and adds its gradients to the parameters.\n\n"
           "rows is an array with one row per sample and one column per input. weights has one number per row.")
      .def(
          "gradients", gradients, py::arg("rows") = py::none(), py::kw_only(), py::arg("mean") = false,
          py::arg("weights") = py::none(), py::arg("per_row") = false,
          "Returns what run() returns, and the gradients as an array. The parameters keep their own gradients.\n\nWith "
          "per_row, returns the value of each row, and an array with one row of gradients per row.")
      .def("evaluate", evaluate, py::arg("rows") = py::none(),
           "Returns all outputs of each row, as an array with one row per sample.")
      .def("describe", describe,
           "Returns a dict that describes the program: nodes recorded and computed, instructions, layers, constants, "
           "bytes, instruction set.")
      .def_property_readonly("inputs", &Program::inputs, "The number of inputs of a row.")
      .def_property_readonly("parameters", &Program::parameters, "The number of parameters.")
      .def_property_readonly("outputs", &Program::outputs, "The number of outputs.");
  module.def(
      "_compile",
      [](const py::object& outputs, const py::object& inputs, const py::object& parameters,
         const std::string& precision_name, std::size_t threads) {
        return compile(values_given(outputs, "compile", "Values to compile"),
                       compile_options(values_given(inputs, "compile", "inputs that are Values"),
                                       values_given(parameters, "compile", "parameters that are Values"),
                                       precision_name, threads));
      },
      py::call_guard<Entered>());
  module.def("_compile_function", compile_function, py::call_guard<Entered>());
  module.def(
      "_compile_derivatives",
      [](const Value& output, const py::object& inputs, const py::object& parameters, const std::string& precision_name,
         std::size_t threads) {
        return compile_derivatives(
            output, compile_options(values_given(inputs, "compile_derivatives", "inputs that are Values"),
                                    values_given(parameters, "compile_derivatives", "parameters that are Values"),
                                    precision_name, threads));
      },
      py::call_guard<Entered>());
  bind_trainer(module);
  module.def("instruction_sets", &instruction_sets,
             "Returns the names of the instruction sets that this machine supports, best first.");
}

}  // namespace gradwalk::python
