// SPDX-License-Identifier: MIT
// The kernels for floats. Highway includes this file again for each instruction set it knows.
#undef GRADWALK_NUMBER
#define GRADWALK_NUMBER float
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compile/kernels_float.cpp"
#include "compile/each_target.hpp"  // first: it says what the rest is compiled for

#include "compile/tables-inl.hpp"
