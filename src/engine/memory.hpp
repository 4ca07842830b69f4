// SPDX-License-Identifier: MIT
// The memory of a tape. It has two halves: records from `base` on, and leaves from first_leaf on. They are at a fixed
// distance, so a Ref is enough to find a node. Each half grows in steps, and address space is taken only as needed.
// Beside them is one counter per node for handles that died elsewhere (handover.cpp); below `base` is a header.
#pragma once

#include <atomic>
#include <cstddef>

#include "gradwalk/tape.hpp"

namespace gradwalk::detail {

// The facts about a tape that any copy of the library can read, given the number of the tape.
struct Header {
  const void* copy = nullptr;  // the copy of the library that made the tape
  void (*lose)(Store& store, Ref ref) noexcept = nullptr;
  Store* store = nullptr;
};

struct Lost {  // how many handles of a node died elsewhere, and the next node of the list
  std::atomic<Ref> count, next;
};

struct Memory {
  Word* base = nullptr;
  std::size_t records = 0, leaves = 0;  // usable words of each half
  std::size_t most = 0;                 // how many words a half may have
  void* reserved = nullptr;             // all addresses, if the system chose and reserved them
};

inline std::uint32_t id_of(const Word* base) {
  return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(base) >> 16);
}
inline Header& header_of(std::uint32_t id) {
  return *(reinterpret_cast<Header*>(static_cast<std::uintptr_t>(id) << 16) - 1);  // NOLINT: an id is not 0
}

Memory reserve();  // `base` is nullptr if there is no memory
void unreserve(const Memory& memory);
bool grow(Memory& memory, Ref half);           // `half` is 0 or first_leaf; returns false if it cannot grow
void discard(Word* begin, std::size_t words);  // sets the words to 0 and gives their pages back
Lost* lost_handles(Word* base, Ref ref);       // nullptr on a system without threads

}  // namespace gradwalk::detail
