// SPDX-License-Identifier: MIT
// Address space and memory, as the system gives them. All sizes are multiples of 64 KiB, and so are all addresses.
// Each system has its file: memory_posix.cpp (Linux, macOS and other Unix systems) and memory_windows.cpp.
#pragma once

#include <cstddef>

namespace gradwalk::platform {

// Whether memory can be mapped at this address, if nothing is there: systems differ in how large addresses may be.
bool has_address(void* address);

// Maps memory, full of zeros, at exactly this address. Returns false if there is something already, if the system has
// no memory, or if it never maps memory this way.
bool map_at(void* begin, std::size_t bytes);
void unmap(void* begin, std::size_t bytes);

// Reserves addresses that the system chooses, without memory. Returns nullptr if there are none.
void* reserve_addresses(std::size_t bytes);
void give_back_addresses(void* begin, std::size_t bytes);
// Provides memory, full of zeros, for a part of reserved addresses. Returns false if the system has none.
bool commit(void* begin, std::size_t bytes);

// Sets memory to 0 and returns its pages to the system.
void discard(void* begin, std::size_t bytes);

// Memory that is reachable only through the memory in this range is not a leak.
void keep_from_leak_checks(void* begin, std::size_t bytes);
void leave_to_leak_checks(void* begin, std::size_t bytes);
// Whether memory must be where the system places it: the thread sanitizer allows no other, and Windows reserves it.
bool must_let_system_choose();

}  // namespace gradwalk::platform
