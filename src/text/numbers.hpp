// SPDX-License-Identifier: MIT
// Numbers as text. The functions are inline because several libraries use them and none exports them.
#pragma once

#include <charconv>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>

namespace gradwalk::detail {

// Returns the shortest text that reads back as the same number.
inline std::string format_number(double number) {
  if (std::isnan(number)) return "nan";  // without a sign
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, number).ptr};
}

// Returns a number for people to read, with at most this many significant digits, as printf's %g.
inline std::string short_number(double number, int digits = 6) {
  if (std::isnan(number)) return "nan";
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, number, std::chars_format::general, digits).ptr};
}

// Returns a count with its noun: "1 row", "2 rows".
inline std::string counted(std::size_t n, std::string_view singular, std::string_view plural) {
  return std::to_string(n) + " " + std::string(n == 1 ? singular : plural);
}

// Returns a count with separators: "4,800".
inline std::string shown_count(std::size_t count) {
  std::string text = std::to_string(count);
  for (std::size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, ",");
  return text;
}

}  // namespace gradwalk::detail
