// SPDX-License-Identifier: MIT
// Programs on a device.
#include <algorithm>
#include <cmath>

#include "gradwalk/error.hpp"
#include "machine.hpp"

namespace gradwalk::gpu {

struct Program::State : Machine {
  State(const char* call, std::span<const Value> all, const Options& given) : Machine(call, all, given) {
    driver.check(call, driver.create_event(&begin, 0), "cuEventCreate");
    driver.check(call, driver.create_event(&end, 0), "cuEventCreate");
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    if (end != nullptr) driver.destroy_event(end);
    if (begin != nullptr) driver.destroy_event(begin);
  }

  void take_outputs(const char* call, std::size_t count, std::span<double> to) {
    const std::size_t each = source().outputs;
    const Numbers numbers = download(call, outputs_memory.address(), count * each);
    for (std::size_t r = 0; r < count; ++r)
      for (std::size_t i = 0; i < each; ++i) to[r * each + i] = numbers[i * count + r];
  }

  // One pass with some kernels. Writes the sum and the gradients to `made`.
  void pass(const char* call, const Kernels& of, const StoredRows& rows, const RunOptions& run,
            std::vector<double>& made) {
    const std::size_t number = number_size();
    reserve(call, of, rows.count);
    if (!run.outputs.empty()) outputs_memory.grow(call, options.device, rows.count * source().outputs * number);
    if (options.input_gradients) {
      const std::size_t tiled = (rows.count + tile - 1) / tile * tile * source().inputs;
      input_gradients.grow(call, options.device, tiled * number);
      driver.check(call, driver.fill(input_gradients.address(), 0, tiled * number / sizeof(unsigned), stream),
                   "cuMemsetD32Async");
    }
    driver.check(call, driver.record(begin, stream), "cuEventRecord");
    const Address found = Machine::run(call, of, {rows.count, rows.address}, run.seed,
                                       run.outputs.empty() ? 0 : outputs_memory.address(), input_gradients.address());
    driver.check(call, driver.record(end, stream), "cuEventRecord");
    const char* const host = download_results(call, found);
    wait(call);
    for (std::size_t i = 0; i < made.size(); ++i)
      made[i] = options.precision == Precision::float32 ? static_cast<double>(reinterpret_cast<const float*>(host)[i])
                                                        : reinterpret_cast<const double*>(host)[i];
    float milliseconds = 0;
    driver.check(call, driver.elapsed(&milliseconds, begin, end), "cuEventElapsedTime");
    seconds = static_cast<double>(milliseconds) / 1000;
  }

  // The sum or mean, then the gradients.
  std::vector<double> run(const char* call, std::span<const double> numbers, const StoredRows* rows,
                          const RunOptions& run) {
    check_rows(call, rows);
    check_size(call, "the parameters", source().parameters, numbers.size());
    if (!run.outputs.empty()) check_size(call, "the outputs", rows->count * source().outputs, run.outputs.size());
    if (!run.input_gradients.empty()) {
      if (!options.input_gradients)
        throw Error(call, "a program with input gradients", "one without", "compile it with .input_gradients = true");
      check_size(call, "the input gradients", rows->count * source().inputs, run.input_gradients.size());
    }
    std::vector<double> made(source().parameters + 1);
    if (rows->count == 0) return made;
    driver.use(call, options.device);
    upload(call, parameters, numbers);
    pass(call, *kernels, *rows, run, made);
    const auto is_finite = [&] { return std::ranges::all_of(made, [](double one) { return std::isfinite(one); }); };
    bool is_guarded = !is_finite();
    const std::size_t each = source().inputs, tiled = (rows->count + tile - 1) / tile * tile * each;
    Numbers gradients{options.precision, {}};
    if (!is_guarded && !run.input_gradients.empty()) {
      gradients = download(call, input_gradients.address(), tiled);
      for (std::size_t i = 0; i < tiled && !is_guarded; ++i) is_guarded = !std::isfinite(gradients[i]);
    }
    if (is_guarded) {  // once more by the zero-gradient rule
      pass(call, guarded(call), *rows, run, made);
      if (!run.input_gradients.empty()) gradients = download(call, input_gradients.address(), tiled);
    }
    const double share = run.mean ? 1 / static_cast<double>(rows->count) : 1;
    for (double& one : made) one *= share;
    if (!run.outputs.empty()) take_outputs(call, rows->count, run.outputs);
    for (std::size_t i = 0; i < run.input_gradients.size(); ++i) {
      const std::size_t r = i / each, k = i % each;
      run.input_gradients[i] = share * gradients[(r / tile * each + k) * tile + r % tile];
    }
    return made;
  }

  // Computes the outputs of all rows into memory of that size.
  void evaluate_to(const char* call, const StoredRows& rows, std::uint64_t seed, Address out) {
    driver.use(call, options.device);
    upload(call, parameters, parameter_values());
    Machine::evaluate(call, {rows.count, rows.address}, seed, out);
    wait(call);
  }
  void evaluate(const char* call, const StoredRows* rows, std::uint64_t seed, std::span<double> to) {
    check_rows(call, rows);
    check_size(call, "the outputs", rows->count * source().outputs, to.size());
    if (rows->count == 0) return;
    outputs_memory.grow(call, options.device, to.size() * number_size());
    evaluate_to(call, *rows, seed, outputs_memory.address());
    take_outputs(call, rows->count, to);
  }
  DeviceArray evaluate_on_device(const char* call, const StoredRows* rows, std::uint64_t seed) {
    check_rows(call, rows);
    const std::size_t columns = source().outputs, bytes = rows->count * columns * number_size();
    const auto memory = std::make_shared<const DeviceMemory>(call, options.device, bytes);
    if (rows->count > 0) evaluate_to(call, *rows, seed, memory->address());
    return {memory->address(), rows->count,    columns, 1, static_cast<std::int64_t>(rows->count),
            options.precision, options.device, memory};
  }

  Handle begin = nullptr, end = nullptr;
  DeviceMemory outputs_memory, input_gradients;
  double seconds = 0;
};

Program::Program(std::unique_ptr<State> state) : state_(std::move(state)) {}
Program::Program(Program&&) noexcept = default;
Program& Program::operator=(Program&&) noexcept = default;
Program::~Program() = default;

Program::State& Program::state(const char* call) const {
  if (!state_) throw Error(call, "a program", "one that was moved from", "use the program that it became");
  return *state_;
}

const Machine& Program::machine(const char* call) const { return state(call); }

double Program::run(const DeviceRows& rows, const RunOptions& options) {
  State& own = state("gpu::Program::run");
  const std::vector<double> made = own.run("gpu::Program::run", own.parameter_values(), rows.state_.get(), options);
  for (std::size_t i = 0; i + 1 < made.size(); ++i) own.options.parameters[i].grad() += made[i + 1];
  return made[0];
}
double Program::gradients(const DeviceRows& rows, std::span<double> gradients, const RunOptions& options) {
  return gradients_at(state("gpu::Program::gradients").parameter_values(), rows, gradients, options);
}
double Program::gradients_at(std::span<const double> parameters, const DeviceRows& rows, std::span<double> gradients,
                             const RunOptions& options) {
  constexpr const char* call = "gpu::Program::gradients";
  check_size(call, "the gradients", state(call).source().parameters, gradients.size());
  const std::vector<double> made = state(call).run(call, parameters, rows.state_.get(), options);
  std::copy(made.begin() + 1, made.end(), gradients.begin());
  return made[0];
}
void Program::evaluate(const DeviceRows& rows, std::span<double> outputs, std::uint64_t seed) {
  constexpr const char* call = "gpu::Program::evaluate";
  state(call).evaluate(call, rows.state_.get(), seed, outputs);
}
DeviceArray Program::evaluate_on_device(const DeviceRows& rows, std::uint64_t seed) {
  constexpr const char* call = "gpu::Program::evaluate_on_device";
  return state(call).evaluate_on_device(call, rows.state_.get(), seed);
}
const CudaSource& Program::source() const { return state("gpu::Program::source").source(); }
double Program::device_seconds() const { return state("gpu::Program::device_seconds").seconds; }

Program compile(std::span<const Value> outputs, const Options& options) {
  return Program(std::make_unique<Program::State>("gpu::compile", outputs, options));
}
Program compile(const Value& output, const Options& options) { return compile(std::span(&output, 1), options); }

}  // namespace gradwalk::gpu
