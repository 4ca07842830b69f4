// SPDX-License-Identifier: MIT
// The memory under a tape in WebAssembly: there is no address space apart from memory, and what has been taken cannot
// be given back. So a tape is small, and taken as a whole; systems still back it by pages only where it is used.
#include <cstdlib>

#include "store.hpp"

namespace gradwalk::detail {

const std::size_t largest_tape = std::size_t{4} << 20;  // 32 MiB: half a million nodes, and as many leaves

Word* reserve(std::size_t words) { return static_cast<Word*>(std::malloc(words * sizeof(Word))); }

void unreserve(Word* base, std::size_t) { std::free(base); }

void discard(Word*, std::size_t) {}

}  // namespace gradwalk::detail
