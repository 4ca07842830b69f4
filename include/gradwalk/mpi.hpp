// SPDX-License-Identifier: MIT
// The processes mpirun has started, as a Team (step.hpp) that trains together. The component gradwalk::mpi.
//
//   const MpiSession session;                                    // in every process, before anything is learned
//   TrainingRun run(data, recipe, eager_step, session.team());   // in every one the same data and recipe
//
// A step adds up what all have computed by one reduction, and each then moves its own parameters by the same bits.
#pragma once

#include "gradwalk/step.hpp"

namespace gradwalk {

// For programs that load the component when mpirun runs them and not before: gradwalk_mpi_calls, by dlsym().
struct MpiCalls {
  Team (*join)();             // begins MPI; a process can do so once
  void (*leave)();            // ends it, when all have come here
  void (*abort)(int status);  // ends all processes at once
};

GRADWALK_EXPORT Team join_mpi();
GRADWALK_EXPORT void leave_mpi();
GRADWALK_EXPORT void abort_mpi(int status);

class MpiSession {
 public:
  MpiSession() : team_(join_mpi()) {}
  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;
  ~MpiSession() { leave_mpi(); }
  const Team& team() const { return team_; }

 private:
  Team team_;
};

}  // namespace gradwalk

extern "C" GRADWALK_EXPORT const gradwalk::MpiCalls gradwalk_mpi_calls;
