// SPDX-License-Identifier: MIT
// The memory under a tape. Its two halves, records from `base` and leaves from first_leaf on, lie at fixed distances,
// so a Ref is enough to find a node; each half grows by steps, and address space is taken only as it is used. Beside
// them lies a place a node for handles that ended elsewhere (handover.cpp), below `base` a header.
#pragma once

#include <atomic>
#include <cstddef>

#include "gradwalk/tape.hpp"

namespace gradwalk::detail {

// What any copy of the library must be able to read of a tape, given the number of the tape.
struct Header {
  const void* copy = nullptr;  // which copy of the library it belongs to
  void (*lose)(Store& store, Ref ref) noexcept = nullptr;
  Store* store = nullptr;
};

struct Lost {  // of a node: how many of its handles have ended elsewhere, and the next node of the list
  std::atomic<Ref> count, next;
};

struct Memory {
  Word* base = nullptr;
  std::size_t records = 0, leaves = 0;  // words that may be used, of each half
  bool is_reserved = false;             // as a whole, where the system chose the place
};

inline std::uint32_t id_of(const Word* base) {
  return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(base) >> 16);
}
inline Header& header_of(std::uint32_t id) {
  return *(reinterpret_cast<Header*>(static_cast<std::uintptr_t>(id) << 16) - 1);  // NOLINT: an id is not 0
}

Memory reserve();  // base nullptr: there is none
void unreserve(const Memory& memory);
bool grow(Memory& memory, Ref half);           // 0, or first_leaf; false: there is no more
void discard(Word* begin, std::size_t words);  // they become zero, and cost nothing
Lost* lost_handles(Word* base, Ref ref);       // nullptr where there are no threads

}  // namespace gradwalk::detail
