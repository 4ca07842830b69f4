// SPDX-License-Identifier: MIT
// The processes that mpirun has started, which train together; or this process alone. gradwalk::mpi is loaded at run
// time, under mpirun only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <vector>

#include "gradwalk/mpi.hpp"

namespace gradwalk::cli {

bool is_first_process();  // read from the environment that mpirun sets
// The exit status of a process that leaves the message and the error status to another process. It is 0, because mpirun
// kills the other processes as soon as one fails, perhaps before the message is printed.
inline constexpr int silent_status = 0;

class Together {
 public:
  Together();
  Together(const Together&) = delete;
  Together& operator=(const Together&) = delete;
  ~Together();

  std::size_t size() const { return team_.size; }
  bool is_alone() const { return team_.size == 1; }
  bool is_first() const { return team_.member == 0; }  // the first process prints and writes files
  std::size_t threads_each() const;                    // this process's share of the cores of its machine; 0: all

  // The sums of each step carry one number more, which says whether to stop, so all processes stop after the same step.
  Team team(const std::function<bool()>& is_to_stop);
  bool has_stopped() const { return has_stopped_; }

  // Does work that may fail in some processes. If it does, it fails in all, and the first process that failed prints
  // the message.
  void agree(const std::function<void()>& work) const;
  // Makes training steps. An Error occurs in all processes at the same step, and the first process prints it. Any other
  // exception ends all processes.
  void run_steps(const std::function<void()>& steps) const;
  void need_same(std::uint64_t number) const;  // fails unless the number is the same in all processes

 private:
  [[noreturn]] void fail(const std::exception_ptr& failure, std::size_t speaker) const;

  const MpiCalls* calls_ = nullptr;
  Team team_;
  std::vector<double> message_;
  bool has_stopped_ = false;
};

}  // namespace gradwalk::cli
