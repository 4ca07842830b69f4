// SPDX-License-Identifier: MIT
// Bindings of compile(), Program, Function and Trainer. Programs take and return NumPy arrays, and release the
// interpreter's lock while they run. A Function may call Python code, so it keeps the lock.
#include <memory>
#include <set>
#include <string>

#include "convert.hpp"
#include "gradwalk/compile.hpp"
#include "gradwalk/function.hpp"

namespace gradwalk::python {
namespace {

using Values = std::vector<Value>;

std::span<double> writable_numbers(py::array_t<double>& array) {
  return {array.mutable_data(), static_cast<std::size_t>(array.size())};
}

// The number of rows in an array, which has the shape n x inputs, is a single row, or is n numbers for one input.
template <class Runs> std::size_t rows_in(const Runs& program, const Array& rows) {
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
  if (weights) options.weights = numbers_in(*weights);
  return options;
}

CompileOptions compile_options(const Values& inputs, const Values& parameters, const std::string& precision_name,
                               std::uint64_t threads) {
  return {.inputs = inputs,
          .parameters = parameters,
          .precision = to_precision(precision_name, "compile"),
          .threads = threads};
}

// A Python function that returns a list of Values, one per output (gradwalk/_compile.py).
Program compile_function(const py::function& function, const Array& rows, const CompileOptions& options) {
  std::vector<Numbers> samples;
  for (py::ssize_t i = 0; i < rows.shape(0); ++i)
    samples.emplace_back(rows.data(i, 0), rows.data(i, 0) + rows.shape(1));
  return compile(
      RowOutputs([&](const Values& inputs) { return returned_values(function(py::cast(inputs)), "compile"); }), samples,
      options);
}

double run(Program& program, const std::optional<Array>& rows, bool mean, const std::optional<Array>& weights) {
  if (!rows) {
    const WithoutLock free;
    return program.run();
  }
  rows_in(program, *rows);
  const RunOptions options = run_options(mean, weights);
  const std::span<const double> row_numbers = numbers_in(*rows);
  const WithoutLock free;
  return program.run(row_numbers, options);
}

// Returns one value and one row of gradients per row.
py::tuple gradients_per_row(Program& program, const Array& rows) {
  const std::size_t count = rows_in(program, rows), outputs = program.outputs(), parameters = program.parameters();
  py::array_t<double> values(static_cast<py::ssize_t>(count)), all({count, parameters});
  const std::span<double> to_values = writable_numbers(values), to = writable_numbers(all);
  const std::span<const double> from = numbers_in(rows);
  {
    const WithoutLock free;
    std::vector<double> all_outputs(count * outputs);
    program.row_gradients(from, to, all_outputs);
    for (std::size_t i = 0; i < count; ++i) to_values[i] = all_outputs[i * outputs];
  }
  return py::make_tuple(std::move(values), std::move(all));
}

py::tuple gradients(Program& program, const std::optional<Array>& rows, bool mean, const std::optional<Array>& weights,
                    bool per_row, const std::optional<Array>& seeds) {
  if (per_row) {
    if (!rows || mean || weights || seeds)
      throw Error("Program.gradients", "rows alone with per_row",
                  !rows   ? "no rows"
                  : seeds ? "seeds, too"
                          : "mean or weights, too",
                  "scale the gradients of each row yourself");
    return gradients_per_row(program, *rows);
  }
  py::array_t<double> result(static_cast<py::ssize_t>(program.parameters()));
  const std::span<double> to = writable_numbers(result);
  if (rows) rows_in(program, *rows);
  RunOptions options = run_options(mean, weights);
  if (seeds) options.seeds = numbers_in(*seeds);
  const double value = [&] {
    const std::span<const double> row_numbers = rows ? numbers_in(*rows) : std::span<const double>();
    const WithoutLock free;
    return rows || seeds ? program.gradients(row_numbers, to, options) : program.gradients(to);
  }();
  return py::make_tuple(value, std::move(result));
}

py::array_t<double> evaluate(Program& program, const std::optional<Array>& rows) {
  const std::size_t count = rows ? rows_in(program, *rows) : 1;
  py::array_t<double> result({count, program.outputs()});
  const std::span<double> to = writable_numbers(result);
  const std::span<const double> row_numbers = rows ? numbers_in(*rows) : std::span<const double>();
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
                  "machine_code"_a = d.machine_code, "instruction_set"_a = d.instruction_set);
}

// ---- functions that branch ----

Function function_of(py::function function, std::uint64_t inputs, const Nodes& parameters,
                     const std::string& precision_name, std::uint64_t threads) {
  return {RowOutputs([function = std::move(function)](const Values& row) {
            Values outputs = returned_values(function(py::cast(row)), "compile");
            enter();
            return outputs;
          }),
          {.inputs = inputs,
           .parameters = parameters,
           .precision = to_precision(precision_name, "compile"),
           .threads = threads}};
}

py::tuple function_gradients(Function& function, const Array& rows, bool mean, const std::optional<Array>& weights,
                             bool per_row) {
  const std::size_t count = rows_in(function, rows), inputs = function.inputs(), parameters = function.parameters();
  const std::span<const double> from = numbers_in(rows);
  if (!per_row) {
    py::array_t<double> result(static_cast<py::ssize_t>(parameters));
    const double value = function.gradients(from, writable_numbers(result), run_options(mean, weights));
    return py::make_tuple(value, std::move(result));
  }
  if (mean || weights)
    throw Error("CompiledFunction.gradients", "rows alone with per_row", "mean or weights, too",
                "scale the gradients of each row yourself");
  py::array_t<double> values(static_cast<py::ssize_t>(count)), all({count, parameters});
  const std::span<double> to_values = writable_numbers(values), to = writable_numbers(all);
  for (std::size_t i = 0; i < count; ++i)
    to_values[i] = function.gradients(from.subspan(i * inputs, inputs), to.subspan(i * parameters, parameters));
  return py::make_tuple(std::move(values), std::move(all));
}

py::array_t<double> function_outputs(Function& function, const Array& rows, std::uint64_t outputs) {
  const std::size_t count = rows_in(function, rows);
  py::array_t<double> result({count, static_cast<std::size_t>(outputs)});
  function.evaluate(numbers_in(rows), writable_numbers(result));
  return result;
}

py::dict describe_function(const Function& function) {
  const Function::Description d = function.describe();
  using namespace py::literals;
  py::list paths, loops;
  for (const Function::Path& path : d.most_used)
    paths.append(py::dict("rows"_a = path.rows, "comparisons"_a = path.comparisons, "is_compiled"_a = path.is_compiled,
                          "parts_at"_a = path.parts_at, "why_not"_a = path.why_not));
  for (const Function::Loop& loop : d.loops)
    loops.append(py::dict("state"_a = loop.state, "rounds"_a = loop.rounds, "paths"_a = loop.paths,
                          "programs"_a = loop.programs, "bytes"_a = loop.bytes));
  return py::dict("paths"_a = d.paths, "programs"_a = d.programs, "bytes"_a = d.bytes,
                  "compiled_rows"_a = d.compiled_rows, "eager_rows"_a = d.eager_rows, "moved_rows"_a = d.moved_rows,
                  "most_used"_a = paths, "loops"_a = loops);
}

Values run_loop(const Values& state, const py::function& goes_on, const py::function& body) {
  const auto outcome = [&](const Values& at) {
    py::object returned = goes_on(py::cast(at));
    enter();
    return returned;
  };
  const auto as_bool = [](const py::object& returned) {
    const int truth = PyObject_IsTrue(returned.ptr());
    if (truth < 0) throw py::error_already_set();
    enter();
    return truth != 0;
  };
  const detail::LoopParts parts{[&](const Values& at) { return as_bool(outcome(at)); },
                                [&](const Values& at) { return to_value(outcome(at), {"loop", "goes_on"}); },
                                [&](const Values& at) {
                                  Values next = returned_values(body(py::cast(at)), "loop");
                                  enter();
                                  return next;
                                }};
  return detail::run_loop(state, parts);
}

void bind_function(py::module_& module) {
  py::class_<Function> bound(module, "_Function", "A function that may branch, compiled path by path.");
  define_init(bound, "_Function(function, inputs, parameters, precision, threads)",
              [](const py::function& function, std::uint64_t inputs, const Nodes& parameters,
                 const std::string& precision_name, std::uint64_t threads) {
                return std::make_unique<Function>(function_of(function, inputs, parameters, precision_name, threads));
              });
  define(bound, "_Function.run(self, rows, *, mean=False, weights=None)", "Function::run().",
         [](Function& self, const Array& rows, bool mean, const std::optional<Array>& weights) {
           rows_in(self, rows);
           return self.run(numbers_in(rows), run_options(mean, weights));
         });
  define(bound, "_Function.gradients(self, rows, *, mean=False, weights=None, per_row=False)", "Function::gradients().",
         [](Function& self, const Array& rows, bool mean, const std::optional<Array>& weights, bool per_row) {
           return function_gradients(self, rows, mean, weights, per_row);
         });
  define(
      bound, "_Function.evaluate(self, rows, outputs)", "Function::evaluate().",
      [](Function& self, const Array& rows, std::uint64_t outputs) { return function_outputs(self, rows, outputs); });
  define(bound, "_Function.describe(self)", "Function::describe(), as a dict.",
         [](const Function& self) { return describe_function(self); });
  define(module, "loop(state, goes_on, body)",
         "Runs `while goes_on(state): state = body(state)` and returns the last state, a list of Values.\n\nstate is a "
         "list of Values or numbers, and body returns a list as long. In a function that @compile compiles, rows that "
         "are still in the loop run the body together, so the number of rounds makes no new path.\n\n>>> y, rounds = "
         "loop([Value(5.0), 0.0], lambda s: s[0] > 1, lambda s: [s[0] / 2, s[1] + 1])\n>>> y.data, "
         "rounds.data\n(0.625, 3.0)",
         [](const Values& state, const py::function& goes_on, const py::function& body) {
           return run_loop(state, goes_on, body);
         });
}

// A Trainer of one program, or of a list of programs, whose step takes a list of row arrays.
struct TrainerOf {
  Trainer trainer;
  py::tuple made_of;                // the arguments of the constructor, for pickle
  std::size_t programs = 0;         // length of the list; 0: one program
  bool has_function = false;        // of a function that branches, which needs the interpreter's lock
  bool writes_back = true;          // after each step; false inside a `with` block
  std::optional<double> most = {};  // of clip_norm()
  py::object hook = py::none();     // of before_update()
  std::vector<std::vector<double>> rows = {};
};

double step_of_list(TrainerOf& self, const py::object& rows, const RunOptions& options) {
  std::vector<std::optional<Array>> given;
  if (!rows.is_none())
    for (const py::object& item : to_items(rows, {"Trainer.step", "rows"}, "a list with the rows of each program"))
      given.push_back(Convert<std::optional<Array>>::from(item, {"Trainer.step", "rows"}));
  enter();
  if (given.size() != self.programs)
    throw Error("Trainer.step", "an array of rows, or None, for each of " + std::to_string(self.programs) + " programs",
                std::to_string(given.size()) + " of them", "give them in the order of the programs");
  self.rows.resize(given.size());
  for (std::size_t i = 0; i < given.size(); ++i) {
    const std::span<const double> row_numbers = given[i] ? numbers_in(*given[i]) : std::span<const double>();
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
  const Array array = to_array(rows, {"Trainer.step", "rows"});
  enter();
  const std::span<const double> row_numbers = numbers_in(array);
  if (self.has_function) return self.trainer.step(row_numbers, options);
  const WithoutLock free;
  return self.trainer.step(row_numbers, options);
}

double step(TrainerOf& self, const py::object& rows, bool mean, const std::optional<Array>& weights) {
  const double result = step_once(self, rows, run_options(mean, weights));
  if (self.writes_back) {
    enter();
    self.trainer.write_back();
  }
  return result;
}

// Calls a Python function with a view of the gradient, before each update.
void before_update(TrainerOf& self, const py::function& hook) {
  self.hook = hook;
  self.trainer.before_update([hook = std::make_shared<py::function>(hook)](std::span<double> gradient) {
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

TrainerPointer trainer_of_list(const py::object& list, const OptimizerConfig& config, const Schedule& schedule,
                               py::tuple made_of) {
  std::vector<Program*> programs;
  for (const py::object& item : to_items(list, {"Trainer", "program"}, "a Program or a list of Programs"))
    programs.push_back(&Convert<Program>::from(item, {"Trainer", "program"}));
  if (std::set(programs.begin(), programs.end()).size() != programs.size())
    throw Error("Trainer", "each program once", "the same program twice", "list it once, and give it all its rows");
  enter();
  const SideBySide together(programs);
  return TrainerPointer(
      new TrainerOf{Trainer(together.programs(), config, schedule), std::move(made_of), programs.size()});
}

// The beginning of the examples in docstrings.
const std::string with_program =
    "\n\n>>> w = Value(2.0)\n>>> program = compile(lambda row: (w * row[0] - row[1]) ** 2, [[1, 1], [2, 2]], "
    "parameters=[w])\n>>> ";
const std::string with_trainer = with_program + "trainer = Trainer(program, SGD(lr=0.1))\n>>> ";

void bind_trainer(py::module_& module) {
  py::class_<TrainerOf, TrainerPointer> bound(
      module, "Trainer",
      "Trains the parameters of a program with an optimizer.\n\nEach step copies the parameters to their Values. A "
      "`with` block does so only at its end, which is faster for large models. A list of programs must share their "
      "parameters, for example one program per text length. Then step() takes a list: for each program its rows, or "
      "None. A function of @compile is trained like a program, after its first call with rows. schedule is a function "
      "from the number of the step, counted from 0, to the learning rate.\n\n>>> w = "
      "Value(0.0)\n>>> program = compile(lambda row: (w * row[0] - row[1]) ** 2, [[1, 2], [2, 4]], "
      "parameters=[w])\n>>> with Trainer(program, SGD(lr=0.1)) as trainer:\n...     losses = "
      "[trainer.step([[1.0, 2.0], [2.0, 4.0]], mean=True) for _ in range(50)]\n>>> f\"{w.data:.6f}\"\n'2.000000'");
  define_init(bound, "Trainer(program, config, schedule=None)",
              [](const py::object& given, const py::object& config, const py::object& schedule) {
                const OptimizerConfig rule = to_config(config, {"Trainer", "config"});
                const Schedule rates = to_schedule(schedule, {"Trainer", "schedule"});
                py::tuple made_of = py::make_tuple(given, config, schedule);
                // A CompiledFunction (gradwalk/_compile.py) has a Program or a _Function.
                const py::object program = py::hasattr(given, "_trainable") ? given.attr("_trainable")() : given;
                if (py::isinstance<Function>(program)) {
                  const Function& function = Convert<Function>::from(program, {"Trainer", "program"});
                  enter();
                  TrainerPointer made(new TrainerOf{Trainer(function, rule, rates), std::move(made_of)});
                  made->has_function = true;
                  return made;
                }
                if (!py::isinstance<Program>(program)) return trainer_of_list(program, rule, rates, made_of);
                const Program& one = Convert<Program>::from(program, {"Trainer", "program"});
                enter();
                return TrainerPointer(new TrainerOf{Trainer(one, rule, rates), std::move(made_of)});
              });
  define(bound, "Trainer.step(self, rows=None, *, mean=False, weights=None)",
         "Makes one optimizer step and returns what run() would return." + with_trainer +
             "trainer.step([[1.0, 1.0], [2.0, 5.0]], mean=True), w.data\n(1.0, 2.1)",
         [](TrainerOf& self, const py::object& rows, bool mean, const std::optional<Array>& weights) {
           return step(self, rows, mean, weights);
         });
  define(bound, "Trainer.clip_norm(self, most)",
         "Clips the norm of the gradient to `most` in all further steps." + with_trainer +
             "trainer.clip_norm(0.5)\n>>> loss = trainer.step([[1.0, 1.0], [2.0, 5.0]])\n>>> f\"{w:.4f}\"\n'2.0500'",
         [](TrainerOf& self, double most) {
           self.trainer.clip_norm(most);
           self.most = most;
         });
  define(bound, "Trainer.before_update(self, hook)",
         "From now on, calls hook(gradient) before each update. The hook may change the array in place." +
             with_trainer +
             "trainer.before_update(lambda gradient: print(gradient.tolist()))\n>>> loss = trainer.step([[1.0, 1.0], "
             "[2.0, 5.0]])\n[-2.0]",
         [](TrainerOf& self, const py::function& hook) { before_update(self, hook); });
  define(bound, "Trainer.write_back(self)",
         "Copies the parameters to their Values, inside a `with` block." + with_trainer +
             "with trainer:\n...     loss = trainer.step([[1.0, 1.0], [2.0, 5.0]], mean=True)\n...     before = "
             "w.data\n...     trainer.write_back()\n...     print(before, w.data)\n2.0 2.1",
         [](TrainerOf& self) { self.trainer.write_back(); });
  define(bound, "Trainer.read_again(self)",
         "Copies the parameters from their Values, after you have changed them." + with_trainer +
             "w.data = 5.0\n>>> trainer.read_again()\n>>> trainer.step([[1.0, 5.0]])\n0.0",
         [](TrainerOf& self) { self.trainer.read_again(); });
  define(bound, "Trainer.__enter__(self)", "Begins a block in which steps do not copy the parameters.",
         [](const py::object& self) {
           Convert<TrainerOf>::from(self, {"Trainer", "self"}).writes_back = false;
           return self;
         });
  define(bound, "Trainer.__exit__(self, kind=None, error=None, trace=None)", "Copies the parameters to their Values.",
         [](TrainerOf& self, const py::object&, const py::object&, const py::object&) {
           self.writes_back = true;
           self.trainer.write_back();
         });
  define(bound, "Trainer.state_dict(self)",
         "Returns the state of the optimizer as a dict: steps, first and second moments. Save it with the parameters, "
         "and training can continue from both." +
             with_trainer + "trainer.state_dict()\n{'steps': 0, 'first': [], 'second': []}",
         [](TrainerOf& self) { return dict_of(self.trainer.optimizer_state()); });
  define(bound, "Trainer.load_state_dict(self, state)",
         "Continues from a dict of state_dict()." + with_trainer + "trainer.load_state_dict(trainer.state_dict())",
         [](TrainerOf& self, const OptimizerState& state) { self.trainer.set_optimizer_state(state); });
  // gradwalk/_compile.py pickles a Trainer by these.
  define(bound, "Trainer._parts(self)",
         "Returns what the Trainer was made of, its state, its largest norm and its hook.", [](TrainerOf& self) {
           self.trainer.write_back();
           return py::make_tuple(self.made_of, dict_of(self.trainer.optimizer_state()), self.most, self.hook);
         });
  property(bound, "steps", "The number of steps made so far." + with_trainer + "trainer.steps\n0",
           [](const TrainerOf& self) { return self.trainer.steps(); });
}

}  // namespace

void bind_compile(py::module_& module) {
  py::class_<Program> bound(module, "Program", py::dynamic_attr(),
                            "A compiled graph, which runs whole batches of rows. compile() makes one.\n\nprogram(rows) "
                            "returns the outputs in the form that the function returns them.\n\n>>> program = "
                            "compile(lambda row: row[0] * row[1], [[1, 2], [3, 4]])\n>>> program([[1.0, 2.0], [3.0, "
                            "4.0]]).tolist()\n[2.0, 12.0]");
  define(
      bound, "Program.run(self, rows=None, *, mean=False, weights=None)",
      "Returns the sum of the output over the rows, or the mean, and adds its gradients to the parameters.\n\nrows is "
      "an array with one row per sample and one column per input. weights has one number per row." +
          with_program + "program.run([[1.0, 1.0], [2.0, 5.0]]), w.grad\n(2.0, -2.0)",
      [](Program& self, const std::optional<Array>& rows, bool mean, const std::optional<Array>& weights) {
        return run(self, rows, mean, weights);
      });
  define(
      bound, "Program.gradients(self, rows=None, *, mean=False, weights=None, per_row=False, seeds=None)",
      "Returns what run() returns, and the gradients as an array. The parameters keep their own gradients.\n\nWith "
      "per_row, returns the value of each row, and an array with one row of gradients per row. With seeds, one number "
      "per row and output, returns the sum of seed * output over all rows and outputs, and its gradients." +
          with_program +
          "total, slopes = program.gradients([[1.0, 1.0], [2.0, 5.0]])\n>>> total, slopes.tolist()\n(2.0, [-2.0])",
      [](Program& self, const std::optional<Array>& rows, bool mean, const std::optional<Array>& weights, bool per_row,
         const std::optional<Array>& seeds) { return gradients(self, rows, mean, weights, per_row, seeds); });
  define(bound, "Program.evaluate(self, rows=None)",
         "Returns all outputs of each row, as an array with one row per sample." + with_program +
             "program.evaluate([[1.0, 1.0], [2.0, 5.0]]).tolist()\n[[1.0], [1.0]]",
         [](Program& self, const std::optional<Array>& rows) { return evaluate(self, rows); });
  define(bound, "Program.describe(self)",
         "Returns a dict that describes the program: nodes recorded and computed, instructions, layers, constants, "
         "bytes, bytes of machine code among them, instruction set." +
             with_program + "sorted(program.describe())[:3]\n['bytes', 'computed', 'constants']",
         [](const Program& self) { return describe(self); });
  property(bound, "inputs", "The number of inputs of a row." + with_program + "program.inputs\n2",
           [](const Program& self) { return self.inputs(); });
  property(bound, "parameters", "The number of parameters." + with_program + "program.parameters\n1",
           [](const Program& self) { return self.parameters(); });
  property(bound, "outputs", "The number of outputs." + with_program + "program.outputs\n1",
           [](const Program& self) { return self.outputs(); });
  define(module, "_compile(outputs, rows, inputs, parameters, precision, threads, ignore_comparisons)",
         "Compiles a list of Values, or a function of a row that returns one; then rows are the samples.",
         [](const py::object& outputs, const std::optional<Array>& rows, const Nodes& inputs, const Nodes& parameters,
            const std::string& precision_name, std::uint64_t threads, bool ignore_comparisons) {
           CompileOptions options = compile_options(inputs, parameters, precision_name, threads);
           options.ignore_comparisons = ignore_comparisons;
           if (rows) return compile_function(to_function(outputs, {"compile", "outputs"}), *rows, options);
           return compile(to_nodes(outputs, {"compile", "outputs"}), options);
         });
  define(module, "_record(function, row)", "Calls function(row). Returns its result, and whether it branched.",
         [](const py::function& function, const py::object& row) {
           bool branched = false;
           const WatchRecording watch([&](const Condition&) { branched = true; }, [](const Value&) {});
           const py::object returned = function(row);
           enter();
           return py::make_tuple(returned, branched);
         });
  define(module, "_compile_derivatives(output, inputs, parameters, precision, threads, ignore_comparisons)",
         "Compiles the derivatives of a Value.",
         [](const Node& output, const Nodes& inputs, const Nodes& parameters, const std::string& precision_name,
            std::uint64_t threads, bool ignore_comparisons) {
           CompileOptions options = compile_options(inputs, parameters, precision_name, threads);
           options.ignore_comparisons = ignore_comparisons;
           return compile_derivatives(output, options);
         });
  bind_function(module);
  bind_trainer(module);
  define(module, "instruction_sets()",
         "Returns the names of the instruction sets that this machine supports, best first.\n\n>>> 'SCALAR' in "
         "instruction_sets() or len(instruction_sets()) > 0\nTrue",
         [] { return instruction_sets(); });
}

}  // namespace gradwalk::python
