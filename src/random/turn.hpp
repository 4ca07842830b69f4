// SPDX-License-Identifier: MIT
// Cosine and sine from + - * / alone, so they are the same bits with every C library; std::cos and std::sin are not.
// The error is at most 2e-16, and 0 at quarter turns.
#pragma once

#include <cmath>

namespace gradwalk::detail {

struct CirclePoint {
  double cosine, sine;
};

// Returns cosine and sine of an angle given in turns, for |turns| up to 2^50.
inline CirclePoint on_circle(double turns) {
  const double quarters = std::floor(turns * 4 + 0.5), angle = (turns - quarters / 4) * 6.283185307179586;
  const double square = angle * angle;  // at most (pi / 4)^2, so nine terms of Taylor's series are enough
  double c = 1, s = 1;
  for (int n = 18; n > 0; n -= 2) {
    c = 1 - c * square / (n * (n - 1));
    s = 1 - s * square / (n * (n + 1));
  }
  s *= angle;
  switch (static_cast<int>(quarters - 4 * std::floor(quarters / 4))) {
    case 0: return {c, s};
    case 1: return {0 - s, c};  // not -s, which could be -0
    case 2: return {0 - c, 0 - s};
    default: return {s, 0 - c};
  }
}

}  // namespace gradwalk::detail
