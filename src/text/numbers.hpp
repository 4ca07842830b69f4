// SPDX-License-Identifier: MIT
// Numbers as text for people.
#pragma once

#include <charconv>
#include <cmath>
#include <cstdio>
#include <string>

namespace gradwalk::detail {

// Six significant digits at most, as %g.
inline std::string short_number(double number) {
  if (std::isnan(number)) return "nan";
  char text[32];
#ifdef __wasm__
  // The same text. libc++ would bring tables for it that are two thirds of all a page has to load.
  return {text, static_cast<std::size_t>(std::snprintf(text, sizeof text, "%.6g", number))};
#else
  return {text, std::to_chars(text, text + sizeof text, number, std::chars_format::general, 6).ptr};
#endif
}

}  // namespace gradwalk::detail
