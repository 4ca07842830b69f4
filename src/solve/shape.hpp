// SPDX-License-Identifier: MIT
// The shape of a recording: a hash of everything in it except the numbers of its inputs. One program can replace all
// recordings with the same shape.
#pragma once

#include <cstdint>
#include <vector>

#include "gradwalk/value.hpp"

namespace gradwalk::solver {

// Returns the hash. It covers every bit of the constants, and the results of the comparisons that the function branched
// on.
std::uint64_t shape_of(const std::vector<Value>& outputs, const std::vector<Condition>& decided,
                       const std::vector<Value>& inputs);

}  // namespace gradwalk::solver
