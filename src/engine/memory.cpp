// SPDX-License-Identifier: MIT
// The memory under a tape: a stretch of address space, backed by pages only where it is used.
#include <sys/mman.h>

#include "store.hpp"

namespace gradwalk::detail {

const std::size_t largest_tape = std::size_t{1} << 32;  // all that a Ref can tell apart

Word* reserve(std::size_t words) {
  void* base =
      mmap(nullptr, words * sizeof(Word), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) return nullptr;
  // Large graphs then cost a fault every 2 MiB, not every 4 KiB; refusal is fine.
  madvise(base, words * sizeof(Word), MADV_HUGEPAGE);
  return static_cast<Word*>(base);
}

void unreserve(Word* base, std::size_t words) { munmap(base, words * sizeof(Word)); }

void discard(Word* begin, std::size_t words) { madvise(begin, words * sizeof(Word), MADV_DONTNEED); }

}  // namespace gradwalk::detail
