// SPDX-License-Identifier: MIT
// The gamma function's logarithm, and the derivative of that, for the rules of ops.def.
#include <cmath>
#include <limits>
#include <numbers>

#include "gradwalk/ops.hpp"

#if defined(__GLIBC__) || defined(__APPLE__) || defined(__wasi__)
// Strict C++ hides this declaration. std::lgamma would write the global variable signgam, which is a data race.
extern "C" double lgamma_r(double x, int* sign);
#define GRADWALK_LGAMMA_R 1
#endif

namespace gradwalk::rules {

double lgamma(double x) {
#ifdef GRADWALK_LGAMMA_R
  int sign = 0;
  return ::lgamma_r(x, &sign);
#else
  return std::lgamma(x);
#endif
}

// Shifts x above 10 by the recurrence digamma(x) = digamma(x + 1) - 1 / x. There, the asymptotic series has the
// precision of a double. Numbers below 0 are reflected first.
double digamma(double x) {
  if (x == 0) return std::copysign(std::numeric_limits<double>::infinity(), -x);
  double result = 0;
  if (x < 0) {
    if (x == std::floor(x)) return std::numeric_limits<double>::quiet_NaN();
    result = -std::numbers::pi / std::tan(std::numbers::pi * (x - std::round(x)));
    x = 1 - x;
  }
  for (; x < 10; ++x) result -= 1 / x;
  const double s = 1 / (x * x);
  // The coefficients are the Bernoulli numbers B(2k), divided by 2k.
  const double series =
      s *
      (1.0 / 12 - s * (1.0 / 120 - s * (1.0 / 252 - s * (1.0 / 240 - s * (1.0 / 132 - s * (691.0 / 32760 - s / 12))))));
  return result + (std::log(x) - 0.5 / x - series);
}

}  // namespace gradwalk::rules
