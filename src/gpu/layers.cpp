// SPDX-License-Identifier: MIT
// How a machine runs the kernels of layers: all rows at once, or some after others where they need much memory.
#include "layers.hpp"

#include <algorithm>

#include "machine.hpp"

namespace gradwalk::gpu {
namespace {

constexpr std::size_t wanted_blocks = 512, most_parts = 64;  // of NAME_weights
constexpr unsigned layer_threads = CudaSource::block;

std::size_t tiles_of(std::size_t rows) { return (rows + tile - 1) / tile; }

}  // namespace

// How a run is divided. It depends on the number of rows alone, and so do the bits of the results.
struct Machine::Parts {
  std::size_t rows_at_once;
  std::size_t blocks;  // whose sums NAME_sum adds up
};

Machine::Parts Machine::parts_of(const Kernels& of, std::size_t rows) const {
  const CudaLayers& layers = of.source().layers;
  if (layers.weights == 0) return {rows, of.source().blocks(rows)};
  const std::size_t fit = layer_bytes_at_once / (layers.places * tile * number_size());
  const std::size_t tiles = std::min(tiles_of(rows), std::max<std::size_t>(fit, 1));
  return {tiles * tile, std::clamp<std::size_t>(wanted_blocks / layers.weights, 1, std::min(most_parts, tiles))};
}

void Machine::reserve_layers(const char* call, const Kernels& of, std::size_t rows) {
  const auto [rows_at_once, blocks] = parts_of(of, rows);
  partial.grow(call, options.device, blocks * of.source().sums * number_size());
  const std::size_t places = of.source().layers.places;
  if (places > 0) values.grow(call, options.device, tiles_of(rows_at_once) * tile * places * number_size());
}

void Machine::run_uniform(const char* call, const std::vector<Kernels::Step>& steps, Address total) {
  Address u = parameters.address();
  for (const Kernels::Step& one : steps) launch(call, one.kernel, {one.blocks, one.parts}, layer_threads, {&u, &total});
}

void Machine::run_layers(const char* call, const Kernels& of, RowRange rows, std::uint64_t seed,
                         Address outputs_address, Address input_gradients, bool has_gradients) {
  const CudaSource& source = of.source();
  const auto [rows_at_once, parts] = parts_of(of, rows.count);
  Address u = parameters.address(), v = values.address(), to = has_gradients ? partial.address() : 0;
  unsigned long long key = seed, all = rows.count;
  if (has_gradients && source.layers.fills_sums)
    driver.check(call, driver.fill(to, 0, parts * source.sums * number_size() / sizeof(unsigned), stream),
                 "cuMemsetD32Async");
  for (std::size_t begin = 0; begin < rows.count; begin += rows_at_once) {
    auto count = static_cast<unsigned>(std::min(rows_at_once, rows.count - begin));
    const std::size_t offset = begin * source.inputs * number_size();
    Address z = rows.address + offset, dz = input_gradients + offset;
    unsigned long long first = begin, number = rows.first + begin;
    std::vector<void*> arguments{&count, &first, &all, &u, &z, &v, &to, &outputs_address, &dz};
    if (has_random_inputs()) arguments.insert(arguments.end(), {&key, &number});
    for (std::size_t i = 0; i < (has_gradients ? of.layer_rows().size() : source.layers.forward); ++i) {
      const Kernels::Step& one = of.layer_rows()[i];
      const std::size_t tiles = tiles_of(count), blocks = one.blocks == 0 ? tiles : std::min(tiles, one.blocks);
      launch(call, one.kernel, {blocks, one.parts, source.layers.shared_bytes}, layer_threads, arguments);
    }
    if (!has_gradients || of.weights() == nullptr) continue;
    unsigned is_first = begin == 0 && !source.layers.fills_sums ? 1 : 0;
    launch(call, of.weights(), {source.layers.weights, parts}, layer_threads, {&count, &is_first, &z, &v, &to});
  }
}

Address Machine::run_all_layers(const char* call, const Kernels& of, RowRange rows, std::uint64_t seed,
                                Address outputs_address, Address input_gradients) {
  run_uniform(call, of.layer_uniform(), 0);
  run_layers(call, of, rows, seed, outputs_address, input_gradients, true);
  Address u = parameters.address(), from = partial.address(), total = sums.address(), found = result.address();
  auto blocks = static_cast<unsigned>(parts_of(of, rows.count).blocks);
  constexpr std::size_t sums_of_block = 32;
  launch(call, of.sum(), {(of.source().sums + sums_of_block - 1) / sums_of_block}, CudaSource::sum_block,
         {&blocks, &from, &total});
  run_uniform(call, of.layer_backward(), total);
  if (!of.source().layers.has_finish) return total;
  launch(call, of.finish(), {source().parameters / layer_threads + 1}, layer_threads, {&u, &total, &found});
  return found;
}

}  // namespace gradwalk::gpu
