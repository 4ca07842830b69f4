// SPDX-License-Identifier: MIT
// A Trainer has a twin of the program: its parameters are the machine's, not the Values'.
#include <cmath>
#include <limits>

#include "program.hpp"

namespace gradwalk {
namespace {

template <class T> using Moments = std::conditional_t<std::is_same_v<T, float>, OptimizerState32, OptimizerState>;

}  // namespace

struct Trainer::State {
  std::unique_ptr<Program::State> program;
  OptimizerConfig config;
  Schedule schedule;
  std::variant<OptimizerState, OptimizerState32> moments;
  double most_norm = std::numeric_limits<double>::infinity();
  std::function<void(std::span<double>)> hook;
  std::vector<double> gradient;  // for the hook

  std::uint64_t steps() const {
    return std::visit([](const auto& one) { return one.steps; }, moments);
  }

  template <class N> double step(const N* rows, std::size_t count, const RunOptions& options) {
    const double result = program->run("Trainer::step", rows, count, options);
    if (count > 0)
      program->with_machine([&]<class T>(Machine<T>& machine) { move(machine, std::get<Moments<T>>(moments)); });
    return result;
  }

  template <class T> void move(Machine<T>& machine, Moments<T>& own) {
    const std::span<T> gradients = machine.gradients();
    if (hook) call_hook(gradients);
    if (std::isfinite(most_norm)) gradwalk::clip_norm(gradients, most_norm);
    const double rate = schedule ? schedule(own.steps) : learning_rate(config);
    ++own.steps;
    machine.in_parts(gradients.size(), [&](std::size_t begin, std::size_t end) {
      update_part(config, rate, machine.parameters(), std::span<const T>(gradients), own, begin, end);
    });
  }

  template <class T> void call_hook(std::span<T> gradients) {
    gradient.assign(gradients.begin(), gradients.end());
    hook(gradient);
    std::transform(gradient.begin(), gradient.end(), gradients.begin(), [](double g) { return static_cast<T>(g); });
  }
};

Trainer::Trainer(const Program& program, const OptimizerConfig& config, Schedule schedule)
    : state_(std::make_unique<State>()) {
  check_config(config);
  state_->program = program.state().twin();
  state_->config = config;
  state_->schedule = std::move(schedule);
  state_->program->with_machine([&]<class T>(Machine<T>&) {
    const OptimizerState first = initial_state(config, program.parameters());
    state_->moments =
        Moments<T>{first.steps, {first.first.begin(), first.first.end()}, {first.second.begin(), first.second.end()}};
  });
  state_->program->load_parameters();
}

Trainer::Trainer(Trainer&&) noexcept = default;

Trainer::~Trainer() {
  if (state_ == nullptr) return;
  try {
    write_back();
  } catch (const Error&) {  // on another thread, where the Values cannot be reached
  }
}

Trainer::State& Trainer::state() const {
  if (state_ == nullptr) throw Error("Trainer", "a trainer", "one that was moved from", "use the one it was moved to");
  return *state_;
}

double Trainer::step(std::span<const double> rows, const RunOptions& options) {
  return state().step(rows.data(), state().program->count_rows("Trainer::step", rows.size()), options);
}
double Trainer::step(std::span<const float> rows, const RunOptions& options) {
  return state().step(rows.data(), state().program->count_rows("Trainer::step", rows.size()), options);
}
double Trainer::step() {
  state().program->need_no_inputs("Trainer::step");
  return state().step<double>(nullptr, 1, {});
}

void Trainer::clip_norm(double most) {
  gradwalk::clip_norm(std::span<double>(), most);  // an Error where it is no bound
  state().most_norm = most;
}
void Trainer::before_update(std::function<void(std::span<double>)> hook) { state().hook = std::move(hook); }
void Trainer::write_back() { state().program->store_parameters(); }
void Trainer::read_again() { state().program->load_parameters(); }
std::uint64_t Trainer::steps() const { return state().steps(); }

}  // namespace gradwalk
