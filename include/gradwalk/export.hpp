// SPDX-License-Identifier: MIT
// GRADWALK_EXPORT marks what libgradwalk shows to its users; everything else is hidden in the library.
// Put it on a class whose exceptions or members cross the library's border, and on free functions and variables.
//
// Every header includes this one before it says anything itself, so that an older language is refused in one line.
#pragma once

#if __cplusplus <= 201703L
// A file that is not there: nothing else ends the compilation at once.
#define GRADWALK_LANGUAGE "gradwalk needs C++20: compile with -std=c++20 or later"
#include GRADWALK_LANGUAGE
#endif

#define GRADWALK_EXPORT __attribute__((visibility("default")))

// For the few functions that every operation runs through: a compiler that has inlined enough would stop short of them,
// and a call keeps Values out of registers. Where compiling takes too long, as with many matrices of Values, define it
// as `inline` on the compiler's command line: compilers then inline what they see fit.
#ifndef GRADWALK_INLINE
#define GRADWALK_INLINE [[gnu::always_inline]] inline
#endif
