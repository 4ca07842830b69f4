// SPDX-License-Identifier: MIT
// The memory of a tape in WebAssembly, where address space is memory, and memory cannot be given back. So a tape is
// small and allocated as a whole; systems still provide pages only where it is used.
#include <cstdlib>

#include "memory.hpp"
#include "store.hpp"

namespace gradwalk::detail {
namespace {
constexpr std::size_t header_bytes = 65536;
}

Memory reserve() {  // half a million nodes, and as many leaves
  Memory memory;
  void* const got = std::aligned_alloc(header_bytes, header_bytes + 2 * std::size_t{first_leaf} * sizeof(Word));
  if (got == nullptr) return memory;
  memory.base = reinterpret_cast<Word*>(static_cast<char*>(got) + header_bytes);
  memory.leaves = first_leaf;
  memory.records = first_leaf - chunk_words;  // One chunk stays free, so that `top` is never in the leaf region.
  return memory;
}

void unreserve(const Memory& memory) { std::free(reinterpret_cast<char*>(memory.base) - header_bytes); }

bool grow(Memory&, Ref) { return false; }

void discard(Word*, std::size_t) {}

Lost* lost_handles(Word*, Ref) { return nullptr; }

}  // namespace gradwalk::detail
