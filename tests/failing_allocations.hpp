// SPDX-License-Identifier: MIT
// Lets allocations of a thread fail. Include it in one source file of a process.
#pragma once

#include <cstdlib>
#include <new>

namespace gradwalk::tests {

// The number of allocations of this thread that still succeed; below 0, all do.
inline constinit thread_local long allocations_left = -1;
inline constinit thread_local bool has_failed = false;  // whether one has failed

inline void* allocate_or_fail(std::size_t size) {
  if (allocations_left >= 0 && allocations_left-- == 0) {
    has_failed = true;
    throw std::bad_alloc();
  }
  if (void* const at = std::malloc(size == 0 ? 1 : size)) return at;
  throw std::bad_alloc();
}

}  // namespace gradwalk::tests

void* operator new(std::size_t size) { return gradwalk::tests::allocate_or_fail(size); }
void* operator new[](std::size_t size) { return gradwalk::tests::allocate_or_fail(size); }
// The sanitizer's own version of this one would not match the operator delete below.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return std::malloc(size == 0 ? 1 : size); }
void operator delete(void* at) noexcept { std::free(at); }
void operator delete[](void* at) noexcept { std::free(at); }
void operator delete(void* at, std::size_t) noexcept { std::free(at); }
void operator delete[](void* at, std::size_t) noexcept { std::free(at); }
