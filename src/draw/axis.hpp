// SPDX-License-Identifier: MIT
// Axes: round ticks, and where on an axis a number lies.
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
  Range range;  // of logarithms where the axis is logarithmic
  bool is_log = false;
  std::vector<Tick> ticks;

  // 0 at the low end, 1 at the high end; what has no logarithm lies at the foot.
  double part(double number) const;
};

// Ticks of 1, 2 or 5 times a power of ten, about so many; of whole numbers alone if asked.
Axis plain_axis(const Range& range, int ticks, bool whole = false);
// Ticks at powers of ten, and between them where these are few.
Axis log_axis(const Range& logarithms, int ticks);

}  // namespace gradwalk::detail
