// SPDX-License-Identifier: MIT
// A round of work is begun by counting round_ up and ends when busy_ is 0. Who waits looks a while, for most waits are
// shorter than being woken takes, and then sleeps: on machines with fewer cores than threads looking on would keep the
// work from being done.
#include "pool.hpp"

#include <unistd.h>

#include <exception>
#include <memory>
#include <utility>

namespace gradwalk::compiler {
namespace {

void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

// Until the number is another one.
template <class N> N wait_while(const std::atomic<N>& number, N is) {
  constexpr int looks = 2000;
  for (int i = 0; i < looks; ++i) {
    const N now = number.load(std::memory_order_acquire);
    if (now != is) return now;
    pause();
  }
  N now = is;
  while ((now = number.load(std::memory_order_acquire)) == is) number.wait(is, std::memory_order_acquire);
  return now;
}

}  // namespace

Pool::Pool(std::size_t threads) : workers_(threads - 1), thrown_(threads) { start(); }

Pool::~Pool() { end(); }

void Pool::start() {
  process_ = getpid();
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
  if (process_ != getpid()) return forget();
  ends_.store(true, std::memory_order_release);
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
  for (std::thread& worker : workers_)
    if (worker.joinable()) worker.join();
}

// They can be neither joined nor let go: the objects are made anew over them.
void Pool::forget() {
  for (std::thread& worker : workers_) std::construct_at(&worker);
}

void Pool::run(const std::function<void(std::size_t)>& work) {
  if (workers_.empty()) {
    work(0);
    return;
  }
  if (process_ != getpid()) {
    forget();
    start();
  }
  work_ = &work;
  busy_.store(static_cast<std::uint32_t>(workers_.size()), std::memory_order_relaxed);
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
  try {
    work(0);
  } catch (...) {
    thrown_[0] = std::current_exception();
  }
  for (std::uint32_t busy = busy_.load(std::memory_order_acquire); busy != 0;) busy = wait_while(busy_, busy);
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
    try {
      (*work_)(number);
    } catch (...) {
      thrown_[number] = std::current_exception();
    }
    if (busy_.fetch_sub(1, std::memory_order_acq_rel) == 1) busy_.notify_all();
  }
}

}  // namespace gradwalk::compiler
