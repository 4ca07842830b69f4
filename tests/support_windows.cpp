// SPDX-License-Identifier: MIT
// The part of support.hpp that needs <windows.h>, whose macros would change the tests.
#define WIN32_LEAN_AND_MEAN
#define NOMINMAX
#include <windows.h>  // first: the next header needs it

#include <psapi.h>

namespace gradwalk::tests {

double resident_megabytes() {
  PROCESS_MEMORY_COUNTERS counters{};
  GetProcessMemoryInfo(GetCurrentProcess(), &counters, sizeof counters);
  return static_cast<double>(counters.WorkingSetSize) / 1e6;
}

}  // namespace gradwalk::tests
