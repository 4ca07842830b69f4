// SPDX-License-Identifier: MIT
// Threads that wait for work: a machine's own, and none where one thread is enough. A child of fork() has none of its
// parent's; there the pool starts its own when there is work.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <functional>
#include <thread>
#include <vector>

namespace gradwalk::compiler {

class Pool {
 public:
  explicit Pool(std::size_t threads);  // the caller is one of them
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  std::size_t size() const { return workers_.size() + 1; }
  // Calls work(0) ... work(size() - 1), each on a thread of its own, the first on the caller's, and waits for all. What
  // one throws comes out, the first one's first.
  void run(const std::function<void(std::size_t)>& work);

 private:
  void start();
  void end();
  void forget();  // threads of the process that this one was forked from
  void wait_for_work(std::size_t number, std::uint32_t round);

  std::vector<std::thread> workers_;
  std::vector<std::exception_ptr> thrown_;
  const std::function<void(std::size_t)>* work_ = nullptr;
  std::atomic<std::uint32_t> round_{0}, busy_{0};
  std::atomic<bool> ends_{false};
  pid_t process_ = 0;  // whose threads the workers are
};

}  // namespace gradwalk::compiler
