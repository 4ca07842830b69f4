// SPDX-License-Identifier: MIT
// The functions of kernels of layers: products of matrices that the 128 threads of a block compute together.
#pragma once

#include <cstddef>
#include <string>

namespace gradwalk::emit {

// A tile has 32 rows. In shared memory, the numbers of a place are so far from those of the next one that threads
// which read several places meet no bank conflicts.
constexpr std::size_t tile_rows = 32, shared_pitch = 36;
// The numbers that a product keeps in shared memory: weights of 16 inputs and 64 outputs, and 16 inputs of a tile.
constexpr std::size_t product_depth = 16, product_width = 64;
constexpr std::size_t staged_by_layer = product_depth * (product_width + 8 + tile_rows + 8);
// The numbers that a kernel for outer products keeps there: 64 gradients and 64 inputs of the rows of a tile.
constexpr std::size_t outer_width = 64;
constexpr std::size_t staged_by_outer = 2 * outer_width * shared_pitch;

// Returns gw_layer, gw_weights and gw_add_outer, and what they call. `is_float` is the number type; tensor cores take
// floats.
std::string cuda_products(bool is_float, bool has_tensors);

}  // namespace gradwalk::emit
