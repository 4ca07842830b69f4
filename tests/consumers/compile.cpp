// SPDX-License-Identifier: MIT
// The smallest user of gradwalk::compile: exits with 0 if a program returns the sum and gradient of a batch.

#include <gradwalk/compile.hpp>

int main() {
  gradwalk::Value w{2.0}, x;
  gradwalk::Program program = gradwalk::compile(w * x, {.inputs = {x}, .parameters = {w}, .threads = 2});
  const double rows[] = {1.0, 2.0, 3.0};
  return program.run(rows) == 12.0 && w.grad() == 6.0 ? 0 : 1;
}
