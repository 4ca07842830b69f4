// SPDX-License-Identifier: MIT
// How many rows the kernels of layers take at once.
#pragma once

#include <cstddef>

namespace gradwalk::gpu {

// The most bytes of numbers that kernels hand on; rows that need more are run in several parts. Tests make it smaller.
inline std::size_t layer_bytes_at_once = std::size_t{1} << 28;

}  // namespace gradwalk::gpu
