// SPDX-License-Identifier: MIT
// Axes with round ticks, and the position of a number on an axis.
#pragma once

#include <string>
#include <vector>

#include "sketch/regions.hpp"

namespace gradwalk::detail {

struct Tick {
  double number;
  std::string text;
};

struct Axis {
  Range range;  // for a logarithmic axis, the range of the logarithms
  bool is_log = false;
  std::vector<Tick> ticks;

  // Returns 0 at the low end and 1 at the high end. A number without a logarithm is at the low end of a logarithmic
  // axis.
  double part(double number) const;
};

// Returns an axis with about `ticks` ticks at multiples of 1, 2 or 5 times a power of ten; only at integers if `whole`.
Axis plain_axis(const Range& range, int ticks, bool whole = false);
// Returns a logarithmic axis with ticks at powers of ten, and at 2 and 5 times these if there are few.
Axis log_axis(const Range& logarithms, int ticks);

}  // namespace gradwalk::detail
