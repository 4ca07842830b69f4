// SPDX-License-Identifier: MIT
// Checks of a session. A check that fails prints the difference and traps.
#pragma once

#include "gradwalk/error.hpp"

namespace fuzz {

void check(bool holds, const char* what, double got = 0, double expected = 0);
void compare_gradient(double got, double expected, double weight);

template <class Use> bool is_refused(Use use) {
  try {
    use();
  } catch (const gradwalk::Error&) {
    return true;
  }
  return false;
}

}  // namespace fuzz
