// SPDX-License-Identifier: MIT
// The kernels as plain scalar code, which every machine can run. Highway itself offers such code only where a compiler
// may use no vectors, and later versions of Highway have vectors on every x86-64.
#define HWY_COMPILE_ONLY_SCALAR
#include "compile/tables-inl.hpp"

namespace gradwalk::detail {

template <> Kernels<float> scalar_table() { return N_SCALAR::table<float>(); }
template <> Kernels<double> scalar_table() { return N_SCALAR::table<double>(); }

}  // namespace gradwalk::detail
