// SPDX-License-Identifier: MIT
// A Trainer has a machine of its own: its parameters are the machine's, not the Values'.
#include <cmath>
#include <limits>

#include "program.hpp"

namespace gradwalk {
namespace {

template <class T> struct Moments;
template <> struct Moments<double> {
  using type = OptimizerState;
};
template <> struct Moments<float> {
  using type = OptimizerState32;
};

template <class T> typename Moments<T>::type first_state(const OptimizerConfig& config, std::size_t parameters) {
  const OptimizerState made = initial_state(config, parameters);
  return {made.steps, {made.first.begin(), made.first.end()}, {made.second.begin(), made.second.end()}};
}

}  // namespace

struct Trainer::State {
  template <class T> struct Side {
    std::unique_ptr<Machine<T>> machine;
    typename Moments<T>::type moments;
  };

  Program::State numbers;  // checks, weights; its machine is not used
  OptimizerConfig config;
  Schedule schedule;
  double most_norm = std::numeric_limits<double>::infinity();
  std::function<void(std::span<double>)> hook;
  std::vector<double> gradient;  // for the hook
  std::variant<Side<double>, Side<float>> side;

  template <class Do> auto with_side(Do what) {
    return std::visit([&](auto& one) { return what(one); }, side);
  }

  void load() {
    with_side([&](auto& one) { numbers.load_parameters(*one.machine); });
  }

  void write_back() {
    with_side([&](auto& one) {
      const auto from = one.machine->parameters();
      if (from.empty()) return;
      std::as_const(numbers.parameters.front()).data();  // an Error on a thread that is not theirs
      for (std::size_t i = 0; i < from.size(); ++i) *numbers.addresses[i].data = static_cast<double>(from[i]);
    });
  }

  template <class N> double step(const N* rows, std::size_t count, const RunOptions& options) {
    const char* const call = "Trainer::step";
    numbers.check_frozen(call);
    const double* const seeds = numbers.make_seeds(call, count, options);
    double result = 0;
    with_side([&](auto& one) {
      typename std::decay_t<decltype(*one.machine)>::Rows all;
      all.count = count;
      all.set(rows);
      all.seeds = seeds;
      result = one.machine->run(all, true);
      if (count == 0) return;
      const auto gradients = one.machine->gradients();
      if (hook) call_hook(gradients);
      if (std::isfinite(most_norm)) clip(gradients);
      const double lr = schedule ? schedule(one.moments.steps) : learning_rate(config);
      update(config, lr, one.machine->parameters(), gradients, one.moments);
    });
    return result;
  }

  template <class T> void call_hook(std::span<T> gradients) {
    gradient.assign(gradients.begin(), gradients.end());
    hook(gradient);
    std::transform(gradient.begin(), gradient.end(), gradients.begin(), [](double g) { return static_cast<T>(g); });
  }

  template <class T> void clip(std::span<T> gradients) const {
    double squares = 0;
    for (const T g : gradients) squares += static_cast<double>(g) * static_cast<double>(g);
    const auto factor = static_cast<T>(std::min(most_norm / (std::sqrt(squares) + 1e-6), 1.0));
    for (T& g : gradients) g *= factor;
  }
};

Trainer::Trainer(const Program& program, const OptimizerConfig& config, Schedule schedule)
    : state_(std::make_unique<State>()) {
  check_config(config);
  const Program::State& from = *program.state_;
  State& own = *state_;
  own.numbers.set_parameters(from.parameters);
  own.numbers.inputs = from.inputs;
  own.numbers.outputs = from.outputs;
  own.numbers.frozen = from.frozen;
  own.config = config;
  own.schedule = std::move(schedule);
  std::visit(
      [&]<class T>(const std::unique_ptr<Machine<T>>& machine) {
        own.side =
            State::Side<T>{std::make_unique<Machine<T>>(machine->program(), machine->kernels(), machine->threads()),
                           first_state<T>(config, own.numbers.parameters.size())};
      },
      from.machine);
  own.load();
}

Trainer::Trainer(Trainer&&) noexcept = default;

Trainer::~Trainer() {
  if (state_ == nullptr) return;
  try {
    state_->write_back();
  } catch (const Error&) {  // on another thread, where the Values cannot be reached
  }
}

double Trainer::step(std::span<const double> rows, const RunOptions& options) {
  return state_->step(rows.data(), state_->numbers.count_rows("Trainer::step", rows.size()), options);
}
double Trainer::step(std::span<const float> rows, const RunOptions& options) {
  return state_->step(rows.data(), state_->numbers.count_rows("Trainer::step", rows.size()), options);
}
double Trainer::step() {
  state_->numbers.need_no_inputs("Trainer::step");
  return state_->step(static_cast<const double*>(nullptr), 1, {});
}

void Trainer::clip_norm(double most) {
  if (!(most >= 0))
    throw Error("Trainer::clip_norm", "a bound >= 0", std::to_string(most), "give a number that is not negative");
  state_->most_norm = most;
}
void Trainer::before_update(std::function<void(std::span<double>)> hook) { state_->hook = std::move(hook); }
void Trainer::write_back() { state_->write_back(); }
void Trainer::read_again() { state_->load(); }
std::uint64_t Trainer::steps() const {
  return state_->with_side([](const auto& one) { return one.moments.steps; });
}

}  // namespace gradwalk
