// SPDX-License-Identifier: MIT
// How the words of Philox become the numbers of random inputs.
#pragma once

#include "gradwalk/emit_cuda.hpp"

namespace gradwalk::emit {

// A call of Philox gives 128 bits: the numbers of one block.
constexpr std::size_t numbers_per_block(bool is_float) { return is_float ? 4 : 2; }
// Normal and uniform inputs are numbered apart, and use different streams.
constexpr unsigned stream_of(Distribution distribution) { return distribution == Distribution::normal ? 0 : 1; }

}  // namespace gradwalk::emit
