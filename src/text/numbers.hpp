// SPDX-License-Identifier: MIT
// Numbers as text for people.
#pragma once

#include <charconv>
#include <cmath>
#include <string>

namespace gradwalk::detail {

// Six significant digits at most, as %g.
inline std::string short_number(double number) {
  if (std::isnan(number)) return "nan";
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, number, std::chars_format::general, 6).ptr};
}

}  // namespace gradwalk::detail
