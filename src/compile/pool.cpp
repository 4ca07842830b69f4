// SPDX-License-Identifier: MIT
// A round of work begins when round_ is counted up. A thread claims the part with its number; the caller claims all
// that are left, and waits for the others to be done. A thread that waits spins for a few microseconds, because most
// waits are shorter than waking up takes, and then sleeps.
#include "pool.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>
#include <utility>

#include "platform/process.hpp"
#include "platform/waiting.hpp"

namespace gradwalk::compiler {
namespace {

void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

using Clock = std::chrono::steady_clock;

constexpr std::chrono::microseconds longest_spin{30};
constexpr std::size_t longest_rest = 1024;  // rounds
constexpr std::size_t most_in_vain = 16;    // rounds

// Waits until the number changes, and returns the new one.
std::uint32_t wait_while(const std::atomic<std::uint32_t>& number, std::uint32_t is) {
  const Clock::time_point end = Clock::now() + longest_spin;
  do {
    for (int i = 0; i < 32; ++i) {
      const std::uint32_t now = number.load(std::memory_order_acquire);
      if (now != is) return now;
      pause();
    }
  } while (Clock::now() < end);
  std::uint32_t now = is;
  while ((now = number.load(std::memory_order_acquire)) == is) platform::wait_for_change(number, is);
  return now;
}

}  // namespace

Pool::Pool(std::size_t threads) : workers_(threads - 1), thrown_(threads), claimed_(threads) { start(); }

Pool::~Pool() { end(); }

void Pool::start() {
  process_ = platform::process_number();
  ends_.store(false, std::memory_order_relaxed);
  const std::uint32_t round = round_.load(std::memory_order_relaxed);
  try {
    for (std::size_t i = 0; i < workers_.size(); ++i)
      workers_[i] = std::thread([this, i, round] { wait_for_work(i + 1, round); });
  } catch (...) {
    end();
    process_ = 0;  // none are there; the next round starts them again
    throw;
  }
}

void Pool::end() {
  if (workers_.empty()) return;
  if (process_ != platform::process_number()) return forget();
  ends_.store(true, std::memory_order_release);
  round_.fetch_add(1, std::memory_order_release);
  platform::wake_all(round_);
  for (std::thread& worker : workers_)
    if (worker.joinable()) worker.join();
}

// They can be neither joined nor let go: the objects are made anew over them.
void Pool::forget() {
  for (std::thread& worker : workers_) std::construct_at(&worker);
}

bool Pool::claim(std::size_t number, std::uint32_t round) {
  std::uint32_t seen = claimed_[number].load(std::memory_order_relaxed);
  // A thread that slept through a round must not claim a part of it that the caller has done.
  return static_cast<std::int32_t>(round - seen) > 0 &&
         claimed_[number].compare_exchange_strong(seen, round, std::memory_order_acq_rel);
}

void Pool::call(std::size_t number) {
  try {
    (*work_)(number);
  } catch (...) {
    thrown_[number] = std::current_exception();
  }
}

void Pool::run(const std::function<void(std::size_t)>& work) {
  if (workers_.empty()) {
    work(0);
    return;
  }
  if (process_ != platform::process_number()) {
    forget();
    start();
  }
  work_ = &work;
  if (alone_ > 0) {
    --alone_;
    for (std::size_t i = 0; i < size(); ++i) call(i);
  } else {
    run_together();
  }
  rethrow();
}

void Pool::run_together() {
  done_.store(0, std::memory_order_relaxed);
  const std::uint32_t round = round_.fetch_add(1, std::memory_order_release) + 1;
  platform::wake_all(round_);
  const Clock::time_point begin = Clock::now();
  std::uint32_t others = 0;
  for (std::size_t i = 0; i < size(); ++i)
    if (claim(i, round))
      call(i);
    else
      ++others;
  const Clock::time_point worked = Clock::now();
  for (std::uint32_t done = done_.load(std::memory_order_acquire); done != others;) done = wait_while(done_, done);
  const Clock::duration waited = Clock::now() - worked;

  in_vain_ = others == 0 ? in_vain_ + 1 : 0;
  if (waited > (worked - begin) + longest_spin || in_vain_ == most_in_vain) {
    rest_ = std::clamp<std::size_t>(2 * rest_, 8, longest_rest);
    alone_ = rest_;
    in_vain_ = 0;
  } else if (others > 0) {
    rest_ /= 2;
  }
}

void Pool::rethrow() {
  for (std::exception_ptr& thrown : thrown_)
    if (thrown != nullptr) {
      const std::exception_ptr first = std::exchange(thrown, nullptr);
      for (std::exception_ptr& other : thrown_) other = nullptr;
      std::rethrow_exception(first);
    }
}

void Pool::wait_for_work(std::size_t number, std::uint32_t round) {
  for (;;) {
    round = wait_while(round_, round);
    if (ends_.load(std::memory_order_acquire)) return;
    if (!claim(number, round)) continue;
    call(number);
    done_.fetch_add(1, std::memory_order_acq_rel);
    platform::wake_all(done_);
  }
}

}  // namespace gradwalk::compiler
