// SPDX-License-Identifier: MIT
// A Team of MPI processes. An error in MPI ends all processes, which is its default.
#include "gradwalk/mpi.hpp"

#include <mpi.h>

#include <algorithm>

namespace gradwalk {
namespace {

// Adds up in one process, which sends the sums to all. MPI_Allreduce might add in a different order in each process,
// and parameters that differ in their last bits would drift apart.
void add_up(std::span<double> sums, bool is_first) {
  constexpr std::size_t most = 1u << 28;  // MPI counts in int
  for (std::size_t begin = 0; begin < sums.size(); begin += most) {
    double* part = sums.data() + begin;
    const int count = static_cast<int>(std::min(most, sums.size() - begin));
    MPI_Reduce(is_first ? MPI_IN_PLACE : part, part, count, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Bcast(part, count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  }
}

}  // namespace

Team join_mpi() {
  int given = 0, size = 1, member = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &given);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_rank(MPI_COMM_WORLD, &member);
  return {static_cast<std::size_t>(size), static_cast<std::size_t>(member),
          [is_first = member == 0](std::span<double> sums) { add_up(sums, is_first); }};
}

void leave_mpi() { MPI_Finalize(); }

void abort_mpi(int status) { MPI_Abort(MPI_COMM_WORLD, status); }

}  // namespace gradwalk

const gradwalk::MpiCalls gradwalk_mpi_calls{gradwalk::join_mpi, gradwalk::leave_mpi, gradwalk::abort_mpi};
