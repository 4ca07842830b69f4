// SPDX-License-Identifier: MIT
// Programs as users have them: numbers from and to Values, checks, and descriptions.
#include "program.hpp"

#include <algorithm>

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
Program::Description Program::describe() const {
  const State::Use use(state(), "Program::describe");
  Description description = state().description;
  description.bytes = state().bytes();
  description.machine_code = state().with_machine([](const auto& one) { return one.code_bytes(); });
  return description;
}

double Program::run() {
  const State::Use use(state(), "Program::run");
  state().need_no_inputs("Program::run");
  state().load_parameters();
  const double result = state().run<double>("Program::run", nullptr, 1, {});
  state().add_gradients();
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
  return std::make_unique<Machine<T>>(std::move(program), detail::kernels<T>(options.instruction_set), threads,
                                      options.machine_code);
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
  compiler::Terms forward;  // of a program with several outputs: the terms before differentiate
  compiler::Terms terms;
  compiler::Groups groups;
  compiler::Instructions program;
};

// Each pass is verified before the next one reads what it made.
Compiled passes(compiler::Terms terms) {
  Compiled made;
  made.terms = std::move(terms);
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

Compiled passes(const compiler::Scalars& scalars) {
  if (compiler::verifies) compiler::verify(scalars);
  compiler::Terms terms = compiler::simplify(scalars), forward;
  if (terms.outputs.size() > 1) forward = terms;
  Compiled made = passes(std::move(terms));
  made.forward = std::move(forward);
  return made;
}

}  // namespace

compiler::Instructions Program::State::instructions_of(compiler::Terms terms) {
  return passes(std::move(terms)).program;
}

void Program::State::make_machine(compiler::Instructions program) {
  if (compile_options.precision == Precision::float64)
    machine = gradwalk::machine<double>(std::move(program), compile_options);
  else
    machine = gradwalk::machine<float>(std::move(program), compile_options);
}

std::unique_ptr<Program::State> Program::State::make(compiler::Recorded recorded, std::vector<bool> guards,
                                                     std::size_t inputs, const CompileOptions& options) {
  for (const std::size_t size : recorded.scalars.index_sizes)
    if (options.precision == Precision::float32 && size > (std::size_t{1} << 24))
      throw Error("compile", "at most 16777216 values to pick from in float32, which has no larger indices",
                  std::to_string(size), "compile in float64");
  Compiled made = passes(recorded.scalars);
  const std::size_t checked = guards.size() + recorded.scalars.index_sizes.size();  // the last outputs
  auto state = std::make_unique<State>();
  if (made.forward.outputs.size() <= checked + 1 || (inputs > 0 && !options.output_seeds)) {
    made.forward = {};
  } else {
    const auto wanted = made.forward.outputs.end() - static_cast<std::ptrdiff_t>(checked);
    state->checked_outputs.assign(wanted, made.forward.outputs.end());
    made.forward.outputs.erase(wanted, made.forward.outputs.end());
  }
  state->set_parameters(options.parameters);
  state->inputs = inputs;
  state->outputs = recorded.scalars.outputs.size() - checked;
  state->has_guards = checked > 0;
  made.program.index_sizes = recorded.scalars.index_sizes;
  made.program.guards = std::move(guards);
  state->description.recorded = recorded.scalars.recorded;
  state->description.computed = made.terms.end_of_forward() - made.terms.first_computed();
  constexpr std::size_t listed = 20;  // constants
  for (std::size_t i = 0; i < std::min(listed, recorded.frozen.size()); ++i)
    state->description.constants.push_back(name(recorded.frozen[i].leaf) + " = " +
                                           detail::format_number(recorded.frozen[i].data));
  if (recorded.frozen.size() > listed)
    state->description.constants.push_back(
        "and " + detail::counted(recorded.frozen.size() - listed, "other leaf", "other leaves"));
  gradwalk::describe(made.program, state->description);
  state->compile_options = {.precision = options.precision,
                            .threads = options.threads,
                            .instruction_set = options.instruction_set,
                            .machine_code = options.machine_code};
  state->make_machine(std::move(made.program));
  state->description.instruction_set = detail::kernels<double>(options.instruction_set).name;
  state->frozen = std::move(recorded.frozen);
  state->forward_terms = std::move(made.forward);
  return state;
}

std::unique_ptr<Program::State> Program::State::twin() const {
  auto made = std::make_unique<State>();
  made->set_parameters(parameters);
  made->inputs = inputs;
  made->outputs = outputs;
  made->frozen = frozen;
  made->description = description;
  made->forward_terms = forward_terms;
  made->checked_outputs = checked_outputs;
  made->compile_options = compile_options;
  made->has_guards = has_guards;
  std::visit(
      [&]<class T>(const std::unique_ptr<Machine<T>>& one) {
        made->machine =
            std::make_unique<Machine<T>>(one->program(), one->kernels(), one->threads(), compile_options.machine_code);
      },
      machine);
  return made;
}

Program compile(std::span<const Value> outputs, const CompileOptions& options) {
  compiler::Recorded recorded = compiler::record(outputs, options.inputs, options.parameters);
  std::vector<std::string> ignored =
      compiler::check_comparisons("compile", recorded.decisions, options.ignore_comparisons);
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
  compiler::check_comparisons("compile_derivatives", Reading(output).decisions(), options.ignore_comparisons);
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
