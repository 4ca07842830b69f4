// SPDX-License-Identifier: MIT
// Distinguishes a process from the one that it was forked from. Each system has its file: process_posix.cpp and
// process_windows.cpp. gradwalk::compile has its own copy of it, because libgradwalk exports only the public API.
#pragma once

namespace gradwalk::platform {

// A positive number of this process. A child of fork() has another one.
long process_number();

}  // namespace gradwalk::platform
