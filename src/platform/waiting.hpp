// SPDX-License-Identifier: MIT
// Threads that sleep until a number changes. Each system has its file: waiting_posix.cpp and waiting_windows.cpp.
// gradwalk::compile has its own copy of it, because libgradwalk exports only the public API.
#pragma once

#include <atomic>
#include <cstdint>

namespace gradwalk::platform {

// Sleeps while the number is `old`. May return earlier.
void wait_for_change(const std::atomic<std::uint32_t>& number, std::uint32_t old);
// Wakes all threads that wait for a change of this number. Call it after the change.
void wake_all(std::atomic<std::uint32_t>& number);

}  // namespace gradwalk::platform
