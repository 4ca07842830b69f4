// SPDX-License-Identifier: MIT
// Rows and programs on a device.
#include "gradwalk/gpu.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "arrays.hpp"
#include "gradwalk/error.hpp"
#include "loaded_code.hpp"
#include "memory.hpp"
#include "nvrtc.hpp"

namespace gradwalk::gpu {
namespace {

// Rows in tiles of 32: in a tile, the first input of all rows comes first.
template <class To, class From> std::vector<To> tiles(std::span<const From> rows, std::size_t inputs) {
  const std::size_t count = rows.size() / inputs;
  std::vector<To> made((count + tile - 1) / tile * tile * inputs);
  for (std::size_t r = 0; r < count; ++r)
    for (std::size_t i = 0; i < inputs; ++i)
      made[(r / tile * inputs + i) * tile + r % tile] = static_cast<To>(rows[r * inputs + i]);
  return made;
}

// Numbers of the device in its precision, read by index.
struct Numbers {
  Precision precision;
  std::vector<char> bytes;
  double operator[](std::size_t i) const {
    return precision == Precision::float32 ? static_cast<double>(reinterpret_cast<const float*>(bytes.data())[i])
                                           : reinterpret_cast<const double*>(bytes.data())[i];
  }
};

}  // namespace

// ---- rows ----

struct DeviceRows::State {
  std::size_t count = 0, inputs = 0;
  Precision precision = Precision::float32;
  int device = 0;
  DeviceMemory memory;
  Address address = 0;                // of the rows: in `memory`, or in an array
  std::shared_ptr<const void> owner;  // of that array

  void take(DeviceMemory made) {
    memory = std::move(made);
    address = memory.address();
  }
  static std::unique_ptr<State> of(const char* call, std::size_t count, std::size_t inputs, Precision precision,
                                   int device) {
    if (count > 0xffffff00U) throw Error(call, "at most 4294967040 rows", std::to_string(count), "divide them");
    auto made = std::make_unique<State>();
    made->count = count;
    made->inputs = inputs;
    made->precision = precision;
    made->device = device;
    return made;
  }

  static std::unique_ptr<State> make(const DeviceArray& array, Precision precision) {
    constexpr const char* call = "gpu::DeviceRows";
    if (array.columns == 0)
      throw Error(call, "rows of at least one number", "rows of none", "give one number per row and input");
    std::unique_ptr<State> made = of(call, array.rows, array.columns, precision, array.device);
    wait_for(call, array);
    if (array.columns == 1 && array.precision == precision && (array.row_step == 1 || array.rows < 2)) {
      made->address = array.address;
      made->owner = array.owner;
    } else {
      made->take(tiles_of(call, array, precision));
    }
    return made;
  }

  template <class From>
  static std::unique_ptr<State> make(std::span<const From> rows, std::size_t inputs, Precision precision, int device) {
    constexpr const char* call = "gpu::DeviceRows";
    if (inputs == 0 || rows.size() % inputs != 0)
      throw Error(call, "whole rows of " + std::to_string(inputs) + " numbers",
                  std::to_string(rows.size()) + " numbers", "give one number per row and input");
    std::unique_ptr<State> made = of(call, rows.size() / inputs, inputs, precision, device);
    Driver& driver = Driver::get(call);
    driver.use(call, device);
    const auto copy = [&](const auto& numbers) {
      const std::size_t bytes = numbers.size() * sizeof numbers[0];
      made->take(DeviceMemory(call, device, bytes));
      if (bytes > 0) driver.check(call, driver.to_device(made->address, numbers.data(), bytes), "cuMemcpyHtoD");
    };
    if (precision == Precision::float32)
      copy(tiles<float>(rows, inputs));
    else
      copy(tiles<double>(rows, inputs));
    return made;
  }
};

DeviceRows::DeviceRows(std::span<const double> rows, std::size_t inputs, Precision precision, int device)
    : state_(State::make(rows, inputs, precision, device)) {}
DeviceRows::DeviceRows(std::span<const float> rows, std::size_t inputs, Precision precision, int device)
    : state_(State::make(rows, inputs, precision, device)) {}
DeviceRows::DeviceRows(const DeviceArray& rows, Precision precision) : state_(State::make(rows, precision)) {}
DeviceRows::DeviceRows(DeviceRows&&) noexcept = default;
DeviceRows& DeviceRows::operator=(DeviceRows&&) noexcept = default;
DeviceRows::~DeviceRows() = default;
std::size_t DeviceRows::size() const { return state_ ? state_->count : 0; }
std::size_t DeviceRows::inputs() const { return state_ ? state_->inputs : 0; }
bool DeviceRows::is_copy() const { return state_ && state_->memory.address() != 0; }

// ---- programs ----

namespace {

// The kernels of one text on a device.
class Module {
 public:
  Module(const char* call, CudaSource source, const Options& options)
      : source_(std::move(source)),
        code_(call, source_.text, flags_for(source_, architecture_of(call, options.device), options.exact),
              options.device, options.cache.empty() ? cache_folder() : options.cache) {
    const auto find = [&](Handle& function, const char* what) {
      function = code_.find(call, source_.name + "_" + what);
    };
    find(rows_, "rows");
    find(values_, "values");
    find(sum_, "sum");
    if (!source_.has_uniform) return;
    find(uniform_, "uniform");
    find(finish_, "finish");
  }

  const CudaSource& source() const { return source_; }
  Handle rows() const { return rows_; }
  Handle values() const { return values_; }
  Handle sum() const { return sum_; }
  Handle uniform() const { return uniform_; }
  Handle finish() const { return finish_; }

 private:
  CudaSource source_;
  LoadedCode code_;
  Handle rows_ = nullptr, values_ = nullptr, sum_ = nullptr, uniform_ = nullptr, finish_ = nullptr;
};

}  // namespace

struct Program::State {
  static constexpr const char* compile_call = "gpu::compile";

  State(std::span<const Value> all, const Options& given)
      : driver(Driver::get(compile_call)),
        options(given),
        outputs(all.begin(), all.end()),
        module(compile_call, emitted(false), options),
        staging(compile_call, options.device, (module.source().parameters + 1) * 2 * sizeof(double)) {
    driver.check(compile_call, driver.create_stream(&stream, 1), "cuStreamCreate");
    driver.check(compile_call, driver.create_event(&begin, 0), "cuEventCreate");
    driver.check(compile_call, driver.create_event(&end, 0), "cuEventCreate");
    const std::size_t number = size_of(options.precision);
    parameters = DeviceMemory(compile_call, options.device, source().parameters * number);
    fronts = DeviceMemory(compile_call, options.device, source().fronts * number);
    sums = DeviceMemory(compile_call, options.device, source().sums * number);
    result = DeviceMemory(compile_call, options.device, (source().parameters + 1) * number);
  }
  ~State() {
    if (end != nullptr) driver.destroy_event(end);
    if (begin != nullptr) driver.destroy_event(begin);
    if (stream != nullptr) driver.destroy_stream(stream);
  }

  const CudaSource& source() const { return module.source(); }
  CudaSource emitted(bool guard_zeros) const {
    return emit_cuda(outputs, {.name = "program",
                               .inputs = options.inputs,
                               .parameters = options.parameters,
                               .precision = options.precision,
                               .exact = options.exact,
                               .input_gradients = options.input_gradients,
                               .guard_zeros = guard_zeros,
                               .derivatives = guard_zeros ? CudaOptions::Derivatives::automatic : options.derivatives,
                               .ignore_comparisons = options.ignore_comparisons});
  }
  std::vector<double> parameter_values() const {
    std::vector<double> made;
    for (const Value& one : options.parameters) made.push_back(one.data());
    return made;
  }

  // ---- checks ----

  void check_rows(const char* call, const DeviceRows::State* rows) const {
    if (rows == nullptr) throw Error(call, "rows", "rows that were moved from", "use the rows that they became");
    if (rows->inputs != source().inputs)
      throw Error(call, "rows of " + std::to_string(source().inputs) + " numbers", std::to_string(rows->inputs),
                  "give one number per input");
    if (rows->precision != options.precision || rows->device != options.device)
      throw Error(call, "rows of the program's precision and device", "other rows",
                  "make the DeviceRows with the same precision and device");
  }
  static void check_size(const char* call, const char* what, std::size_t needs, std::size_t got) {
    if (needs != got)
      throw Error(call, std::to_string(needs) + " numbers for " + what, std::to_string(got),
                  "give a buffer of that size");
  }

  // ---- runs ----

  void launch(const char* call, Handle kernel, std::size_t blocks, unsigned threads, std::vector<void*> arguments) {
    driver.check(
        call,
        driver.launch(kernel, static_cast<unsigned>(blocks), 1, 1, threads, 1, 1, 0, stream, arguments.data(), nullptr),
        "cuLaunchKernel");
  }
  void upload_parameters(const char* call, std::span<const double> numbers) {
    if (options.precision == Precision::float32)
      std::transform(numbers.begin(), numbers.end(), static_cast<float*>(staging.data()),
                     [](double one) { return static_cast<float>(one); });
    else
      std::copy(numbers.begin(), numbers.end(), static_cast<double*>(staging.data()));
    if (!numbers.empty())
      driver.check(call,
                   driver.to_device_async(parameters.address(), staging.data(),
                                          numbers.size() * size_of(options.precision), stream),
                   "cuMemcpyHtoDAsync");
  }
  // The address of the numbers that rows read.
  Address front_numbers(const char* call, const Module& of) {
    if (!of.source().has_uniform) return parameters.address();
    Address from = parameters.address(), to = fronts.address();
    launch(call, of.uniform(), 1, 1, {&from, &to});
    return to;
  }
  Numbers download(const char* call, const DeviceMemory& from, std::size_t numbers) {
    Numbers made{options.precision, std::vector<char>(numbers * size_of(options.precision))};
    if (numbers > 0)
      driver.check(call, driver.to_host(made.bytes.data(), from.address(), made.bytes.size()), "cuMemcpyDtoH");
    return made;
  }
  void take_outputs(const char* call, std::size_t count, std::span<double> to) {
    const std::size_t each = source().outputs;
    const Numbers numbers = download(call, outputs_memory, count * each);
    for (std::size_t r = 0; r < count; ++r)
      for (std::size_t i = 0; i < each; ++i) to[r * each + i] = numbers[i * count + r];
  }

  // One pass with the kernels of a module. Writes the sum and the gradients to `made`.
  void pass(const char* call, const Module& of, const DeviceRows::State& rows, const RunOptions& run,
            std::vector<double>& made) {
    const std::size_t number = size_of(options.precision), each = of.source().inputs, all_sums = of.source().sums;
    const std::size_t blocks = of.source().blocks(rows.count);
    partial.grow(call, options.device, blocks * all_sums * number);
    if (!run.outputs.empty()) outputs_memory.grow(call, options.device, rows.count * source().outputs * number);
    const std::size_t tiled = (rows.count + tile - 1) / tile * tile * each;
    if (options.input_gradients) {
      input_gradients.grow(call, options.device, tiled * number);
      driver.check(call, driver.fill(input_gradients.address(), 0, tiled * number / sizeof(unsigned), stream),
                   "cuMemsetD32Async");
    }
    driver.check(call, driver.record(begin, stream), "cuEventRecord");
    Address u = front_numbers(call, of);
    auto count = static_cast<unsigned>(rows.count), block_count = static_cast<unsigned>(blocks);
    Address z = rows.address, to = partial.address(), dz = input_gradients.address();
    Address out = run.outputs.empty() ? 0 : outputs_memory.address();
    std::vector<void*> arguments{&count, &u, &z, &to, &out};
    if (options.input_gradients) arguments.push_back(&dz);
    launch(call, of.rows(), blocks, CudaSource::block, arguments);
    Address total = sums.address(), found = total;
    launch(call, of.sum(), all_sums, CudaSource::sum_block, {&block_count, &to, &total});
    if (of.source().has_uniform) {
      Address p = parameters.address();
      found = result.address();
      launch(call, of.finish(), 1, 1, {&p, &total, &found});
    }
    driver.check(call, driver.record(end, stream), "cuEventRecord");
    const std::size_t results = source().parameters + 1;
    char* const host = static_cast<char*>(staging.data()) + results * sizeof(double);
    driver.check(call, driver.to_host_async(host, found, results * number, stream), "cuMemcpyDtoHAsync");
    driver.check(call, driver.wait(stream), "cuStreamSynchronize");
    for (std::size_t i = 0; i < results; ++i)
      made[i] = options.precision == Precision::float32 ? static_cast<double>(reinterpret_cast<const float*>(host)[i])
                                                        : reinterpret_cast<const double*>(host)[i];
    float milliseconds = 0;
    driver.check(call, driver.elapsed(&milliseconds, begin, end), "cuEventElapsedTime");
    seconds = static_cast<double>(milliseconds) / 1000;
  }

  // The sum or mean, then the gradients.
  std::vector<double> run(const char* call, std::span<const double> numbers, const DeviceRows::State* rows,
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
    upload_parameters(call, numbers);
    pass(call, module, *rows, run, made);
    const auto is_finite = [&] { return std::ranges::all_of(made, [](double one) { return std::isfinite(one); }); };
    bool is_guarded = !is_finite();
    const std::size_t each = source().inputs, tiled = (rows->count + tile - 1) / tile * tile * each;
    Numbers gradients{options.precision, {}};
    if (!is_guarded && !run.input_gradients.empty()) {
      gradients = download(call, input_gradients, tiled);
      for (std::size_t i = 0; i < tiled && !is_guarded; ++i) is_guarded = !std::isfinite(gradients[i]);
    }
    if (is_guarded) {  // once more by the zero-gradient rule
      if (!guarded) guarded.emplace(call, emitted(true), options);
      pass(call, *guarded, *rows, run, made);
      if (!run.input_gradients.empty()) gradients = download(call, input_gradients, tiled);
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
  void evaluate_to(const char* call, const DeviceRows::State& rows, Address out) {
    driver.use(call, options.device);
    upload_parameters(call, parameter_values());
    Address u = front_numbers(call, module), z = rows.address;
    auto count = static_cast<unsigned>(rows.count);
    launch(call, module.values(), (rows.count + CudaSource::block - 1) / CudaSource::block, CudaSource::block,
           {&count, &u, &z, &out});
    driver.check(call, driver.wait(stream), "cuStreamSynchronize");
  }
  void evaluate(const char* call, const DeviceRows::State* rows, std::span<double> to) {
    check_rows(call, rows);
    check_size(call, "the outputs", rows->count * source().outputs, to.size());
    if (rows->count == 0) return;
    outputs_memory.grow(call, options.device, to.size() * size_of(options.precision));
    evaluate_to(call, *rows, outputs_memory.address());
    take_outputs(call, rows->count, to);
  }
  DeviceArray evaluate_on_device(const char* call, const DeviceRows::State* rows) {
    check_rows(call, rows);
    const std::size_t columns = source().outputs, bytes = rows->count * columns * size_of(options.precision);
    const auto memory = std::make_shared<const DeviceMemory>(call, options.device, bytes);
    if (rows->count > 0) evaluate_to(call, *rows, memory->address());
    return {memory->address(), rows->count,    columns, 1, static_cast<std::int64_t>(rows->count),
            options.precision, options.device, memory};
  }

  Driver& driver;
  Options options;
  std::vector<Value> outputs;
  Module module;
  std::optional<Module> guarded;  // with the zero-gradient rule, from its first use on
  PinnedMemory staging;           // parameters, then results
  Handle stream = nullptr, begin = nullptr, end = nullptr;
  DeviceMemory parameters, fronts, sums, result, partial, outputs_memory, input_gradients;
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
  State::check_size(call, "the gradients", state(call).source().parameters, gradients.size());
  const std::vector<double> made = state(call).run(call, parameters, rows.state_.get(), options);
  std::copy(made.begin() + 1, made.end(), gradients.begin());
  return made[0];
}
void Program::evaluate(const DeviceRows& rows, std::span<double> outputs) {
  constexpr const char* call = "gpu::Program::evaluate";
  state(call).evaluate(call, rows.state_.get(), outputs);
}
DeviceArray Program::evaluate_on_device(const DeviceRows& rows) {
  constexpr const char* call = "gpu::Program::evaluate_on_device";
  return state(call).evaluate_on_device(call, rows.state_.get());
}
const CudaSource& Program::source() const { return state("gpu::Program::source").source(); }
double Program::device_seconds() const { return state("gpu::Program::device_seconds").seconds; }

Program compile(std::span<const Value> outputs, const Options& options) {
  return Program(std::make_unique<Program::State>(outputs, options));
}
Program compile(const Value& output, const Options& options) { return compile(std::span(&output, 1), options); }

}  // namespace gradwalk::gpu
