// SPDX-License-Identifier: MIT
// Measures the time and memory of the variants of a case, after checking that their results agree.
// The time is the minimum over runs. Variants take turns, so that a busy moment of the machine affects all of them.
#pragma once

#include <optional>
#include <stdexcept>
#include <vector>

#include "cases.hpp"

namespace bench {

struct Budget {
  int rounds = 3;      // the least number of turns per variant; a turn is a few runs in a row
  double seconds = 2;  // the least time per case
};

// The error that two variants, or a variant and a known result, differ by more than the tolerance.
struct Disagreement : std::runtime_error {
  using std::runtime_error::runtime_error;
};

void check_results(const Case& c);

// Returns the time of the fastest run of each variant, in nanoseconds per op.
std::vector<double> measure_time(const Case& c, const Budget& budget);

// Returns the growth of peak resident memory, in bytes per op, while a variant is constructed and runs once in its own
// process. Leaves count, plain input numbers do not. Returns nothing if the system does not report it. Call it before
// this process has run any variant, because the child inherits memory that is already resident.
std::vector<std::optional<double>> measure_memory(const Case& c);

}  // namespace bench
