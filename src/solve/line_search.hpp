// SPDX-License-Identifier: MIT
// How far to go along a direction: to a point with less value and less slope (Wolfe's conditions), found by growing the
// step until one is too long, and then between the longest that is too short and the shortest that is too long.
#pragma once

#include "function.hpp"

namespace gradwalk::solver {

struct Place {
  Vector x;
  double value = 0;
  Vector gradient;
  bool is_finite() const { return std::isfinite(value) && gradient.allFinite(); }
};

enum class Found : std::uint8_t { point, nothing_lower, no_end };

// Moves `at` to the point found, and `step` to its share of the direction; `at` is left as it is where nothing is
// lower. no_end: a value below `lowest` was met, or minus infinity.
Found search_line(Function& function, const Vector& direction, double lowest, Place& at, double& step);

}  // namespace gradwalk::solver
