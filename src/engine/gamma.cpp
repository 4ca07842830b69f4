// SPDX-License-Identifier: MIT
// The gamma function's logarithm, and the derivative of that, for the rules of ops.def.
#include <cmath>

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

#define GRADWALK_C_AND_CPP(...) __VA_ARGS__
#include "digamma.def"
#undef GRADWALK_C_AND_CPP

}  // namespace gradwalk::rules
