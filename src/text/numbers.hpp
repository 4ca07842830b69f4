// SPDX-License-Identifier: MIT
// Numbers as text. Inline, because libraries beside libgradwalk use it and none shows it.
#pragma once

#include <charconv>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>

namespace gradwalk::detail {

// The shortest text that reads back as the same number.
inline std::string format_number(double number) {
  if (std::isnan(number)) return "nan";  // whatever its sign
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, number).ptr};
}

// For people: six significant digits at most, as %g.
inline std::string short_number(double number) {
  if (std::isnan(number)) return "nan";
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, number, std::chars_format::general, 6).ptr};
}

// 1 row, 2 rows
inline std::string counted(std::size_t n, std::string_view one, std::string_view many) {
  return std::to_string(n) + " " + std::string(n == 1 ? one : many);
}

// 4,800
inline std::string shown_count(std::size_t count) {
  std::string text = std::to_string(count);
  for (std::size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, ",");
  return text;
}

}  // namespace gradwalk::detail
