// SPDX-License-Identifier: MIT
// The smallest user of gradwalk::solve: exits with 0 if it finds a minimum.

#include <gradwalk/solve.hpp>

int main() {
  const gradwalk::Minimum found = gradwalk::minimize([](const gradwalk::Value& x) { return cosh(x - 2); }, 0.5);
  return found.converged() && found.compiled && found.x[0] > 1.999999 && found.x[0] < 2.000001 ? 0 : 1;
}
