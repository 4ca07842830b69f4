// SPDX-License-Identifier: MIT
// Rows in the memory of a device, in the layout of programs.
#pragma once

#include <memory>

#include "memory.hpp"

namespace gradwalk::gpu {

struct StoredRows {
  std::size_t count = 0, inputs = 0;
  Precision precision = Precision::float32;
  int device = 0;
  DeviceMemory memory = {};
  Address address = 0;                     // of the rows: in `memory`, or in an array
  std::shared_ptr<const void> owner = {};  // of that array

  void take(DeviceMemory made) {
    memory = std::move(made);
    address = memory.address();
  }
};

struct DeviceRows::State : StoredRows {};

}  // namespace gradwalk::gpu
