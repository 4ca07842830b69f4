// SPDX-License-Identifier: MIT
// Work that a thread does when it ends, while its thread-local variables still exist.
// Each system has its file: thread_end_posix.cpp and thread_end_windows.cpp.
#pragma once

namespace gradwalk::platform {

// Calls work(data) when this thread ends. For the main thread that is the end of the program: before the destructors of
// global objects, but on Windows after them or, by g++, never. The call that was registered last comes first. A thread
// can register four calls.
void at_thread_end(void (*work)(void* data) noexcept, void* data);

}  // namespace gradwalk::platform
