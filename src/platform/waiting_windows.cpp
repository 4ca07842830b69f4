// SPDX-License-Identifier: MIT
// By one condition variable for all numbers. Where a system has no futex, libstdc++'s std::atomic::wait loses a wake-up
// that comes between its last look at the number and its sleep (in g++ 12), and the thread sleeps for ever.
#include <condition_variable>
#include <mutex>

#include "waiting.hpp"

namespace gradwalk::platform {
namespace {

std::mutex mutex;
std::condition_variable change;

}  // namespace

void wait_for_change(const std::atomic<std::uint32_t>& number, std::uint32_t old) {
  std::unique_lock<std::mutex> lock(mutex);
  if (number.load(std::memory_order_acquire) == old) change.wait(lock);
}

void wake_all(std::atomic<std::uint32_t>&) {
  // A thread that has seen the old number is asleep once we hold the lock.
  const std::lock_guard<std::mutex> lock(mutex);
  change.notify_all();
}

}  // namespace gradwalk::platform
