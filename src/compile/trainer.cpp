// SPDX-License-Identifier: MIT
// A Trainer has twins of its programs: their parameters are the machines', not the Values'. The first machine's are
// those that are moved; the others have copies of them. A Trainer of a Function has no program: it moves the Values.
#include <algorithm>
#include <cmath>
#include <limits>

#include "program.hpp"

namespace gradwalk {
namespace {

template <class T> using Moments = std::conditional_t<std::is_same_v<T, float>, OptimizerState32, OptimizerState>;

void need_same_parameters(const std::vector<Value>& wanted, const std::vector<Value>& got) {
  if (!std::equal(wanted.begin(), wanted.end(), got.begin(), got.end(),
                  [](const Value& x, const Value& y) { return same_node(x, y); }))
    throw Error("Trainer", "programs with the same parameters", "others, or another order",
                "compile them with the same .parameters");
}

}  // namespace

struct Trainer::State {
  std::vector<std::unique_ptr<Program::State>> programs;
  OptimizerConfig config;
  Schedule schedule;
  std::variant<OptimizerState, OptimizerState32> moments;
  double most_norm = std::numeric_limits<double>::infinity();
  std::function<void(std::span<double>)> hook;
  bool is_in_hook = false;
  std::vector<double> gradient;       // for the hook
  GradientsOfRows gradients_of_rows;  // of a Function; then there are no programs
  std::vector<Value> parameters;      // of a Function
  std::vector<double> numbers;        // their data, while they are moved

  static constexpr const char* call = "Trainer::step";

  Program::State& first() { return *programs.front(); }
  Program::State& only() {
    if (gradients_of_rows)
      throw Error(call, "rows of one Function", "none, or a list", "give a vector with the rows of one step");
    if (programs.size() > 1)
      throw Error(call, "rows of each of its " + std::to_string(programs.size()) + " programs", "rows of one",
                  "give a vector of vectors, empty where a program has no rows");
    return first();
  }

  // A step inside the hook would replace the gradient of the step that called it.
  void refuse_in_hook() const {
    if (is_in_hook)
      throw Error(call, "one step at a time", "one inside the hook of another", "make it after the other");
  }
  void call_hook(std::span<double> gradients) {
    struct Flag {
      bool& is_set;
      explicit Flag(bool& flag) : is_set(flag) { is_set = true; }
      ~Flag() { is_set = false; }
      Flag(const Flag&) = delete;
      Flag& operator=(const Flag&) = delete;
    } const flag(is_in_hook);
    hook(gradients);
  }

  static void refuse_seeds(const RunOptions& options) {
    if (!options.seeds.empty() || options.subset.has_value())
      throw Error(call, "rows without seeds or a subset", options.seeds.empty() ? "a subset" : "seeds",
                  "give weights, or the rows themselves");
  }

  double step_of_function(std::span<const double> rows, const RunOptions& options) {
    refuse_in_hook();
    refuse_seeds(options);
    gradient.resize(parameters.size());
    const double result = gradients_of_rows(rows, gradient, options);
    if (rows.empty()) return result;
    if (hook) call_hook(gradient);
    if (std::isfinite(most_norm)) gradwalk::clip_norm(std::span(gradient), most_norm);
    auto& own = std::get<OptimizerState>(moments);
    numbers.clear();
    for (const Value& parameter : parameters) numbers.push_back(parameter.data());
    update(config, schedule ? schedule(own.steps) : learning_rate(config), numbers, gradient, own);
    for (std::size_t i = 0; i < numbers.size(); ++i) parameters[i].data() = numbers[i];
    return result;
  }

  OptimizerState moments_in_doubles() const {
    return std::visit(
        [](const auto& own) {
          return OptimizerState{
              own.steps, {own.first.begin(), own.first.end()}, {own.second.begin(), own.second.end()}};
        },
        moments);
  }
  void set_moments(const OptimizerState& from) {
    if (gradients_of_rows) {
      moments = from;
      return;
    }
    first().with_machine([&]<class T>(Machine<T>&) {
      moments =
          Moments<T>{from.steps, {from.first.begin(), from.first.end()}, {from.second.begin(), from.second.end()}};
    });
  }

  std::uint64_t steps() const {
    return std::visit([](const auto& one) { return one.steps; }, moments);
  }

  template <class N> double step(const N* rows, std::size_t count, const RunOptions& options) {
    const Program::State::Use use(first(), call);
    refuse_in_hook();
    refuse_seeds(options);
    const double result = only().run(call, rows, count, options);
    if (count > 0) move();
    return result;
  }

  template <class N> double step_of_all(std::span<const std::vector<N>> rows, const RunOptions& options) {
    if (gradients_of_rows) only();
    const Program::State::Use use(first(), call);
    refuse_in_hook();
    refuse_seeds(options);
    if (rows.size() != programs.size())
      throw Error(call, "rows of each of its programs, " + std::to_string(programs.size()) + " vectors",
                  std::to_string(rows.size()), "give an empty vector where a program has no rows");
    std::vector<std::size_t> counts;
    std::size_t all = 0, inputs = 0, outputs = 0;
    for (std::size_t i = 0; i < programs.size(); ++i) {
      counts.push_back(programs[i]->count_rows(call, rows[i].size()));
      all += counts[i];
      inputs += rows[i].size();
      outputs += counts[i] * programs[i]->outputs;
    }
    Program::State::check_room(call, inputs, outputs, options);
    const double* seeds = first().make_seeds(call, all, options);
    double result = 0, *to_inputs = Program::State::to(options.input_gradients),
           *to_outputs = Program::State::to(options.outputs);
    for (std::size_t i = 0; i < programs.size(); ++i) {
      if (i > 0 && counts[i] == 0) continue;  // the first has the gradients that the others add to
      if (i > 0) copy_parameters(first(), *programs[i]);
      result += programs[i]->run(call, rows[i].data(), counts[i], seeds, to_inputs, to_outputs);
      if (i > 0) add_gradients(*programs[i], first());
      if (seeds != nullptr) seeds += counts[i];
      if (to_inputs != nullptr) to_inputs += rows[i].size();
      if (to_outputs != nullptr) to_outputs += counts[i] * programs[i]->outputs;
    }
    if (all > 0) move();
    return result;
  }

  template <class Do> static void with_both(Program::State& from, Program::State& to, Do what) {
    from.with_machine([&]<class T>(Machine<T>& one) { what(one, *std::get<std::unique_ptr<Machine<T>>>(to.machine)); });
  }
  static void copy_parameters(Program::State& from, Program::State& to) {
    with_both(from, to, [](auto& one, auto& other) {
      std::copy(one.parameters().begin(), one.parameters().end(), other.parameters().begin());
    });
  }
  static void add_gradients(Program::State& from, Program::State& to) {
    with_both(from, to, [](auto& one, auto& other) {
      other.gradients_were_written();
      one.kernels().add(one.gradients().size(), one.gradients().data(), other.gradients().data());
    });
  }

  void move() {
    first().with_machine([&]<class T>(Machine<T>& machine) { move(machine, std::get<Moments<T>>(moments)); });
  }
  template <class T> void move(Machine<T>& machine, Moments<T>& own) {
    const std::span<T> gradients = machine.gradients();
    if (hook) {
      give_to_hook(gradients);
      machine.gradients_were_written();
    }
    if (std::isfinite(most_norm)) gradwalk::clip_norm(gradients, most_norm);
    const double rate = schedule ? schedule(own.steps) : learning_rate(config);
    ++own.steps;
    const auto update = [&](std::size_t begin, std::size_t end) {
      update_part(config, rate, machine.parameters(), std::span<const T>(gradients), own, begin, end);
    };
    if (!machine.has_looked_up() || hook || programs.size() > 1 || !keeps_without_gradient(config))
      return machine.in_parts(gradients.size(), update);
    for (const compiler::Range& range : machine.used_parameters()) update(range.begin, range.begin + range.count);
  }
  // Whether a step leaves a parameter as it is if its gradient is 0. Then a step moves only those that the rows used.
  static bool keeps_without_gradient(const OptimizerConfig& config) {
    if (const SGD* const sgd = std::get_if<SGD>(&config)) return sgd->momentum == 0 && sgd->weight_decay == 0;
    return std::holds_alternative<Adagrad>(config);
  }

  template <class T> void give_to_hook(std::span<T> gradients) {
    gradient.assign(gradients.begin(), gradients.end());
    call_hook(gradient);
    std::transform(gradient.begin(), gradient.end(), gradients.begin(), [](double g) { return static_cast<T>(g); });
  }
};

Trainer::Trainer(const Program& program, const OptimizerConfig& config, Schedule schedule)
    : Trainer(std::span(&program, 1), config, std::move(schedule)) {}

Trainer::Trainer(std::span<const Program> programs, const OptimizerConfig& config, Schedule schedule)
    : state_(std::make_unique<State>()) {
  check_config(config);
  if (programs.empty()) throw Error("Trainer", "at least one program", "none", "give those it is to run");
  for (const Program& program : programs) {
    need_same_parameters(programs.front().state().parameters, program.state().parameters);
    if (program.state().machine.index() != programs.front().state().machine.index())
      throw Error("Trainer", "programs of one precision", "float64 and float32",
                  "compile all with the same .precision");
    state_->programs.push_back(program.state().twin());
  }
  state_->config = config;
  state_->schedule = std::move(schedule);
  state_->set_moments(initial_state(config, state_->first().parameters.size()));
  state_->first().load_parameters();
}

Trainer::Trainer(const std::vector<Value>& parameters, GradientsOfRows gradients, const OptimizerConfig& config,
                 Schedule schedule)
    : state_(std::make_unique<State>()) {
  check_config(config);
  state_->parameters = parameters;
  state_->gradients_of_rows = std::move(gradients);
  state_->config = config;
  state_->schedule = std::move(schedule);
  state_->set_moments(initial_state(config, parameters.size()));
}

Trainer::Trainer(Trainer&&) noexcept = default;

Trainer::~Trainer() {  // NOLINT(bugprone-exception-escape): none does
  if (state_ == nullptr) return;
  try {
    write_back();
  } catch (...) {  // NOLINT(bugprone-empty-catch): on another thread, where the Values cannot be reached
  }
}

Trainer::State& Trainer::state() const {
  if (state_ == nullptr) throw Error("Trainer", "a trainer", "one that was moved from", "use the one it was moved to");
  return *state_;
}

double Trainer::step(std::span<const double> rows, const RunOptions& options) {
  if (state().gradients_of_rows) return state().step_of_function(rows, options);
  return state().step(rows.data(), state().only().count_rows(State::call, rows.size()), options);
}
double Trainer::step(std::span<const float> rows, const RunOptions& options) {
  if (state().gradients_of_rows)
    return state().step_of_function(std::vector<double>(rows.begin(), rows.end()), options);
  return state().step(rows.data(), state().only().count_rows(State::call, rows.size()), options);
}
double Trainer::step() {
  state().only().need_no_inputs(State::call);
  return state().step<double>(nullptr, 1, {});
}
double Trainer::step(std::span<const std::vector<double>> rows, const RunOptions& options) {
  return state().step_of_all(rows, options);
}
double Trainer::step(std::span<const std::vector<float>> rows, const RunOptions& options) {
  return state().step_of_all(rows, options);
}

void Trainer::clip_norm(double most) {
  gradwalk::clip_norm(std::span<double>(), most);  // an Error where it is no bound
  state().most_norm = most;
}
void Trainer::before_update(std::function<void(std::span<double>)> hook) { state().hook = std::move(hook); }
void Trainer::write_back() {
  if (state().gradients_of_rows) return;
  const Program::State::Use use(state().first(), "Trainer::write_back");
  state().first().store_parameters();
}
void Trainer::read_again() {
  if (state().gradients_of_rows) return;
  const Program::State::Use use(state().first(), "Trainer::read_again");
  state().first().load_parameters();
}
std::uint64_t Trainer::steps() const { return state().steps(); }
OptimizerState Trainer::optimizer_state() const { return state().moments_in_doubles(); }
void Trainer::set_optimizer_state(const OptimizerState& from) {
  const bool has_program = !state().gradients_of_rows;
  check_state(state().config, has_program ? state().first().parameters.size() : state().parameters.size(), from);
  state().set_moments(from);
}

}  // namespace gradwalk
