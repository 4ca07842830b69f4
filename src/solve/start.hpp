// SPDX-License-Identifier: MIT
// What every solver asks of a start.
#pragma once

#include <cmath>

#include "gradwalk/error.hpp"
#include "gradwalk/solve.hpp"
#include "text/numbers.hpp"

namespace gradwalk::solver {

inline void need_start(const char* call, const Numbers& start) {
  if (start.empty()) throw Error(call, "a parameter to find", "an empty start", "give a number to start from for each");
  for (const double number : start)
    if (!std::isfinite(number))
      throw Error(call, "a start of finite numbers", detail::format_number(number), "start from somewhere else");
}

}  // namespace gradwalk::solver
