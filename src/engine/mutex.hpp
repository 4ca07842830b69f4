// SPDX-License-Identifier: MIT
// std::mutex, or nothing where the standard library knows no threads, as in WebAssembly.
#pragma once

#include <mutex>

namespace gradwalk::detail {

#if defined(__wasm__) && !defined(_REENTRANT)
struct Mutex {
  void lock() {}
  void unlock() {}
};
#else
using Mutex = std::mutex;
#endif

}  // namespace gradwalk::detail
