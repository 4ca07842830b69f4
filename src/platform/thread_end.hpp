// SPDX-License-Identifier: MIT
// Work that a thread does when it ends, while its thread-local variables still exist.
// Each system has its file: thread_end_posix.cpp and thread_end_windows.cpp.
#pragma once

namespace gradwalk::platform {

// Calls work(data) when this thread ends, which for the main thread is the end of the program, or, by
// g++ on Windows, never. The call that was
// registered last comes first. A thread can register four calls.
void at_thread_end(void (*work)(void* data) noexcept, void* data);

}  // namespace gradwalk::platform
