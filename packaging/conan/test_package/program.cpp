// SPDX-License-Identifier: MIT
// Returns 0 if the package computes a gradient.
#include <gradwalk/gradwalk.hpp>

int main() {
  gradwalk::Value x{3.0};
  const gradwalk::Value y = x * x;
  y.backward();
  return x.grad() == 6 ? 0 : 1;
}
