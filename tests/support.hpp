// SPDX-License-Identifier: MIT
// Helpers of the tests: the message of an Error, limits on the resident memory of the process, and sizes that are
// smaller under a sanitizer, which makes every access slow.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <string>

#include "gradwalk/gradwalk.hpp"

#if defined(__SANITIZE_ADDRESS__)
#define GRADWALK_TESTS_ADDRESS_SANITIZED 1
#elif defined(__SANITIZE_THREAD__)
#define GRADWALK_TESTS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define GRADWALK_TESTS_ADDRESS_SANITIZED 1
#elif __has_feature(thread_sanitizer)
#define GRADWALK_TESTS_SANITIZED 1
#endif
#endif
#ifdef GRADWALK_TESTS_ADDRESS_SANITIZED
#define GRADWALK_TESTS_SANITIZED 1
#include <sanitizer/lsan_interface.h>
#endif

namespace gradwalk::tests {

#ifdef GRADWALK_TESTS_SANITIZED
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

// True if an emulator runs the tests. Memory, limits and threads are then those of the emulator.
#ifdef GRADWALK_TESTS_EMULATED
inline constexpr bool emulated = true;
#else
inline constexpr bool emulated = false;
#endif

// Whether the C library's functions are as exact as a test of our own functions needs. Those of mingw-w64 are not: sin,
// cos and tan are the processor's instructions, whose pi has 66 bits, and erfc of a float has an error of 6 ulp.
#ifdef __MINGW32__
inline constexpr bool exact_angles = false, exact_erfc_of_floats = false;
#else
inline constexpr bool exact_angles = true, exact_erfc_of_floats = true;
#endif

// Returns the first size, or the second under a sanitizer.
constexpr std::size_t sized(std::size_t plain, std::size_t under_sanitizer) {
  return sanitized ? under_sanitizer : plain;
}

// Returns true in `./test long`.
inline bool long_run() { return std::getenv("GRADWALK_LONG") != nullptr; }

// Calls f and returns the message of the Error that it throws, or "no error".
template <class F> std::string error_of(F f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

#ifdef _WIN32
double resident_megabytes();  // in support_windows.cpp
#else
inline double resident_megabytes() {
  std::ifstream statm("/proc/self/statm");
  double size = 0, resident = 0;
  statm >> size >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE)) / 1e6;
}
#endif

// Expects that the process has less resident memory than this. A sanitizer keeps freed memory, so under one the test is
// reported as skipped here. ctest then ignores the exit status, so this function also checks for leaks.
inline void expect_resident_below(double megabytes) {
#ifdef GRADWALK_TESTS_ADDRESS_SANITIZED
  __lsan_do_leak_check();  // ends the process if it finds a leak
#endif
  if (sanitized) GTEST_SKIP() << "a sanitizer keeps freed memory, so resident memory is not compared";
  EXPECT_LT(resident_megabytes(), megabytes);
}

}  // namespace gradwalk::tests
