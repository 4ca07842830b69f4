// SPDX-License-Identifier: MIT
// GRADWALK_EXPORT, GRADWALK_TLS, GRADWALK_INLINE and the check of the language version.
//
// Every header includes this one first, so that a compiler for an older language stops with one clear line.
#pragma once

#if __cplusplus <= 201703L
// This includes a file that does not exist, because nothing else ends the compilation at once.
#ifdef _MSVC_LANG
#define GRADWALK_LANGUAGE "gradwalk needs C++20: compile with /std:c++20 and /Zc:__cplusplus"
#else
#define GRADWALK_LANGUAGE "gradwalk needs C++20: compile with -std=c++20 or later"
#endif
#include GRADWALK_LANGUAGE
#endif

// Marks the symbols that the library exports; all others are hidden. It belongs on free functions and variables, and on
// each class that is thrown or whose members are defined in the library.
#if defined(_WIN32)
#define GRADWALK_EXPORT
#else
#define GRADWALK_EXPORT __attribute__((visibility("default")))
#endif

// The model of the library's thread-local variables. With initial-exec, an access is a plain memory access, even to a
// shared library. GRADWALK_DYNAMIC_TLS (the CMake option of this name) chooses the compiler's default instead, for
// systems such as musl, where dlopen cannot load libraries with initial-exec variables. Windows has a model of its own.
#if defined(GRADWALK_DYNAMIC_TLS) || defined(_WIN32)
#define GRADWALK_TLS
#else
#define GRADWALK_TLS __attribute__((tls_model("initial-exec")))
#endif

// Forces inlining of the few functions that every operation runs through. Without it, a compiler that has inlined
// enough leaves calls, and a call keeps Values out of registers. Where compiling takes too long, as with many matrices
// of Values, define it as `inline` on the compiler's command line; the compiler then decides.
#ifndef GRADWALK_INLINE
#define GRADWALK_INLINE [[gnu::always_inline]] inline
#endif
