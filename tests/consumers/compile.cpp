// SPDX-License-Identifier: MIT
// The smallest user of gradwalk::compile: exits with 0 when a program gives a batch's sum and gradient.

#include <gradwalk/compile.hpp>

int main() {
  gradwalk::Value w{2.0}, x;
  gradwalk::Program program = gradwalk::compile(w * x, {.inputs = {x}, .parameters = {w}, .threads = 2});
  const double rows[] = {1.0, 2.0, 3.0};
  return program.run(rows) == 12.0 && w.grad() == 6.0 ? 0 : 1;
}
