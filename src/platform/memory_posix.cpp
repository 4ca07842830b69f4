// SPDX-License-Identifier: MIT
// Memory by mmap: Linux, macOS and other Unix systems.
#include <sys/mman.h>

#include "memory.hpp"

#ifdef __linux__
extern "C" {  // NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the sanitizers' names
// These exist in sanitized programs.
[[gnu::weak]] void __lsan_register_root_region(const void* begin, std::size_t size);
[[gnu::weak]] void __lsan_unregister_root_region(const void* begin, std::size_t size);
[[gnu::weak]] void __tsan_acquire(void* address);
}  // NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
#endif

namespace gradwalk::platform {
namespace {

constexpr int protection = PROT_READ | PROT_WRITE;
constexpr int kind = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
// Without this flag, as on macOS, the address is a hint, and mmap may choose another.
#ifdef MAP_FIXED_NOREPLACE
constexpr int only_here = MAP_FIXED_NOREPLACE;
#else
constexpr int only_here = 0;
#endif

}  // namespace

bool has_address(void* address) {
  constexpr std::size_t bytes = 65536;
  if (!map_at(address, bytes)) return false;
  unmap(address, bytes);
  return true;
}

bool map_at(void* begin, std::size_t bytes) {
  void* const got = mmap(begin, bytes, protection, kind | only_here, -1, 0);
  if (got == begin) return true;
  if (got != MAP_FAILED) munmap(got, bytes);
  return false;
}

void unmap(void* begin, std::size_t bytes) { munmap(begin, bytes); }

void* reserve_addresses(std::size_t bytes) {
  void* const got = mmap(nullptr, bytes, PROT_NONE, kind, -1, 0);
  return got == MAP_FAILED ? nullptr : got;
}

void give_back_addresses(void* begin, std::size_t bytes) { munmap(begin, bytes); }

bool commit(void* begin, std::size_t bytes) { return mprotect(begin, bytes, protection) == 0; }

#ifdef __linux__

void discard(void* begin, std::size_t bytes) { madvise(begin, bytes, MADV_DONTNEED); }

void keep_from_leak_checks(void* begin, std::size_t bytes) {
  if (__lsan_register_root_region != nullptr) __lsan_register_root_region(begin, bytes);
}

void leave_to_leak_checks(void* begin, std::size_t bytes) {
  if (__lsan_unregister_root_region != nullptr) __lsan_unregister_root_region(begin, bytes);
}

bool must_let_system_choose() { return __tsan_acquire != nullptr; }

#else

// Maps new memory over the old, because MADV_DONTNEED sets memory to 0 only on Linux.
void discard(void* begin, std::size_t bytes) { mmap(begin, bytes, protection, kind | MAP_FIXED, -1, 0); }

void keep_from_leak_checks(void*, std::size_t) {}

void leave_to_leak_checks(void*, std::size_t) {}

bool must_let_system_choose() { return false; }

#endif

}  // namespace gradwalk::platform
