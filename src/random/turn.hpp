// SPDX-License-Identifier: MIT
// Points of the unit circle from + - * / alone: the same bits with every C library, as std::cos and std::sin do not
// promise. Within 2e-16 of the truth, exact at quarter turns.
#pragma once

#include <cmath>

namespace gradwalk::detail {

struct CirclePoint {
  double cosine, sine;
};

// The point at so many turns from (1, 0), for |turns| up to 2^50.
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
    case 1: return {0 - s, c};  // 0 - 0 is 0, without a sign
    case 2: return {0 - c, 0 - s};
    default: return {s, 0 - c};
  }
}

}  // namespace gradwalk::detail
