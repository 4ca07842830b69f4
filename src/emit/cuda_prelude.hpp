// SPDX-License-Identifier: MIT
// The text before the kernels of an emitted CUDA file: the number type, sums over a warp, and the functions of exact
// mode, which use only operations that every IEEE machine rounds in the same way.
#pragma once

#include <string>

namespace gradwalk::emit {

std::string cuda_prelude(bool is_float);
// The functions that make random inputs.
std::string cuda_random(bool is_float);
// gw_fma(x, y, z), which is x * y + z with one rounding.
std::string cuda_fused(bool is_float);
// gw_outer, which adds up the outer products of two vectors per row.
std::string cuda_outer(bool is_float);

}  // namespace gradwalk::emit
