// SPDX-License-Identifier: MIT
// Counts every allocation of a process, to measure the largest amount of memory that a call uses. Include it in one
// source file of the process.
#pragma once

#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>

namespace gradwalk::tests {

inline std::atomic<std::size_t> bytes_in_use{0}, most_in_use{0};

inline std::size_t size_of_allocation(void* at) {
#ifdef _WIN32
  return ::_msize(at);
#else
  return ::malloc_usable_size(at);
#endif
}
inline void* counted_allocation(std::size_t size) {
  void* at = std::malloc(size);
  if (at == nullptr) throw std::bad_alloc();
  const std::size_t in_use = bytes_in_use += size_of_allocation(at);
  most_in_use = std::max(most_in_use.load(), in_use);
  return at;
}
inline void counted_deallocation(void* at) {
  if (at != nullptr) bytes_in_use -= size_of_allocation(at);
  std::free(at);
}

// Measures the memory from its construction on.
class CountedAllocations {
 public:
  CountedAllocations() : before_(bytes_in_use) { most_in_use = before_; }
  // Returns the largest number of bytes in use since the construction, minus those in use then.
  std::size_t highest() const { return most_in_use - before_; }

 private:
  std::size_t before_;
};

}  // namespace gradwalk::tests

void* operator new(std::size_t size) { return gradwalk::tests::counted_allocation(size); }
void* operator new[](std::size_t size) { return gradwalk::tests::counted_allocation(size); }
// The sanitizer's own version of this one would not match the operator delete below.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  try {
    return gradwalk::tests::counted_allocation(size);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void operator delete(void* at) noexcept { gradwalk::tests::counted_deallocation(at); }
void operator delete[](void* at) noexcept { gradwalk::tests::counted_deallocation(at); }
void operator delete(void* at, std::size_t) noexcept { gradwalk::tests::counted_deallocation(at); }
void operator delete[](void* at, std::size_t) noexcept { gradwalk::tests::counted_deallocation(at); }
