// SPDX-License-Identifier: MIT
// The processes mpirun has started, which train together; or this one alone. gradwalk::mpi is loaded under mpirun only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <vector>

#include "gradwalk/mpi.hpp"

namespace gradwalk::cli {

bool is_first_process();  // as mpirun tells each in its environment
// The exit status of a process that leaves the message, and the status of them all, to another. It is that of success,
// because mpirun kills the other processes as soon as one fails, perhaps before the message is written.
inline constexpr int silent_status = 0;

class Together {
 public:
  Together();
  Together(const Together&) = delete;
  Together& operator=(const Together&) = delete;
  ~Together();

  std::size_t size() const { return team_.size; }
  bool is_alone() const { return team_.size == 1; }
  bool is_first() const { return team_.member == 0; }  // the one that prints and writes
  std::size_t threads_each() const;  // that the processes of one machine have it to themselves; 0: all

  // Each step's sums carry word of whether to stop along, so that all stop after the same one.
  Team team(const std::function<bool()>& is_to_stop);
  bool has_stopped() const { return has_stopped_; }

  // Work that may fail in some: then it fails in all, and the first that failed says why.
  void agree(const std::function<void()>& work) const;
  // Steps, whose Errors all meet at once: the first says them. Whatever else ends one ends all.
  void step(const std::function<void()>& steps) const;
  void need_same(std::uint64_t number) const;  // an Error in some if it is not the same in all

 private:
  [[noreturn]] void fail(const std::exception_ptr& failure, std::size_t speaker) const;

  const MpiCalls* calls_ = nullptr;
  Team team_;
  std::vector<double> message_;
  bool has_stopped_ = false;
};

}  // namespace gradwalk::cli
