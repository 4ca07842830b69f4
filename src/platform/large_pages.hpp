// SPDX-License-Identifier: MIT
// Pages of 2 MiB in place of 4 KiB, so that much memory costs few page faults.
#pragma once

#include <cstddef>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace gradwalk::platform {

inline constexpr std::size_t large_page = std::size_t{1} << 21;

// Asks for large pages. `begin` is the start of a small page. The system may refuse.
inline void prefer_large_pages([[maybe_unused]] void* begin, [[maybe_unused]] std::size_t bytes) {
#ifdef __linux__
  madvise(begin, bytes, MADV_HUGEPAGE);
#endif
}

}  // namespace gradwalk::platform
