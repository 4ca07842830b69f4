// SPDX-License-Identifier: MIT
// The processes that mpirun has started, as a Team (step.hpp) that trains together. Part of gradwalk::mpi.
//
//   const MpiSession session;                                    // in every process, before training
//   TrainingRun run(data, recipe, eager_step, session.team());   // in every process, with the same data and recipe
//
// Each step adds up the sums of all processes with one reduction. Every process then updates its own parameters by the
// same numbers, so they stay equal.
#pragma once

#include "gradwalk/step.hpp"

namespace gradwalk {

// The functions below as pointers, in the variable gradwalk_mpi_calls. A program can load the component with dlopen(),
// and find the variable with dlsym(), so that it needs MPI only when mpirun starts it.
struct MpiCalls {
  Team (*join)();             // join_mpi()
  void (*leave)();            // leave_mpi()
  void (*abort)(int status);  // abort_mpi()
};

// Starts MPI and returns the team of all processes. A process can do this once.
GRADWALK_EXPORT Team join_mpi();
// Ends MPI. Waits until every process has called it.
GRADWALK_EXPORT void leave_mpi();
// Ends all processes at once, with this exit status.
GRADWALK_EXPORT void abort_mpi(int status);

// Joins in its constructor and leaves in its destructor.
class MpiSession {
 public:
  MpiSession() : team_(join_mpi()) {}
  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;
  ~MpiSession() { leave_mpi(); }
  const Team& team() const { return team_; }  // all processes

 private:
  Team team_;
};

}  // namespace gradwalk

extern "C" GRADWALK_EXPORT const gradwalk::MpiCalls gradwalk_mpi_calls;
