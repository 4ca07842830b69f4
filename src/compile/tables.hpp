// SPDX-License-Identifier: MIT
// The kernels of all instruction sets that this machine has and the library was built with, best first.
#pragma once

#include <vector>

#include "compile/kernels.hpp"

namespace gradwalk::detail {

template <class T> std::vector<Kernels<T>> tables_of_this_machine();
template <> std::vector<Kernels<float>> tables_of_this_machine();
template <> std::vector<Kernels<double>> tables_of_this_machine();

// The kernels as plain scalar code.
template <class T> Kernels<T> scalar_table();
template <> Kernels<float> scalar_table();
template <> Kernels<double> scalar_table();

}  // namespace gradwalk::detail
