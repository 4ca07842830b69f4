// SPDX-License-Identifier: MIT
// How every solver begins: it checks the start, and it repeats the search if the compiled programs turn out to be
// wrong.
#pragma once

#include <cmath>
#include <optional>

#include "function.hpp"
#include "gradwalk/error.hpp"
#include "text/numbers.hpp"

namespace gradwalk::solver {

// Returns the start as a vector. Throws an Error if it is empty or not finite.
inline Vector start_of(const char* call, const AnyNumbers& start) {
  if (start.size() == 0)
    throw Error(call, "a parameter to find", "an empty start", "give a number to start from for each");
  for (const double number : start)
    if (!std::isfinite(number))
      throw Error(call, "a start of finite numbers", detail::format_number(number), "start from somewhere else");
  return vector({start.begin(), start.end()});
}

// Runs a Problem, which has run(), x() and values(), from a start. If the function, recorded at the point found, does
// not confirm its values, runs it once more, from that point or, if it is worse, from the start.
template <class Problem, class Options>
Problem solved(Function& function, const Options& options, const Vector& start, Ending& ending) {
  std::optional<Problem> problem(std::in_place, function, options, start);
  const double first = problem->values().squaredNorm();
  ending.stop = problem->run(ending.iterations);
  if (Vector there = problem->values(); !function.confirms(problem->x(), there)) {
    const Vector next = there.squaredNorm() <= first ? problem->x() : start;
    problem.emplace(function, options, next);
    ending.stop = problem->run(ending.iterations);
  }
  function.report(ending);
  return *std::move(problem);
}

}  // namespace gradwalk::solver
