// SPDX-License-Identifier: MIT
// The line search: finds a lower value and a smaller slope along a direction (Wolfe's conditions). It grows the step
// until one is too long. Then it searches between the longest step that is too short and the shortest that is too long.
#pragma once

#include "box.hpp"

namespace gradwalk::solver {

// A point, with the value and the gradient of the function there.
struct Point {
  Vector x;
  double value = 0;
  Vector gradient;
  bool is_finite() const { return std::isfinite(value) && gradient.allFinite(); }
};

// The result of a line search.
enum class Found : std::uint8_t {
  point,          // a lower point
  nothing_lower,  // no lower point
  no_end,         // a value below the lowest one that is allowed
};

// Searches along a direction, within the bounds. Moves `at` to the point found, and sets `step` to its share of the
// direction. Leaves `at` unchanged if nothing is lower.
Found search_line(Function& function, const Box& box, const Vector& direction, double lowest, Point& at, double& step);

}  // namespace gradwalk::solver
