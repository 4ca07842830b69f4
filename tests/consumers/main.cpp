// SPDX-License-Identifier: MIT
// The smallest user of gradwalk, for the consumer projects in this folder: exits with 0 if one gradient is right.

#include <gradwalk/gradwalk.hpp>

int main() {
  gradwalk::Value a{3.0};
  gradwalk::Value b = a * a;
  b.backward();
  return b.data() == 9.0 && a.grad() == 6.0 ? 0 : 1;
}
