// SPDX-License-Identifier: MIT
#include "waiting.hpp"

namespace gradwalk::platform {

void wait_for_change(const std::atomic<std::uint32_t>& number, std::uint32_t old) {
  number.wait(old, std::memory_order_acquire);
}

void wake_all(std::atomic<std::uint32_t>& number) { number.notify_all(); }

}  // namespace gradwalk::platform
