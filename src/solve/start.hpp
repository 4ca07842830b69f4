// SPDX-License-Identifier: MIT
// What every solver asks of a start.
#pragma once

#include <cmath>

#include "function.hpp"
#include "gradwalk/error.hpp"
#include "text/numbers.hpp"

namespace gradwalk::solver {

inline Vector start_of(const char* call, const AnyNumbers& start) {
  if (start.size() == 0)
    throw Error(call, "a parameter to find", "an empty start", "give a number to start from for each");
  for (const double number : start)
    if (!std::isfinite(number))
      throw Error(call, "a start of finite numbers", detail::format_number(number), "start from somewhere else");
  return vector({start.begin(), start.end()});
}

}  // namespace gradwalk::solver
