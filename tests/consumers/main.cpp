// SPDX-License-Identifier: MIT
// The smallest user of gradwalk, shared by the consumer projects beside it: exits with 0 when one gradient is right.

#include <gradwalk/gradwalk.hpp>

int main() {
  gradwalk::Value a{3.0};
  gradwalk::Value b = a * a;
  b.backward();
  return b.data() == 9.0 && a.grad() == 6.0 ? 0 : 1;
}
