// SPDX-License-Identifier: MIT
#include "rows.hpp"

#include <vector>

#include "arrays.hpp"
#include "gradwalk/error.hpp"

namespace gradwalk::gpu {
namespace {

constexpr const char* call = "gpu::DeviceRows";

// Rows in tiles of 32: in a tile, the first input of all rows comes first.
template <class To, class From> std::vector<To> tiles(std::span<const From> rows, std::size_t inputs) {
  const std::size_t count = rows.size() / inputs;
  std::vector<To> made((count + tile - 1) / tile * tile * inputs);
  for (std::size_t r = 0; r < count; ++r)
    for (std::size_t i = 0; i < inputs; ++i)
      made[(r / tile * inputs + i) * tile + r % tile] = static_cast<To>(rows[r * inputs + i]);
  return made;
}

StoredRows rows_of(std::size_t count, std::size_t inputs, Precision precision, int device) {
  if (count > 0xffffff00U) throw Error(call, "at most 4294967040 rows", std::to_string(count), "divide them");
  return {.count = count, .inputs = inputs, .precision = precision, .device = device};
}

StoredRows from_device(const DeviceArray& array, Precision precision) {
  if (array.columns == 0)
    throw Error(call, "rows of at least one number", "rows of none", "give one number per row and input");
  StoredRows made = rows_of(array.rows, array.columns, precision, array.device);
  wait_for(call, array);
  if (array.columns == 1 && array.precision == precision && (array.row_step == 1 || array.rows < 2)) {
    made.address = array.address;
    made.owner = array.owner;
  } else {
    made.take(tiles_of(call, array, precision));
  }
  return made;
}

template <class From>
StoredRows from_host(std::span<const From> rows, std::size_t inputs, Precision precision, int device) {
  if (inputs == 0 || rows.size() % inputs != 0)
    throw Error(call, "whole rows of " + std::to_string(inputs) + " numbers", std::to_string(rows.size()) + " numbers",
                "give one number per row and input");
  StoredRows made = rows_of(rows.size() / inputs, inputs, precision, device);
  Driver& driver = Driver::get(call);
  driver.use(call, device);
  const auto copy = [&](const auto& numbers) {
    const std::size_t bytes = numbers.size() * sizeof numbers[0];
    made.take(DeviceMemory(call, device, bytes));
    if (bytes == 0) return;
    driver.check(call, driver.to_device(made.address, numbers.data(), bytes), "cuMemcpyHtoD");
    // The copy can end after the call, and the streams of programs do not wait for it.
    driver.check(call, driver.wait(nullptr), "cuStreamSynchronize");
  };
  if (precision == Precision::float32)
    copy(tiles<float>(rows, inputs));
  else
    copy(tiles<double>(rows, inputs));
  return made;
}

}  // namespace

DeviceRows::DeviceRows(std::span<const double> rows, std::size_t inputs, Precision precision, int device)
    : state_(new State{from_host(rows, inputs, precision, device)}) {}
DeviceRows::DeviceRows(std::span<const float> rows, std::size_t inputs, Precision precision, int device)
    : state_(new State{from_host(rows, inputs, precision, device)}) {}
DeviceRows::DeviceRows(const DeviceArray& rows, Precision precision)
    : state_(new State{from_device(rows, precision)}) {}
DeviceRows::DeviceRows(std::unique_ptr<State> state) : state_(std::move(state)) {}
DeviceRows DeviceRows::without_numbers(std::size_t count, Precision precision, int device) {
  Driver::get(call).use(call, device);
  return DeviceRows(std::make_unique<State>(State{rows_of(count, 0, precision, device)}));
}
DeviceRows::DeviceRows(DeviceRows&&) noexcept = default;
DeviceRows& DeviceRows::operator=(DeviceRows&&) noexcept = default;
DeviceRows::~DeviceRows() = default;
std::size_t DeviceRows::size() const { return state_ ? state_->count : 0; }
std::size_t DeviceRows::inputs() const { return state_ ? state_->inputs : 0; }
bool DeviceRows::is_copy() const { return state_ && state_->memory.address() != 0; }

}  // namespace gradwalk::gpu
