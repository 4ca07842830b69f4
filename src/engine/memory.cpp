// SPDX-License-Identifier: MIT
// The memory of a tape. Its addresses are in a range that nothing else is likely to use, and it maps what it needs step
// by step. So under a limit on address space many tapes fit, and any of them can grow.
//
// In a large address space (47 bits), a tape takes 64 GiB. In a small one (39 bits: many small computers), sixteen
// tapes interleave in 64 GiB: the halves of each are as far apart as ever, and hold 1 GiB each. On a 32-bit system, a
// tape takes 40 MiB.
#include "memory.hpp"

#include <algorithm>

#include "platform/large_pages.hpp"
#include "platform/memory.hpp"

namespace gradwalk::detail {
namespace {

constexpr std::size_t header_bytes = 65536;
constexpr std::size_t half_words = first_leaf;
constexpr std::size_t first_step = std::size_t{1} << 17, longest_step = std::size_t{1} << 27;  // words
constexpr std::size_t lost_bytes = 2 * half_words * 8;  // distance from base to the counters of lost handles
// The counters of leaves are half a GiB off those of records, so that they do not meet those of an interleaved tape.
constexpr std::size_t lost_leaves_bytes = half_words * 2 + (sizeof(void*) == 8 ? std::size_t{1} << 29 : 0);
// The addresses of a tape that nothing interleaves: header, both halves, and the counters of both.
constexpr std::size_t whole_bytes = header_bytes + lost_bytes + lost_leaves_bytes + half_words * 2;

// Where tapes are: slots `stride` apart, in groups that are 64 GiB apart. A half may grow to `most` words.
struct Places {
  std::uint64_t begin, stride;
  std::uint32_t in_group, slots;
  std::size_t most;

  Word* base(std::uint32_t slot) const {
    const std::uint64_t address = begin + slot / in_group * (std::uint64_t{64} << 30) + slot % in_group * stride;
    return reinterpret_cast<Word*>(static_cast<std::uintptr_t>(address));
  }
};
constexpr std::size_t reserved_most = half_words - first_step;
constexpr Places large{(std::uint64_t{1} << 45) + (std::uint64_t{64} << 30), std::uint64_t{64} << 30, 1, 512,
                       reserved_most};
constexpr Places small{std::uint64_t{64} << 30, std::uint64_t{1} << 30, 16, 48, (std::size_t{1} << 27) - first_step};
constexpr Places nowhere{0, 0, 1, 0, 0};

// The places of this system. The first page of `large` is in no tape; a system with fewer addresses refuses it.
const Places& places() {
  static const Places& chosen = [&]() -> const Places& {
    if (sizeof(void*) < 8 || platform::must_let_system_choose()) return nowhere;
    return platform::has_address(large.base(0) - (std::size_t{64} << 30) / sizeof(Word)) ? large : small;
  }();
  return chosen;
}

bool take(const Memory& memory, char* begin, std::size_t bytes) {
  return memory.reserved != nullptr ? platform::commit(begin, bytes) : platform::map_at(begin, bytes);
}

char* bytes_of(Word* base) { return reinterpret_cast<char*>(base); }
char* counters_of(Word* base, std::size_t half) {
  return bytes_of(base) + lost_bytes + (half == 0 ? 0 : lost_leaves_bytes);
}

// Extends one half from `have` to `want` words, and the counters of lost handles with it.
bool extend(const Memory& memory, std::size_t half, std::size_t have, std::size_t want) {
  char* const nodes = bytes_of(memory.base + half);
  char* const lost = counters_of(memory.base, half);
  if (!take(memory, nodes + have * 8, (want - have) * 8)) return false;
  if (!take(memory, lost + have * 2, (want - have) * 2)) {
    if (memory.reserved == nullptr) platform::unmap(nodes + have * 8, (want - have) * 8);
    return false;
  }
  platform::prefer_large_pages(nodes + have * 8, (want - have) * 8);
  return true;
}

// Maps the header and the first step of each half, or nothing.
bool begin(Memory& memory) {
  char* const header = bytes_of(memory.base) - header_bytes;
  if (!take(memory, header, header_bytes)) return false;
  platform::keep_from_leak_checks(header, header_bytes);
  if (grow(memory, 0) && grow(memory, first_leaf)) return true;
  unreserve(memory);
  return false;
}

}  // namespace

Memory reserve() {
  static std::atomic<std::uint32_t> next = 0;
  const Places& here = places();
  for (std::uint32_t tries = 0; tries < here.slots; ++tries) {
    Memory memory;
    memory.base = here.base(next.fetch_add(1, std::memory_order_relaxed) % here.slots);
    memory.most = here.most;
    if (begin(memory)) return memory;
  }
  // One header more than the tape needs, so that it can be aligned.
  Memory memory;
  void* const got = platform::reserve_addresses(whole_bytes + header_bytes);
  if (got == nullptr) return memory;
  const std::uintptr_t aligned = (reinterpret_cast<std::uintptr_t>(got) + 2 * header_bytes - 1) & ~(header_bytes - 1);
  memory.base = reinterpret_cast<Word*>(aligned);
  memory.most = reserved_most;
  memory.reserved = got;
  return begin(memory) ? memory : Memory{};
}

void unreserve(const Memory& memory) {
  char* const base = bytes_of(memory.base);
  platform::leave_to_leak_checks(base - header_bytes, header_bytes);
  if (memory.reserved != nullptr) {
    platform::give_back_addresses(memory.reserved, whole_bytes + header_bytes);
    return;
  }
  for (const auto& [half, words] : {std::pair{std::size_t{0}, memory.records}, {half_words, memory.leaves}}) {
    if (words == 0) continue;
    platform::unmap(base + half * 8, words * 8);
    platform::unmap(counters_of(memory.base, half), words * 2);
  }
  platform::unmap(base - header_bytes, header_bytes);
}

bool grow(Memory& memory, Ref half) {
  std::size_t& words = half == 0 ? memory.records : memory.leaves;
  for (std::size_t step = std::clamp(words, first_step, longest_step); step >= first_step; step /= 2) {
    if (words + step > memory.most) continue;
    if (!extend(memory, half, words, words + step)) continue;
    words += step;
    return true;
  }
  return false;
}

void discard(Word* begin, std::size_t words) { platform::discard(begin, words * sizeof(Word)); }

Lost* lost_handles(Word* base, Ref ref) {
  const std::size_t half = ref < first_leaf ? 0 : half_words;
  return reinterpret_cast<Lost*>(counters_of(base, half)) + (ref - half) / 4;
}

}  // namespace gradwalk::detail
