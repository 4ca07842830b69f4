// SPDX-License-Identifier: MIT
#include "machine.hpp"

#include <algorithm>

#include "gradwalk/error.hpp"
#include "nvrtc.hpp"

namespace gradwalk::gpu {

Kernels::Kernels(const char* call, CudaSource source, const Options& options)
    : source_(std::move(source)),
      code_(call, source_.text, flags_for(source_, architecture_of(call, options.device), options.exact),
            options.device, options.cache.empty() ? cache_folder() : options.cache) {
  const auto find = [&](Handle& function, const char* what) { function = code_.find(call, source_.name + "_" + what); };
  find(sum_, "sum");
  if (source_.has_layers()) {
    const auto find_all = [&](std::vector<Step>& to, const std::vector<CudaLayers::Step>& steps) {
      for (const CudaLayers::Step& one : steps) to.push_back({code_.find(call, one.kernel), one.blocks, one.parts});
    };
    find_all(layer_uniform_, source_.layers.uniform);
    find_all(layer_rows_, source_.layers.rows);
    constexpr int most_dynamic_shared_bytes = 8;  // the driver's number of this attribute
    Driver& driver = Driver::get(call);
    for (const Step& one : layer_rows_)
      if (source_.layers.shared_bytes > 0)
        driver.check(call,
                     driver.set_function_attribute(one.kernel, most_dynamic_shared_bytes,
                                                   static_cast<int>(source_.layers.shared_bytes)),
                     "cuFuncSetAttribute");
    find_all(layer_backward_, source_.layers.backward);
    if (source_.layers.weights > 0) find(weights_, "weights");
    if (source_.layers.has_finish) find(finish_, "finish");
    return;
  }
  find(rows_, "rows");
  find(values_, "values");
  if (!source_.has_uniform) return;
  find(uniform_, "uniform");
  find(finish_, "finish");
}

void check_size(const char* call, const char* what, std::size_t needs, std::size_t got) {
  if (needs != got)
    throw Error(call, std::to_string(needs) + " numbers for " + what, std::to_string(got),
                "give a buffer of that size");
}

Machine::Machine(const char* call, std::span<const Value> all, const Options& given)
    : driver(Driver::get(call)),
      options(given),
      outputs(all.begin(), all.end()),
      kernels(std::make_shared<const Kernels>(call, emitted(false), options)),
      staging(call, options.device, (source().parameters + 1) * 2 * sizeof(double)) {
  make_memory(call);
}
Machine::Machine(const char* call, const Machine& other)
    : driver(other.driver),
      options(other.options),
      outputs(other.outputs),
      kernels(other.kernels),
      staging(call, options.device, (source().parameters + 1) * 2 * sizeof(double)) {
  make_memory(call);
}
void Machine::make_memory(const char* call) {
  const std::size_t number = number_size();
  const std::size_t uniform = source().has_layers() ? source().fronts : 0;
  parameters = DeviceMemory(call, options.device, std::max(source().parameters, uniform) * number);
  fronts = DeviceMemory(call, options.device, source().fronts * number);
  sums = DeviceMemory(call, options.device, source().sums * number);
  result = DeviceMemory(call, options.device, (source().parameters + 1) * number);
  driver.check(call, driver.create_stream(&stream, 1), "cuStreamCreate");
}
Machine::~Machine() {
  if (stream != nullptr) driver.destroy_stream(stream);
}

CudaSource Machine::emitted(bool guard_zeros) const {
  return emit_cuda(outputs, {.name = "program",
                             .inputs = options.inputs,
                             .parameters = options.parameters,
                             .precision = options.precision,
                             .exact = options.exact,
                             .input_gradients = options.input_gradients,
                             .guard_zeros = guard_zeros,
                             .derivatives = guard_zeros ? CudaOptions::Derivatives::automatic : options.derivatives,
                             .rows = guard_zeros ? divided() : options.rows,
                             .ignore_comparisons = options.ignore_comparisons,
                             .normals = options.normals,
                             .uniforms = options.uniforms});
}
CudaOptions::Rows Machine::divided() const {
  return source().has_layers() ? CudaOptions::Rows::by_blocks : CudaOptions::Rows::by_threads;
}
const Kernels& Machine::guarded(const char* call) {
  if (!guarded_) guarded_ = std::make_unique<const Kernels>(call, emitted(true), options);
  return *guarded_;
}

std::vector<double> Machine::parameter_values() const {
  std::vector<double> made;
  for (const Value& one : options.parameters) made.push_back(one.data());
  return made;
}

void Machine::check_rows(const char* call, const StoredRows* rows) const {
  if (rows == nullptr) throw Error(call, "rows", "rows that were moved from", "use the rows that they became");
  if (rows->inputs != source().inputs)
    throw Error(call, "rows of " + std::to_string(source().inputs) + " numbers", std::to_string(rows->inputs),
                "give one number per input");
  if (rows->precision != options.precision || rows->device != options.device)
    throw Error(call, "rows of the program's precision and device", "other rows",
                "make the DeviceRows with the same precision and device");
}

void Machine::launch(const char* call, Handle kernel, Grid grid, unsigned threads, std::vector<void*> arguments) {
  driver.check(call,
               driver.launch(kernel, static_cast<unsigned>(grid.blocks), static_cast<unsigned>(grid.parts), 1, threads,
                             1, 1, static_cast<unsigned>(grid.shared_bytes), stream, arguments.data(), nullptr),
               "cuLaunchKernel");
}
void Machine::upload(const char* call, const DeviceMemory& to, std::span<const double> numbers) {
  if (numbers.empty()) return;
  if (options.precision == Precision::float32)
    std::ranges::transform(numbers, static_cast<float*>(staging.data()),
                           [](double one) { return static_cast<float>(one); });
  else
    std::ranges::copy(numbers, static_cast<double*>(staging.data()));
  driver.check(call, driver.to_device_async(to.address(), staging.data(), numbers.size() * number_size(), stream),
               "cuMemcpyHtoDAsync");
}
Address Machine::front_numbers(const char* call, const Kernels& of) {
  if (!of.source().has_uniform) return parameters.address();
  Address from = parameters.address(), to = fronts.address();
  launch(call, of.uniform(), {1}, 1, {&from, &to});
  return to;
}
void Machine::reserve(const char* call, const Kernels& of, std::size_t rows) {
  if (of.source().has_layers()) return reserve_layers(call, of, rows);
  partial.grow(call, options.device, of.source().blocks(rows) * of.source().sums * number_size());
}
Address Machine::run(const char* call, const Kernels& of, RowRange rows, std::uint64_t seed, Address outputs_address,
                     Address input_gradients) {
  reserve(call, of, rows.count);
  if (of.source().has_layers()) return run_all_layers(call, of, rows, seed, outputs_address, input_gradients);
  const std::size_t blocks = of.source().blocks(rows.count);
  Address u = front_numbers(call, of), z = rows.address, to = partial.address(), total = sums.address();
  auto count = static_cast<unsigned>(rows.count), block_count = static_cast<unsigned>(blocks);
  std::vector<void*> arguments{&count, &u, &z, &to, &outputs_address};
  if (of.source().has_input_gradients) arguments.push_back(&input_gradients);
  unsigned long long key = seed;
  if (has_random_inputs()) arguments.insert(arguments.end(), {&key, &rows.first});
  launch(call, of.rows(), {blocks}, CudaSource::block, arguments);
  launch(call, of.sum(), {of.source().sums}, CudaSource::sum_block, {&block_count, &to, &total});
  if (!of.source().has_uniform) return total;
  Address p = parameters.address(), found = result.address();
  launch(call, of.finish(), {1}, 1, {&p, &total, &found});
  return found;
}

void Machine::evaluate(const char* call, RowRange rows, std::uint64_t seed, Address out) {
  if (source().has_layers()) {
    reserve_layers(call, *kernels, rows.count);
    run_uniform(call, kernels->layer_uniform(), 0);
    return run_layers(call, *kernels, rows, seed, out, 0, false);
  }
  Address u = front_numbers(call, *kernels), z = rows.address;
  auto count = static_cast<unsigned>(rows.count);
  unsigned long long key = seed;
  std::vector<void*> arguments{&count, &u, &z, &out};
  if (has_random_inputs()) arguments.insert(arguments.end(), {&key, &rows.first});
  launch(call, kernels->values(), {(rows.count + CudaSource::block - 1) / CudaSource::block}, CudaSource::block,
         arguments);
}

void Machine::wait(const char* call) { driver.check(call, driver.wait(stream), "cuStreamSynchronize"); }
Numbers Machine::download(const char* call, Address from, std::size_t numbers) {
  Numbers made{options.precision, std::vector<char>(numbers * number_size())};
  wait(call);
  if (numbers > 0) driver.check(call, driver.to_host(made.bytes.data(), from, made.bytes.size()), "cuMemcpyDtoH");
  return made;
}
const char* Machine::download_results(const char* call, Address from) {
  const std::size_t results = source().parameters + 1;
  char* const to = static_cast<char*>(staging.data()) + results * sizeof(double);
  driver.check(call, driver.to_host_async(to, from, results * number_size(), stream), "cuMemcpyDtoHAsync");
  return to;
}

}  // namespace gradwalk::gpu
