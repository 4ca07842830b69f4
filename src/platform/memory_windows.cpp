// SPDX-License-Identifier: MIT
// Memory by VirtualAlloc: Windows. A tape reserves its addresses as a whole and commits memory step by step.
#include "memory.hpp"

#include "windows_api.hpp"

namespace gradwalk::platform {

// The system always chooses the addresses (must_let_system_choose), so nothing is mapped at one of ours.
bool has_address(void*) { return false; }

bool map_at(void*, std::size_t) { return false; }

void unmap(void*, std::size_t) {}

void* reserve_addresses(std::size_t bytes) { return VirtualAlloc(nullptr, bytes, MEM_RESERVE, PAGE_NOACCESS); }

// VirtualFree gives back a whole reservation, from its first byte.
void give_back_addresses(void* begin, std::size_t) { VirtualFree(begin, 0, MEM_RELEASE); }

bool commit(void* begin, std::size_t bytes) {
  return VirtualAlloc(begin, bytes, MEM_COMMIT, PAGE_READWRITE) != nullptr;
}

// Memory that was decommitted and committed again is full of zeros.
void discard(void* begin, std::size_t bytes) {
  VirtualFree(begin, bytes, MEM_DECOMMIT);
  VirtualAlloc(begin, bytes, MEM_COMMIT, PAGE_READWRITE);
}

void keep_from_leak_checks(void*, std::size_t) {}

void leave_to_leak_checks(void*, std::size_t) {}

bool must_let_system_choose() { return true; }

}  // namespace gradwalk::platform
