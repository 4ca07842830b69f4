// SPDX-License-Identifier: MIT
// The calls that a thread makes at its end. They need no memory of their own.
#pragma once

#include <array>
#include <cstddef>

namespace gradwalk::platform {

class ThreadEndCalls {
 public:
  void add(void (*work)(void*) noexcept, void* data) noexcept {
    if (count_ < calls_.size()) calls_[count_++] = {work, data};
  }
  // Makes the calls, the last one first. A call may add another one.
  void make() noexcept {
    while (count_ > 0) {
      const Call call = calls_[--count_];
      call.work(call.data);
    }
  }

 private:
  struct Call {
    void (*work)(void*) noexcept;
    void* data;
  };
  std::array<Call, 4> calls_{};
  std::size_t count_ = 0;
};

}  // namespace gradwalk::platform
