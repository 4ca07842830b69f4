// SPDX-License-Identifier: MIT
// A Trainer puts steps on the stream of its machine without waiting for each. A step whose results are not all finite
// changes nothing, and neither do the steps after it: the host sees how many were made, makes the next one with guarded
// kernels, and continues from there.
#include <algorithm>
#include <cmath>

#include "gradwalk/error.hpp"
#include "updater.hpp"

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

struct Trainer::State : Updater {
  State(const Machine& machine, const OptimizerConfig& given, Schedule rates)
      : Updater(construction, machine, given),
        schedule(std::move(rates)),
        batch_kernel(code.find(construction, "gradwalk_batch")) {}

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

  // The arguments of kernels with random inputs change from step to step.
  bool has_graphs() const { return graphs.is_on() && !has_random_inputs(); }
  // How many numbers the rows take. Rows of one number may end in the middle of a tile.
  static std::size_t numbers_of(std::size_t count, std::size_t inputs) {
    return inputs == 1 ? count : (count + tile - 1) / tile * tile * inputs;
  }

  // Puts a step on the stream, by a graph where it can be one. A graph keeps the address of the rows, so those of a
  // batch are copied to memory of their own there.
  void step(const char* call, const Kernels& of, bool is_checked, RowRange range, const StoredRows& rows, bool is_batch,
            double share, std::uint64_t seed) {
    if (!is_checked || !has_graphs()) return update(call, run(call, of, range, seed, 0, 0), is_checked, share);
    const std::size_t each = rows.inputs;
    unsigned long long numbers = numbers_of(range.count, each);
    Address from = rows.address, of_steps = plan.address(), to = batch_memory.address();
    Graphs::Key key{range.count, is_batch ? from : range.address, is_batch ? to : 0};
    add_to(key, share);
    graphs.run(call, stream, key, [&] {
      RowRange taken = range;
      if (is_batch) {
        auto inputs = static_cast<unsigned>(each);
        constexpr std::size_t most_blocks = 1024;
        launch(call, batch_kernel, {std::min<std::size_t>(numbers / update_threads + 1, most_blocks)}, update_threads,
               {&numbers, &inputs, &from, &of_steps, &to});
        taken.address = to;
      }
      update(call, run(call, of, taken, seed, 0, 0), is_checked, share);
    });
  }
  // Makes steps on the device, one per rate, until one gives a number that is not finite. Returns how many were made.
  std::size_t make(const char* call, const Kernels& of, bool is_checked, std::span<const double> rates,
                   const StoredRows& rows, const Batches& batches, const StepOptions& given) {
    ranges.clear();
    for (Batches next = batches; ranges.size() < rates.size(); next.go_on()) ranges.push_back(next.current());
    begin(call, rates, ranges);
    const auto share_of = [&](const RowRange& range) {
      return given.mean ? 1 / static_cast<double>(range.count) : 1.0;
    };
    for (std::size_t i = 0; i < ranges.size(); ++i)
      step(call, of, is_checked, ranges[i], rows, given.batch != 0, share_of(ranges[i]), given.seed + steps + i);
    const std::span<const double> found = figures(call);
    const auto made = static_cast<std::size_t>(found[plan_made]);
    if (made > 0) loss = share_of(ranges[made - 1]) * found[plan_sum];
    return made;
  }

  double run_steps(const char* call, const StoredRows* rows, std::uint64_t count, const StepOptions& given) {
    check(call, rows, count, given);
    Batches batches(*rows, given, number_size());
    if (count == 0 || batches.most() == 0) return 0;
    driver.use(call, options.device);
    reserve(call, *kernels, batches.most());
    if (given.batch != 0 && has_graphs())
      batch_memory.grow(call, options.device, numbers_of(batches.most(), rows->inputs) * number_size());
    std::size_t at_once = most_steps;
    std::vector<double> rates;
    for (std::uint64_t done = 0; done < count;) {
      const std::size_t wanted = std::min<std::uint64_t>(at_once, count - done);
      while (rates.size() < wanted) rates.push_back(schedule ? schedule(steps + rates.size()) : learning_rate(config));
      const auto go_on = [&](std::size_t made) {
        rates.erase(rates.begin(), rates.begin() + static_cast<std::ptrdiff_t>(made));
        done += made;
        for (std::size_t i = 0; i < made; ++i) batches.go_on();
      };
      const std::size_t made = make(call, *kernels, true, std::span(rates).first(wanted), *rows, batches, given);
      go_on(made);
      at_once = std::min(2 * at_once, most_steps);
      if (made == wanted) continue;
      at_once = 1;
      const Kernels& others = guarded(call);
      reserve(call, others, batches.most());
      go_on(make(call, others, false, std::span(rates).first(1), *rows, batches, given));
    }
    return loss;
  }

  Schedule schedule;
  Handle batch_kernel;
  DeviceMemory batch_memory;
  std::vector<RowRange> ranges;  // of the steps of a plan
  double loss = 0;               // in the last step
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
  return own.optimizer_state(call);
}
void Trainer::set_optimizer_state(const OptimizerState& from) {
  constexpr const char* call = "gpu::Trainer::set_optimizer_state";
  State& own = state(call);
  check_state(own.config, own.source().parameters, from);
  own.set(call, from);
}

}  // namespace gradwalk::gpu
