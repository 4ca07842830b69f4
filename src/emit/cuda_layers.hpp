// SPDX-License-Identifier: MIT
// The kernels of a graph with large layers.
#pragma once

#include "compile/passes.hpp"
#include "gradwalk/emit_cuda.hpp"

namespace gradwalk::emit {

// Returns whether most of a row's work, and at least 512 products, are those of layers with 8 inputs and 8 outputs or
// more.
bool is_mostly_layers(const compiler::Scalars& scalars);

// Returns kernels in which the 128 threads of a block compute 32 rows together. `name` is the first part of their
// names.
CudaSource cuda_layers(compiler::Scalars scalars, const CudaOptions& options, const std::string& name);

}  // namespace gradwalk::emit
