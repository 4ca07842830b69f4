// SPDX-License-Identifier: MIT
// GRADWALK_EXPORT marks what libgradwalk shows to its users; everything else is hidden in the library.
// Put it on a class whose exceptions or members cross the library's border, and on free functions and variables.

#pragma once

#define GRADWALK_EXPORT __attribute__((visibility("default")))

// For the few functions that every operation runs through: a compiler that has inlined enough would stop short of them,
// and a call keeps Values out of registers.
#define GRADWALK_INLINE [[gnu::always_inline]] inline
