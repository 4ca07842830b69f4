// SPDX-License-Identifier: MIT
// Arrays that are on a device already, as rows in the layout of programs.
#pragma once

#include <cstddef>

#include "memory.hpp"

namespace gradwalk::gpu {

// Rows are stored in tiles of this many: in a tile, the first input of all rows comes first.
inline constexpr std::size_t tile = 32;

inline std::size_t size_of(Precision precision) {
  return precision == Precision::float32 ? sizeof(float) : sizeof(double);
}

// Waits for all work that the array's device has been given. Throws an Error if the array is not in its memory.
void wait_for(const char* call, const DeviceArray& array);

// Copies an array into tiles of this precision, on its device. The copy is complete when it returns.
DeviceMemory tiles_of(const char* call, const DeviceArray& array, Precision precision);

}  // namespace gradwalk::gpu
