// SPDX-License-Identifier: MIT
// Measures the memory of a call, to test parsers that guarantee a multiple of the size of their input.
#pragma once

#include <cstddef>

namespace fuzz {

class Allocations {
 public:
  Allocations();   // starts counting on this thread
  ~Allocations();  // stops counting
  Allocations(const Allocations&) = delete;
  Allocations& operator=(const Allocations&) = delete;
  void check(std::size_t most) const;  // traps if more bytes than this were in use at once since the start
};

}  // namespace fuzz
