// SPDX-License-Identifier: MIT
// What a recording is but for the numbers of its inputs, as one number: two recordings with the same can be replaced by
// one program.
#pragma once

#include <cstdint>
#include <vector>

#include "gradwalk/value.hpp"

namespace gradwalk::solver {

// Constants count with every bit, and so does how the comparisons came out that the recording went by.
std::uint64_t shape_of(const std::vector<Value>& outputs, const std::vector<Condition>& decided,
                       const std::vector<Value>& inputs);

}  // namespace gradwalk::solver
