// SPDX-License-Identifier: MIT
// Numbers that left the graph while a function was recorded.
#pragma once

#include <span>

#include "gradwalk/value.hpp"

namespace gradwalk::compiler {

// Throws an Error that names the first of these numbers that depends on an input or a parameter. Others are the same on
// every row. `advice` is the end of the message.
void refuse_left(const char* call, std::span<const Value> left, std::span<const Value> inputs,
                 std::span<const Value> parameters, const char* advice);

}  // namespace gradwalk::compiler
