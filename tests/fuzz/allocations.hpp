// SPDX-License-Identifier: MIT
// How much memory a call takes at most, for parsers that promise to stay within a multiple of their input.
#pragma once

#include <cstddef>

namespace fuzz {

class Allocations {
 public:
  Allocations();   // starts to count on this thread
  ~Allocations();  // stops
  Allocations(const Allocations&) = delete;
  Allocations& operator=(const Allocations&) = delete;
  void check(std::size_t most) const;  // traps if more was in use at once since the start
};

}  // namespace fuzz
