// SPDX-License-Identifier: MIT
// A Trainer puts steps on the stream of its machine without waiting for each. A step whose results are not all finite
// changes nothing, and neither do the steps after it: the host sees how many were made, makes the next one with guarded
// kernels, and continues from there.
#include <algorithm>
#include <cmath>
#include <limits>

#include "gradwalk/error.hpp"
#include "machine.hpp"
#include "nvrtc.hpp"
#include "update_text.hpp"

namespace gradwalk::gpu {
namespace {

constexpr const char* construction = "gpu::Trainer";

// Throws an Error for a program that cannot be trained.
void check_machine(const Machine& machine) {
  if (machine.options.parameters.empty())
    throw Error(construction, "a program with parameters", "one without", "name them in .parameters");
  if (machine.options.input_gradients)
    throw Error(construction, "a program without input gradients", "one with them",
                "compile it without .input_gradients");
}

// The rows of one step after another: `batch` rows each, and fewer at the end of the rows.
class Batches {
 public:
  Batches(const StoredRows& rows, const StepOptions& options, std::size_t number_size)
      : rows_(rows), first_(options.first_row), number_size_(number_size) {
    const std::size_t rest = rows.count - first_;
    most_ = options.batch == 0 ? rest : std::min(options.batch, rest);
    goes_on_ = options.batch != 0;
  }
  std::size_t most() const { return most_; }
  RowRange current() const {
    return {std::min(most_, rows_.count - first_), rows_.address + first_ * rows_.inputs * number_size_, first_};
  }
  void go_on() {
    if (!goes_on_) return;
    first_ += most_;
    if (first_ >= rows_.count) first_ = 0;
  }

 private:
  const StoredRows& rows_;
  std::size_t first_, most_ = 0, number_size_;
  bool goes_on_ = false;
};

}  // namespace

struct Trainer::State : Machine {
  State(const Machine& machine, const OptimizerConfig& given, Schedule rates)
      : Machine(construction, machine),
        config(given),
        schedule(std::move(rates)),
        rule(detail::rule_of(config)),
        code(construction, update_text(rule, options.precision),
             flags_for(source(), architecture_of(construction, options.device), true), options.device,
             options.cache.empty() ? cache_folder() : options.cache),
        check_kernel(code.find(construction, "gradwalk_check")),
        update_kernel(code.find(construction, "gradwalk_update")) {
    const std::size_t bytes = source().parameters * number_size();
    if (has_first(rule)) first = DeviceMemory(construction, options.device, bytes);
    if (has_second(rule)) second = DeviceMemory(construction, options.device, bytes);
    outcome = DeviceMemory(construction, options.device, 2 * number_size());
    seen = DeviceMemory(construction, options.device, 2 * most_check_blocks * sizeof(double));
    set(construction, initial_state(config, source().parameters));
    load(construction);
  }

  // ---- between host and device ----

  void put(const char* call, const DeviceMemory& to, std::span<const double> numbers) {
    driver.use(call, options.device);
    upload(call, to, numbers);
    wait(call);
  }
  void load(const char* call) { put(call, parameters, parameter_values()); }
  std::vector<double> get(const char* call, const DeviceMemory& from) {
    if (from.address() == 0) return {};
    driver.use(call, options.device);
    const Numbers numbers = download(call, from.address(), source().parameters);
    std::vector<double> made(source().parameters);
    for (std::size_t i = 0; i < made.size(); ++i) made[i] = numbers[i];
    return made;
  }
  void write_back(const char* call) {
    const std::vector<double> numbers = get(call, parameters);
    for (std::size_t i = 0; i < numbers.size(); ++i) options.parameters[i].data() = numbers[i];
  }
  void set(const char* call, const OptimizerState& state) {
    put(call, first, state.first);
    put(call, second, state.second);
    steps = state.steps;
  }

  // ---- steps ----

  // Throws an Error if the steps cannot be made with these rows.
  void check(const char* call, const StoredRows* rows, std::uint64_t count, const StepOptions& given) const {
    check_rows(call, rows);
    if (given.first_row % tile != 0 || given.first_row > rows->count)
      throw Error(call, "first_row as a multiple of 32 up to " + std::to_string(rows->count),
                  std::to_string(given.first_row), "rows are stored in tiles of 32");
    if (count > 1 && given.batch % tile != 0)
      throw Error(call, "a batch that is a multiple of 32 rows", std::to_string(given.batch),
                  "rows are stored in tiles of 32; the last batch can be smaller");
  }

  // Puts the update by the results of a run on the stream. It is the step of this number since begin().
  void update(const char* call, Address results, std::size_t number, bool is_checked, double share, double rate) {
    auto count = static_cast<unsigned>(source().parameters), step = static_cast<unsigned>(number);
    unsigned checks = is_checked ? 1 : 0;
    auto numbers = detail::numbers_of(config, rate, steps + number + 1);
    auto floats = detail::converted<float>(numbers);
    void* const typed = options.precision == Precision::float32 ? static_cast<void*>(&floats) : &numbers;
    Address p = parameters.address(), m = first.address(), v = second.address(), to = outcome.address(),
            squares = seen.address();
    constexpr unsigned results_of_block = 4 * update_threads;
    unsigned blocks = std::min(count / results_of_block + 1, most_check_blocks);
    launch(call, check_kernel, {blocks}, update_threads, {&count, &step, &checks, &share, &results, &to, &squares});
    launch(call, update_kernel, {count / update_threads + 1}, update_threads,
           {&count, &step, &share, &most_norm, typed, &blocks, &squares, &results, &p, &m, &v, &to});
  }
  void begin(const char* call) {
    driver.check(call, driver.fill(outcome.address(), 0, 2 * number_size() / sizeof(unsigned), stream),
                 "cuMemsetD32Async");
  }
  // Makes steps on the device, one per rate, until one gives a number that is not finite. Returns how many were made.
  std::size_t make(const char* call, const Kernels& of, bool is_checked, std::span<const double> rates,
                   const Batches& batches, const StepOptions& given) {
    Batches next = batches;
    double share = 1;
    begin(call);
    for (std::size_t i = 0; i < rates.size(); ++i, next.go_on()) {
      const RowRange range = next.current();
      share = given.mean ? 1 / static_cast<double>(range.count) : 1;
      update(call, run(call, of, range, given.seed + steps + i, 0, 0), i, is_checked, share, rates[i]);
    }
    const Numbers found = download(call, outcome.address(), 2);
    const auto made = static_cast<std::size_t>(found[1]);
    steps += made;
    loss = share * found[0];
    return made;
  }

  double run_steps(const char* call, const StoredRows* rows, std::uint64_t count, const StepOptions& given) {
    check(call, rows, count, given);
    Batches batches(*rows, given, number_size());
    if (count == 0 || batches.most() == 0) return 0;
    driver.use(call, options.device);
    reserve(call, *kernels, batches.most());
    constexpr std::size_t most_at_once = 256;
    std::size_t at_once = most_at_once;
    std::vector<double> rates;
    for (std::uint64_t done = 0; done < count;) {
      const std::size_t wanted = std::min<std::uint64_t>(at_once, count - done);
      while (rates.size() < wanted) rates.push_back(schedule ? schedule(steps + rates.size()) : learning_rate(config));
      const auto go_on = [&](std::size_t made) {
        rates.erase(rates.begin(), rates.begin() + static_cast<std::ptrdiff_t>(made));
        done += made;
        for (std::size_t i = 0; i < made; ++i) batches.go_on();
      };
      const std::size_t made = make(call, *kernels, true, std::span(rates).first(wanted), batches, given);
      go_on(made);
      at_once = std::min(2 * at_once, most_at_once);
      if (made == wanted) continue;
      at_once = 1;
      const Kernels& others = guarded(call);
      reserve(call, others, batches.most());
      go_on(make(call, others, false, std::span(rates).first(1), batches, given));
    }
    return loss;
  }

  OptimizerConfig config;
  Schedule schedule;
  detail::UpdateRule rule;
  LoadedCode code;
  Handle check_kernel, update_kernel;
  DeviceMemory first, second, outcome, seen;
  std::uint64_t steps = 0;
  double loss = 0;  // in the last step
  double most_norm = std::numeric_limits<double>::infinity();
};

Trainer::Trainer(const Program& program, const OptimizerConfig& config, Schedule schedule) {
  check_config(config);
  const Machine& machine = program.machine(construction);
  check_machine(machine);
  state_ = std::make_unique<State>(machine, config, std::move(schedule));
}
Trainer::Trainer(Trainer&&) noexcept = default;
Trainer::~Trainer() {  // NOLINT(bugprone-exception-escape): none does
  if (state_ == nullptr) return;
  try {
    state_->write_back(construction);
  } catch (...) {  // NOLINT(bugprone-empty-catch): the device has failed, or the Values are on another thread
  }
}

Trainer::State& Trainer::state(const char* call) const {
  if (!state_) throw Error(call, "a trainer", "one that was moved from", "use the one it was moved to");
  return *state_;
}

double Trainer::step(const DeviceRows& rows, const StepOptions& options) {
  constexpr const char* call = "gpu::Trainer::step";
  return state(call).run_steps(call, rows.state_.get(), 1, options);
}
double Trainer::make_steps(const DeviceRows& rows, std::uint64_t count, const StepOptions& options) {
  constexpr const char* call = "gpu::Trainer::make_steps";
  return state(call).run_steps(call, rows.state_.get(), count, options);
}
void Trainer::clip_norm(double most) {
  gradwalk::clip_norm(std::span<double>(), most);  // an Error where it is no bound
  state("gpu::Trainer::clip_norm").most_norm = most;
}
void Trainer::write_back() {
  constexpr const char* call = "gpu::Trainer::write_back";
  state(call).write_back(call);
}
void Trainer::read_again() {
  constexpr const char* call = "gpu::Trainer::read_again";
  state(call).load(call);
}
std::uint64_t Trainer::steps() const { return state("gpu::Trainer::steps").steps; }
OptimizerState Trainer::optimizer_state() const {
  constexpr const char* call = "gpu::Trainer::optimizer_state";
  State& own = state(call);
  return {own.steps, own.get(call, own.first), own.get(call, own.second)};
}
void Trainer::set_optimizer_state(const OptimizerState& from) {
  constexpr const char* call = "gpu::Trainer::set_optimizer_state";
  State& own = state(call);
  check_state(own.config, own.source().parameters, from);
  own.set(call, from);
}

}  // namespace gradwalk::gpu
