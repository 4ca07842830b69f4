// SPDX-License-Identifier: MIT
#include "arrays.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <vector>

#include "gradwalk/error.hpp"
#include "loaded_code.hpp"

namespace gradwalk::gpu {
namespace {

std::string kernel_text(Precision from, Precision to) {
  const auto type = [](Precision precision) { return precision == Precision::float32 ? "float" : "double"; };
  return std::string(
             "extern \"C\" __global__ void gradwalk_tiles(unsigned long long rows, unsigned long long columns, "
             "const ") +
         type(from) + " *from, long long row_step, long long column_step, " + type(to) + R"( *to) {
  const unsigned long long numbers = (rows + 31) / 32 * 32 * columns;
  const unsigned long long threads = (unsigned long long)gridDim.x * blockDim.x;
  for (unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x; i < numbers; i += threads) {
    const unsigned long long row = i / 32 / columns * 32 + i % 32, column = i / 32 % columns;
    to[i] = row < rows ? from[(long long)row * row_step + (long long)column * column_step] : 0;
  }
}
)";
}

// The kernel for a device and two types, compiled when it is first needed. It stays loaded: the driver may end first.
Handle tiles_kernel(const char* call, int device, Precision from, Precision to) {
  static std::mutex mutex;
  static auto* const kernels = new std::map<std::tuple<int, Precision, Precision>, std::unique_ptr<LoadedCode>>;
  const std::scoped_lock lock(mutex);
  std::unique_ptr<LoadedCode>& code = (*kernels)[{device, from, to}];
  if (!code)
    code = std::make_unique<LoadedCode>(
        call, kernel_text(from, to),
        std::vector<std::string>{"--gpu-architecture=" + architecture_of(call, device), "--std=c++17"}, device,
        cache_folder());
  return code->find(call, "gradwalk_tiles");
}

}  // namespace

void wait_for(const char* call, const DeviceArray& array) {
  constexpr int device_of_pointer = 9;
  Driver& driver = Driver::get(call);
  driver.use(call, array.device);
  int device = -1;
  if (array.rows > 0 &&
      (driver.pointer_attribute(&device, device_of_pointer, array.address) != 0 || device != array.device))
    throw Error(call, "an array in the memory of device " + std::to_string(array.device),
                device < 0 ? "an address of no device" : "one of device " + std::to_string(device),
                "copy the array to the device");
  driver.check(call, driver.wait_for_all(), "cuCtxSynchronize");
}

DeviceMemory tiles_of(const char* call, const DeviceArray& array, Precision precision) {
  constexpr unsigned threads = 256;
  constexpr std::size_t most_blocks = 1 << 16;
  Driver& driver = Driver::get(call);
  driver.use(call, array.device);
  const std::size_t numbers = (array.rows + tile - 1) / tile * tile * array.columns;
  DeviceMemory made(call, array.device, numbers * size_of(precision));
  if (numbers == 0) return made;
  Handle kernel = tiles_kernel(call, array.device, array.precision, precision);
  const auto blocks = static_cast<unsigned>(std::min((numbers + threads - 1) / threads, most_blocks));
  unsigned long long rows = array.rows, columns = array.columns;
  Address from = array.address, to = made.address();
  long long row_step = array.row_step, column_step = array.column_step;
  std::array<void*, 6> arguments{&rows, &columns, &from, &row_step, &column_step, &to};
  driver.check(call, driver.launch(kernel, blocks, 1, 1, threads, 1, 1, 0, nullptr, arguments.data(), nullptr),
               "cuLaunchKernel");
  driver.check(call, driver.wait(nullptr), "cuStreamSynchronize");
  return made;
}

void read(const DeviceArray& array, std::span<double> numbers) {
  constexpr const char* call = "gpu::read";
  if (numbers.size() != array.rows * array.columns)
    throw Error(call, std::to_string(array.rows * array.columns) + " numbers", std::to_string(numbers.size()),
                "give a buffer of that size");
  if (numbers.empty()) return;
  wait_for(call, array);
  // The numbers between the first and the last one in memory are copied together.
  std::int64_t first = 0, last = 0;
  for (const auto& [count, step] : {std::pair{array.rows, array.row_step}, {array.columns, array.column_step}})
    (step < 0 ? first : last) += static_cast<std::int64_t>(count - 1) * step;
  const std::size_t size = size_of(array.precision);
  std::vector<char> bytes(static_cast<std::size_t>(last - first + 1) * size);
  Driver& driver = Driver::get(call);
  driver.check(
      call,
      driver.to_host(bytes.data(), array.address + static_cast<Address>(first * static_cast<std::int64_t>(size)),
                     bytes.size()),
      "cuMemcpyDtoH");
  for (std::size_t r = 0; r < array.rows; ++r)
    for (std::size_t k = 0; k < array.columns; ++k) {
      const auto at = static_cast<std::size_t>(static_cast<std::int64_t>(r) * array.row_step +
                                               static_cast<std::int64_t>(k) * array.column_step - first);
      numbers[r * array.columns + k] = array.precision == Precision::float32
                                           ? static_cast<double>(reinterpret_cast<const float*>(bytes.data())[at])
                                           : reinterpret_cast<const double*>(bytes.data())[at];
    }
}

}  // namespace gradwalk::gpu
