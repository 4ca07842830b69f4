// SPDX-License-Identifier: MIT
// The memory of a tape on a system with a large address space. A tape has 64 GiB of addresses to itself, in a range
// that nothing else is likely to use, and maps what it needs step by step. So under a limit on address space many tapes
// fit, and any of them can grow.
#include "memory.hpp"

#include <sys/mman.h>

#include <algorithm>

extern "C" {  // NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the sanitizers' names
// These exist in sanitized programs. Memory that is reachable only through a tape is not a leak.
[[gnu::weak]] void __lsan_register_root_region(const void* begin, std::size_t size);
[[gnu::weak]] void __lsan_unregister_root_region(const void* begin, std::size_t size);
[[gnu::weak]] void __tsan_acquire(void* address);
}  // NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

namespace gradwalk::detail {
namespace {

constexpr std::size_t gigabyte = std::size_t{1} << 30, stride = 64 * gigabyte;
constexpr std::size_t header_bytes = 65536;
constexpr std::size_t half_words = std::size_t{1} << 31;
constexpr std::size_t lost_bytes = 32 * gigabyte;  // distance from base to the counters of lost handles
constexpr std::size_t first_step = std::size_t{1} << 17, longest_step = std::size_t{1} << 27;  // words
constexpr int slots = 512;
constexpr int protection = PROT_READ | PROT_WRITE;
constexpr int kind = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

bool take(bool is_reserved, char* begin, std::size_t bytes) {
  if (is_reserved) return mprotect(begin, bytes, protection) == 0;
  void* const got = mmap(begin, bytes, protection, kind | MAP_FIXED_NOREPLACE, -1, 0);
  if (got == begin) return true;
  if (got != MAP_FAILED) munmap(got, bytes);
  return false;
}

void give_back(char* begin, std::size_t bytes) { munmap(begin, bytes); }

char* bytes_of(Word* base) { return reinterpret_cast<char*>(base); }

// Extends one half from `have` to `want` words, and the counters of lost handles with it.
bool extend(const Memory& memory, std::size_t half, std::size_t have, std::size_t want) {
  char* const nodes = bytes_of(memory.base + half);
  char* const lost = bytes_of(memory.base) + lost_bytes + half * 2;
  if (!take(memory.is_reserved, nodes + have * 8, (want - have) * 8)) return false;
  if (!take(memory.is_reserved, lost + have * 2, (want - have) * 2)) {
    if (!memory.is_reserved) give_back(nodes + have * 8, (want - have) * 8);
    return false;
  }
  // Large graphs then cost one page fault per 2 MiB, not per 4 KiB. The system may refuse.
  madvise(nodes + have * 8, (want - have) * 8, MADV_HUGEPAGE);
  return true;
}

// Maps the header and the first step of each half, or nothing.
bool begin(Memory& memory) {
  char* const header = bytes_of(memory.base) - header_bytes;
  if (!take(memory.is_reserved, header, header_bytes)) return false;
  if (__lsan_register_root_region != nullptr) __lsan_register_root_region(header, header_bytes);
  if (grow(memory, 0) && grow(memory, first_leaf)) return true;
  unreserve(memory);
  return false;
}

}  // namespace

Memory reserve() {
  // An address range far from where systems place other mappings. The thread sanitizer does not allow mappings there.
  constexpr std::uintptr_t range = std::uintptr_t{1} << 45;
  static std::atomic<std::uint32_t> next = 0;
  for (int tries = 0; tries < slots && __tsan_acquire == nullptr; ++tries) {
    const std::uintptr_t slot = next.fetch_add(1, std::memory_order_relaxed) % slots;
    Memory memory;
    memory.base = reinterpret_cast<Word*>(range + (slot + 1) * stride);
    if (begin(memory)) return memory;
  }
  Memory memory;
  void* const got = mmap(nullptr, stride, PROT_NONE, kind, -1, 0);
  if (got == MAP_FAILED) return memory;
  const std::uintptr_t aligned = (reinterpret_cast<std::uintptr_t>(got) + 2 * header_bytes - 1) & ~(header_bytes - 1);
  memory.base = reinterpret_cast<Word*>(aligned);
  memory.is_reserved = true;
  return begin(memory) ? memory : Memory{};
}

void unreserve(const Memory& memory) {
  char* const base = bytes_of(memory.base);
  if (__lsan_unregister_root_region != nullptr) __lsan_unregister_root_region(base - header_bytes, header_bytes);
  if (memory.is_reserved) {
    munmap(base - header_bytes, stride - header_bytes);
    return;
  }
  for (const auto& [half, words] : {std::pair{std::size_t{0}, memory.records}, {half_words, memory.leaves}}) {
    if (words == 0) continue;
    munmap(base + half * 8, words * 8);
    munmap(base + lost_bytes + half * 2, words * 2);
  }
  munmap(base - header_bytes, header_bytes);
}

bool grow(Memory& memory, Ref half) {
  std::size_t& words = half == 0 ? memory.records : memory.leaves;
  const std::size_t most = half_words - first_step;
  for (std::size_t step = std::clamp(words, first_step, longest_step); step >= first_step; step /= 2) {
    if (words + step > most) continue;
    if (!extend(memory, half, words, words + step)) continue;
    words += step;
    return true;
  }
  return false;
}

void discard(Word* begin, std::size_t words) { madvise(begin, words * sizeof(Word), MADV_DONTNEED); }

Lost* lost_handles(Word* base, Ref ref) { return reinterpret_cast<Lost*>(bytes_of(base) + lost_bytes) + ref / 4; }

}  // namespace gradwalk::detail
