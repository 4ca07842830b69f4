// SPDX-License-Identifier: MIT
// The gradients of several outputs of one function, which share its forward pass.
#pragma once

#include "compile/ir.hpp"

namespace gradwalk::emit {

// Adds the backward pass of one output to terms whose forward pass it shares. Returns the gradient by each leaf, or
// none where it is 0.
std::vector<compiler::Id> add_backward(compiler::Terms& all, const compiler::Terms& forward, compiler::Id output);

}  // namespace gradwalk::emit
