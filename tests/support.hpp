// SPDX-License-Identifier: MIT
// What the tests share: the text of an Error, limits on the process's resident memory, and sizes that shrink where a
// sanitizer makes every access slow.
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

// Run by an emulator, whose process it is that has memory, limits and threads.
#ifdef GRADWALK_TESTS_EMULATED
inline constexpr bool emulated = true;
#else
inline constexpr bool emulated = false;
#endif

constexpr std::size_t sized(std::size_t plain, std::size_t under_sanitizer) {
  return sanitized ? under_sanitizer : plain;
}

inline bool long_run() { return std::getenv("GRADWALK_LONG") != nullptr; }

// What f's Error says; "no error" if it throws none.
template <class F> std::string error_of(F f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

inline double resident_megabytes() {
  std::ifstream statm("/proc/self/statm");
  double size = 0, resident = 0;
  statm >> size >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE)) / 1e6;
}

// Expects the process to have less resident memory than that. A sanitizer keeps freed memory: with one, the test runs
// up to here, for the sanitizer to look at, and is reported as skipped. ctest then ignores the exit status, so leaks
// are looked for here.
inline void expect_resident_below(double megabytes) {
#ifdef GRADWALK_TESTS_ADDRESS_SANITIZED
  __lsan_do_leak_check();  // ends the process if there are any
#endif
  if (sanitized) GTEST_SKIP() << "a sanitizer keeps freed memory, so resident memory is not compared";
  EXPECT_LT(resident_megabytes(), megabytes);
}

}  // namespace gradwalk::tests
