// SPDX-License-Identifier: MIT
// Measuring a case: what each variant takes, in time and in memory, after a check that all give the same results.
// Time is the minimum over runs in turns, so that a busy moment of the machine hits every variant alike.
#pragma once

#include <optional>
#include <stdexcept>
#include <vector>

#include "cases.hpp"

namespace bench {

struct Budget {
  int rounds = 3;      // at least so many turns of each variant, a turn being a few runs in a row
  double seconds = 2;  // and on until so many have passed for the case
};

// Two variants disagree by more than the case's tolerance, or one with what is known by more than that one's.
struct Disagreement : std::runtime_error {
  using std::runtime_error::runtime_error;
};

void check_results(const Case& c);

// The fastest run of each variant, in nanoseconds an op.
std::vector<double> measure_time(const Case& c, const Budget& budget);

// Growth of peak resident memory, in bytes an op, while a variant makes what it needs and runs once in a process of its
// own. Leaves count, plain input numbers do not; nothing where the system does not tell. To be called before
// this process has run any variant, since the child inherits memory that is already resident.
std::vector<std::optional<double>> measure_memory(const Case& c);

}  // namespace bench
