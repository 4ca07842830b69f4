// SPDX-License-Identifier: MIT
// Threads that share the work of a machine: none where one thread is enough. A child of fork() has none of its
// parent's; there the pool starts its own when there is work.
//
// On a busy machine a thread may be late. Then the caller does its part, too; and if waiting for others takes longer
// than the work, the caller works alone for a while. So threads cost little where they do not help.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

namespace gradwalk::compiler {

#ifdef __wasm__
// WebAssembly has no threads: the caller does all the work.
inline std::size_t hardware_threads() { return 1; }

class Pool {
 public:
  explicit Pool(std::size_t) {}
  static std::size_t size() { return 1; }
  static void run(const std::function<void(std::size_t)>& work) { work(0); }
};
#else
inline std::size_t hardware_threads() { return std::thread::hardware_concurrency(); }

class Pool {
 public:
  explicit Pool(std::size_t threads);  // the caller is one of them
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  std::size_t size() const { return workers_.size() + 1; }
  // Calls work(0) ... work(size() - 1), each once, on whatever threads are there, and waits for all. If some throw, the
  // exception of the first number comes out.
  void run(const std::function<void(std::size_t)>& work);

 private:
  void start();
  void end();
  void forget();  // threads of the process that this one was forked from
  void wait_for_work(std::size_t number, std::uint32_t round);
  bool claim(std::size_t number, std::uint32_t round);  // true for the first thread that asks in a round
  void call(std::size_t number);
  void run_together();
  void rethrow();

  std::vector<std::thread> workers_;
  std::vector<std::exception_ptr> thrown_;
  const std::function<void(std::size_t)>* work_ = nullptr;
  std::vector<std::atomic<std::uint32_t>> claimed_;  // the last round in which each number was claimed
  std::atomic<std::uint32_t> round_{0}, done_{0};    // done_ counts the calls that other threads have finished
  std::atomic<bool> ends_{false};
  std::size_t alone_ = 0;    // the number of rounds to work alone
  std::size_t rest_ = 0;     // the number of rounds to work alone after the next one that waited too long
  std::size_t in_vain_ = 0;  // the number of rounds in a row in which no other thread was there in time
  long process_ = 0;         // whose threads the workers are; 0: none
};
#endif

}  // namespace gradwalk::compiler
