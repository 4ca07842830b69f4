// SPDX-License-Identifier: MIT
// The kernels for doubles. Highway includes this file again for each instruction set it knows.
#undef GRADWALK_NUMBER
#define GRADWALK_NUMBER double
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compile/kernels_double.cpp"
#include "compile/each_target.hpp"  // first: it says what the rest is compiled for

#include "compile/tables-inl.hpp"
