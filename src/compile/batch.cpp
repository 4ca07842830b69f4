// SPDX-License-Identifier: MIT
// Runs with a subset of the rows, with a seed per output, and with a gradient per row.
//
// A program with inputs differentiates its first output. With seeds, it differentiates the sum of seed * output over
// all outputs. So another program is made when seeds are first given: the seeds are inputs of it, after the others, and
// that sum is its first output.
#include "batch.hpp"

#include <algorithm>

#include "gradwalk/error.hpp"

namespace gradwalk::compiler {
namespace {

// The terms of a program without its backward pass; `outputs` of its outputs get seeds.
Terms with_seeds(const Terms& terms, std::size_t outputs) {
  const auto first = static_cast<Id>(terms.parameters + terms.inputs), seeds = static_cast<Id>(outputs);
  const auto moved = [=](Id id) { return id == none || id < first ? id : id + seeds; };
  Terms made = terms;
  made.inputs += seeds;
  made.nodes.insert(made.nodes.begin() + first, seeds, {Kind::input, Op::leaf, Rate::varying, 0, 0, 0, none, 0});
  for (Id& id : made.operands) id = moved(id);
  for (Product& product : made.products) product.a = moved(product.a), product.b = moved(product.b);
  for (std::vector<Id>& table : made.tables)
    for (Id& id : table) id = moved(id);
  for (Id& id : made.outputs) id = moved(id);
  const auto begin = static_cast<std::uint32_t>(made.products.size());
  for (Id i = 0; i < seeds; ++i) {
    const Node& output = made.nodes[made.outputs[i]];
    if (output.rate == Rate::constant)
      made.products.push_back({output.number, first + i, none});
    else
      made.products.push_back({1, made.outputs[i], first + i});
  }
  made.outputs.insert(made.outputs.begin(), static_cast<Id>(made.nodes.size()));
  made.nodes.push_back({Kind::sum, Op::leaf, Rate::varying, 0, begin, seeds, none, 0});
  return made;
}

}  // namespace
}  // namespace gradwalk::compiler

namespace gradwalk {

Program::State& Program::State::seeded_program() {
  if (seeded != nullptr) return *seeded;
  auto made = std::make_unique<State>();
  made->set_parameters(parameters);
  made->inputs = inputs + outputs;
  made->outputs = 1 + outputs;
  made->compile_options = compile_options;
  compiler::Terms terms = forward_terms;
  terms.outputs.insert(terms.outputs.end(), checked_outputs.begin(), checked_outputs.end());
  compiler::Instructions program = instructions_of(compiler::with_seeds(terms, outputs));
  with_machine([&](const auto& one) {
    program.guards = one.program().guards;
    program.index_sizes = one.program().index_sizes;
  });
  made->make_machine(std::move(program));
  seeded = std::move(made);
  return *seeded;
}

Program::State::Batch::Batch(State& program, const char* call, std::span<const double> rows, const RunOptions& options)
    : program_(program), call_(call), given_(options), options_(options) {
  const std::size_t width = program.inputs, results = program.outputs;
  if (width == 0 && rows.empty()) {
    count_ = 1;
  } else {
    count_ = program.count_rows(call, rows.size());
    rows_ = rows;
  }
  if (options.subset) take_subset();
  check_room(call, count_ * width, count_ * results, options);
  if (options.seeds.empty()) return;
  if (options.seeds.size() != count_ * results)
    throw Error(call, std::to_string(count_ * results) + " seeds", std::to_string(options.seeds.size()),
                "give one number per row and output");
  if (!options.weights.empty() || options.result != RunOptions::Result::sum)
    throw Error(call, "seeds alone", "weights or a mean, too", "multiply the seeds by them");
  if (width > 0 && results == 1) options_.weights = options.seeds;
  if (width == 0 || results == 1) return;
  if (program.forward_terms.outputs.empty())
    throw Error(call, "a program that was compiled for seeds", "one without", "compile it with .output_seeds = true");
  is_seeded_ = true;
  add_seeds();
}

void Program::State::Batch::take_subset() {
  const std::size_t width = program_.inputs, all = count_;
  if (width == 0) throw Error(call_, "no subset: the program has no rows", "one", "leave .subset out");
  numbers_.reserve(given_.subset->size() * width);
  for (const std::size_t row : *given_.subset) {
    if (row >= all)
      throw Error(call_, "a subset of the " + std::to_string(all) + " rows", "row " + std::to_string(row),
                  "count the rows from 0");
    numbers_.insert(numbers_.end(), rows_.begin() + static_cast<std::ptrdiff_t>(row * width),
                    rows_.begin() + static_cast<std::ptrdiff_t>((row + 1) * width));
  }
  rows_ = numbers_;
  count_ = given_.subset->size();
}

// The seeds of a row come after its inputs.
void Program::State::Batch::add_seeds() {
  const std::size_t width = program_.inputs, results = program_.outputs;
  std::vector<double> all;
  all.reserve(count_ * (width + results));
  for (std::size_t row = 0; row < count_; ++row) {
    const auto from = rows_.subspan(row * width, width), own = given_.seeds.subspan(row * results, results);
    all.insert(all.end(), from.begin(), from.end());
    all.insert(all.end(), own.begin(), own.end());
  }
  numbers_ = std::move(all);
  rows_ = numbers_;
  options_ = {};
  if (!given_.input_gradients.empty()) {
    input_gradients_.resize(rows_.size());
    options_.input_gradients = input_gradients_;
  }
  if (!given_.outputs.empty()) {
    outputs_.resize(count_ * (1 + results));
    options_.outputs = outputs_;
  }
}

Program::State& Program::State::Batch::state() { return is_seeded_ ? program_.seeded_program() : program_; }

double Program::State::Batch::run() {
  if (program_.inputs == 0 && !given_.seeds.empty()) return run_outputs_with_seeds();
  if (is_seeded_) program_.check_frozen(call_);
  const double result = state().run(call_, rows_.data(), count_, options_);
  if (!is_seeded_) return result;
  const std::size_t width = program_.inputs, results = program_.outputs;
  for (std::size_t row = 0; row < count_; ++row) {
    if (!given_.input_gradients.empty())
      std::copy_n(input_gradients_.begin() + static_cast<std::ptrdiff_t>(row * (width + results)), width,
                  given_.input_gradients.begin() + static_cast<std::ptrdiff_t>(row * width));
    if (!given_.outputs.empty())
      std::copy_n(outputs_.begin() + static_cast<std::ptrdiff_t>(row * (1 + results) + 1), results,
                  given_.outputs.begin() + static_cast<std::ptrdiff_t>(row * results));
  }
  return result;
}

double Program::State::Batch::run_outputs_with_seeds() {
  program_.check_frozen(call_);
  return program_.with_machine([&](auto& one) { return one.run_with_seeds(given_.seeds.data(), to(given_.outputs)); });
}

double Program::run(std::span<const double> rows, const RunOptions& options) {
  const State::Use use(state(), "Program::run");
  State::Batch batch(state(), "Program::run", rows, options);
  batch.state().load_parameters(batch.rows().data(), batch.count());
  const double result = batch.run();
  if (batch.count() > 0) batch.state().add_gradients();
  return result;
}

double Program::gradients(std::span<const double> rows, std::span<double> gradients, const RunOptions& options) {
  const char* const call = "Program::gradients";
  const State::Use use(state(), call);
  state().check_buffer(call, gradients.size());
  State::Batch batch(state(), call, rows, options);
  batch.state().load_parameters(batch.rows().data(), batch.count());
  const double result = batch.run();
  batch.state().copy_gradients(gradients);
  return result;
}

double Program::gradients_at(std::span<const double> parameters, std::span<const double> rows,
                             std::span<double> gradients, const RunOptions& options) {
  const char* const call = "Program::gradients_at";
  const State::Use use(state(), call);
  state().check_buffer(call, gradients.size());
  State::Batch batch(state(), call, rows, options);
  batch.state().load_numbers(call, parameters, batch.rows().data(), batch.count());
  const double result = batch.run();
  batch.state().copy_gradients(gradients);
  return result;
}

void Program::row_gradients(std::span<const double> rows, std::span<double> gradients, std::span<double> outputs) {
  const char* const call = "Program::row_gradients";
  const State::Use use(state(), call);
  State& program = state();
  const std::size_t count = program.count_rows(call, rows.size()), parameters = program.parameters.size();
  if (gradients.size() != count * parameters)
    throw Error(call, "space for " + std::to_string(count * parameters) + " gradients",
                "space for " + std::to_string(gradients.size()), "give one number per row and parameter");
  State::check_room(call, 0, count * program.outputs, {.outputs = outputs});
  program.check_frozen(call);
  program.load_parameters(rows.data(), count);
  for (std::size_t row = 0; row < count; ++row) {
    program.run(call, rows.data() + row * program.inputs, 1, nullptr, nullptr,
                outputs.empty() ? nullptr : outputs.data() + row * program.outputs);
    program.copy_gradients(gradients.subspan(row * parameters, parameters));
  }
}

}  // namespace gradwalk
