// SPDX-License-Identifier: MIT
// Programs as users have them: numbers from and to Values, checks, and descriptions.
#include "program.hpp"

#include "gradwalk/derivatives.hpp"
#include "text/numbers.hpp"

namespace gradwalk {

Program::Program(std::unique_ptr<State> state) : state_(std::move(state)) {}
Program::Program(Program&&) noexcept = default;
Program& Program::operator=(Program&&) noexcept = default;
Program::~Program() = default;

Program::State& Program::state() const {
  if (state_ == nullptr)
    throw Error("Program", "a program", "one that was moved from", "assign to it before you use it again");
  return *state_;
}

std::size_t Program::inputs() const { return state().inputs; }
std::size_t Program::parameters() const { return state().parameters.size(); }
std::size_t Program::outputs() const { return state().outputs; }
Program::Description Program::describe() const { return state().description; }

double Program::run(std::span<const double> rows, const RunOptions& options) {
  const State::Use use(state(), "Program::run");
  const std::size_t count = state().count_rows("Program::run", rows.size());
  state().load_parameters(rows.data(), count);
  const double result = state().run("Program::run", rows.data(), count, options);
  if (count > 0) state().add_gradients(rows.data(), count);
  return result;
}

double Program::run() {
  const State::Use use(state(), "Program::run");
  state().need_no_inputs("Program::run");
  state().load_parameters();
  const double result = state().run<double>("Program::run", nullptr, 1, {});
  state().add_gradients();
  return result;
}

double Program::gradients(std::span<const double> rows, std::span<double> gradients, const RunOptions& options) {
  const State::Use use(state(), "Program::gradients");
  state().check_buffer("Program::gradients", gradients.size());
  const std::size_t count = state().count_rows("Program::gradients", rows.size());
  state().load_parameters(rows.data(), count);
  const double result = state().run("Program::gradients", rows.data(), count, options);
  state().copy_gradients(gradients);
  return result;
}

double Program::gradients(std::span<double> gradients) {
  const State::Use use(state(), "Program::gradients");
  state().need_no_inputs("Program::gradients");
  state().check_buffer("Program::gradients", gradients.size());
  state().load_parameters();
  const double result = state().run<double>("Program::gradients", nullptr, 1, {});
  state().copy_gradients(gradients);
  return result;
}

double Program::gradients_at(std::span<const double> parameters, std::span<const double> rows,
                             std::span<double> gradients, const RunOptions& options) {
  const char* const call = "Program::gradients_at";
  const State::Use use(state(), call);
  state().check_buffer(call, gradients.size());
  const std::size_t count = state().count_rows(call, rows.size());
  state().load_numbers(call, parameters, rows.data(), count);
  const double result = state().run(call, rows.data(), count, options);
  state().copy_gradients(gradients);
  return result;
}

double Program::gradient_at(std::span<const double> parameters, std::span<double> gradient) {
  const State::Use use(state(), "Program::gradient_at");
  state().check_buffer("Program::gradient_at", gradient.size());
  const double result = state().run_at("Program::gradient_at", parameters, true);
  state().copy_gradients(gradient);
  return result;
}

double Program::value_at(std::span<const double> parameters) {
  const State::Use use(state(), "Program::value_at");
  return state().run_at("Program::value_at", parameters, false);
}

void Program::jacobian_at(std::span<const double> parameters, std::span<double> jacobian) {
  const State::Use use(state(), "Program::jacobian_at");
  state().jacobian_at(parameters, jacobian);
}

SparsePattern Program::jacobian_pattern() const {
  const State::Use use(state(), "Program::jacobian_pattern");
  return state().pattern("Program::jacobian_pattern");
}

void Program::sparse_jacobian_at(std::span<const double> parameters, std::span<double> values) {
  const State::Use use(state(), "Program::sparse_jacobian_at");
  state().sparse_jacobian_at(parameters, values);
}

Program Program::clone() const {
  const State::Use use(state(), "Program::clone");
  return Program(state().twin());
}

void Program::evaluate(std::span<double> outputs) {
  const State::Use use(state(), "Program::evaluate");
  state().need_no_inputs("Program::evaluate");
  state().evaluate(nullptr, 1, outputs);
}

void Program::evaluate(std::span<const double> rows, std::span<double> outputs) {
  const State::Use use(state(), "Program::evaluate");
  state().evaluate(rows.data(), state().count_rows("Program::evaluate", rows.size()), outputs);
}

void Program::parallel_for(std::size_t size, const std::function<void(std::size_t begin, std::size_t end)>& work) {
  state().with_machine([&](auto& machine) { machine.in_parts(size, work); });
}

Program compile(const Value& output, const CompileOptions& options) { return compile(std::span(&output, 1), options); }

namespace {

template <class T> std::unique_ptr<Machine<T>> machine(compiler::Instructions program, const CompileOptions& options) {
  const std::size_t threads = options.threads == 0 ? compiler::hardware_threads() : options.threads;
  return std::make_unique<Machine<T>>(std::move(program), detail::kernels<T>(options.instruction_set), threads);
}

void describe(const compiler::Instructions& program, Program::Description& to) {
  to.instructions = program.varying.size();
  for (const compiler::Instruction& one : program.uniform)
    to.instructions += one.form == compiler::Instruction::Form::steps ? one.terms : 1;
  for (const compiler::Instruction& one : program.varying)
    if (one.form == compiler::Instruction::Form::layer)
      to.layers.push_back(std::to_string(one.count) + " x " + std::to_string(one.depth) +
                          (one.copies > 1 ? ", " + std::to_string(one.copies) + " times" : ""));
}

}  // namespace

namespace {

struct Compiled {
  compiler::Terms forward;  // of a program with a Jacobian: the terms before differentiate
  compiler::Terms terms;
  compiler::Groups groups;
  compiler::Instructions program;
};

// Each pass is verified before the next one reads what it made.
Compiled passes(const compiler::Scalars& scalars) {
  Compiled made;
  if (compiler::verifies) compiler::verify(scalars);
  made.terms = compiler::simplify(scalars);
  if (made.terms.inputs == 0 && made.terms.outputs.size() > 1) made.forward = made.terms;
  if (compiler::verifies) compiler::verify(made.terms);
  made.groups = compiler::lift(made.terms);
  compiler::differentiate(made.terms, made.groups);
  if (compiler::verifies) compiler::verify(made.terms);
  compiler::lift_backward(made.terms, made.groups);
  if (compiler::verifies) compiler::verify(made.terms, made.groups);
  made.program = compiler::schedule(made.terms, made.groups);
  if (compiler::verifies) compiler::verify(made.program);
  return made;
}

}  // namespace

std::unique_ptr<Program::State> Program::State::make(compiler::Recorded recorded, std::vector<bool> guards,
                                                     std::size_t inputs, const CompileOptions& options) {
  Compiled made = passes(recorded.scalars);
  const std::size_t checked = guards.size() + recorded.scalars.index_sizes.size();  // the last outputs
  made.forward.outputs.resize(made.forward.outputs.size() - std::min(made.forward.outputs.size(), checked));
  auto state = std::make_unique<State>();
  state->set_parameters(options.parameters);
  state->inputs = inputs;
  state->outputs = recorded.scalars.outputs.size() - checked;
  state->has_guards = checked > 0;
  made.program.index_sizes = recorded.scalars.index_sizes;
  made.program.guards = std::move(guards);
  state->description.recorded = recorded.scalars.recorded;
  state->description.computed = made.terms.end_of_forward() - made.terms.first_computed();
  for (const compiler::Frozen& one : recorded.frozen)
    state->description.constants.push_back(name(one.leaf) + " = " + detail::format_number(one.data));
  gradwalk::describe(made.program, state->description);
  if (options.precision == Precision::float64)
    state->machine = gradwalk::machine<double>(std::move(made.program), options);
  else
    state->machine = gradwalk::machine<float>(std::move(made.program), options);
  state->description.bytes = state->with_machine([](auto& one) { return one.bytes(); }) +
                             state->parameters.size() * (sizeof(Value) + sizeof(double*)) + made.forward.bytes();
  state->description.instruction_set = detail::kernels<double>(options.instruction_set).name;
  state->frozen = std::move(recorded.frozen);
  state->jacobian_terms = std::move(made.forward);
  state->compile_options = {
      .precision = options.precision, .threads = options.threads, .instruction_set = options.instruction_set};
  return state;
}

std::unique_ptr<Program::State> Program::State::twin() const {
  auto made = std::make_unique<State>();
  made->set_parameters(parameters);
  made->inputs = inputs;
  made->outputs = outputs;
  made->frozen = frozen;
  made->description = description;
  made->jacobian_terms = jacobian_terms;
  made->compile_options = compile_options;
  made->has_guards = has_guards;
  std::visit(
      [&]<class T>(const std::unique_ptr<Machine<T>>& one) {
        made->machine = std::make_unique<Machine<T>>(one->program(), one->kernels(), one->threads());
      },
      machine);
  return made;
}

Program compile(std::span<const Value> outputs, const CompileOptions& options) {
  compiler::Recorded recorded = compiler::record(outputs, options.inputs, options.parameters);
  std::vector<std::string> ignored = compiler::check_comparisons("compile", recorded, options.ignore_comparisons);
  Program program(Program::State::make(std::move(recorded), {}, options.inputs.size(), options));
  program.state().description.ignored_comparisons = std::move(ignored);
  return program;
}

Program compile(const RowFunction& function, const std::vector<std::vector<double>>& rows,
                const CompileOptions& options) {
  return compile(RowOutputs([&](const std::vector<Value>& inputs) { return std::vector{function(inputs)}; }), rows,
                 options);
}

Program compile(const RowOutputs& function, const std::vector<std::vector<double>>& rows,
                const CompileOptions& options) {
  compiler::Watched watched = compiler::record(function, rows, options);
  return Program(
      Program::State::make(std::move(watched.recorded), std::move(watched.guards), rows.front().size(), options));
}

Program compile_derivatives(const Value& output, const CompileOptions& options) {
  if (options.parameters.empty())
    throw Error("compile_derivatives", "parameters to differentiate by", "none", "name them in .parameters");
  return compile(derivatives(output, options.parameters), options);
}

std::vector<PassText> compile_passes(std::span<const Value> outputs, const CompileOptions& options) {
  const compiler::Recorded recorded = compiler::record(outputs, options.inputs, options.parameters);
  const Compiled made = passes(recorded.scalars);
  return {{"record", compiler::dump(recorded.scalars)},
          {"simplify", compiler::dump(made.terms)},
          {"differentiate", compiler::dump_backward(made.terms, made.groups)},
          {"lift", compiler::dump(made.terms, made.groups)},
          {"schedule", compiler::dump(made.program)}};
}

std::vector<std::string> instruction_sets() {
  const auto names = detail::instruction_sets();
  return {names.begin(), names.end()};
}

}  // namespace gradwalk
