// SPDX-License-Identifier: MIT
// The kernels of all instruction sets that this machine has and the library was built with, best first.
#pragma once

#include <vector>

#include "compile/kernels.hpp"

namespace gradwalk::detail {

template <class T> std::vector<Kernels<T>> tables_of_this_machine();
template <> std::vector<Kernels<float>> tables_of_this_machine();
template <> std::vector<Kernels<double>> tables_of_this_machine();

}  // namespace gradwalk::detail
