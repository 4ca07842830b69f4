// SPDX-License-Identifier: MIT
// Text for drawings. Whatever bytes a label has, the result is UTF-8 without control characters, which XML and Graphviz
// can hold. The functions are inline because two libraries use them and neither exports them.
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "text/numbers.hpp"
#include "text/shown.hpp"

namespace gradwalk::detail {

inline constexpr std::string_view ellipsis = "\xE2\x80\xA6";  // U+2026

// Returns a character as XML may hold it. Newlines and tabs become arrows, because few fonts have Unicode's pictures of
// them.
inline std::string_view shown_character(std::string_view character) {
  if (character == "\n") return "\xE2\x86\xB5";
  if (character == "\t") return "\xE2\x87\xA5";
  const bool is_noncharacter = character == "\xEF\xBF\xBE" || character == "\xEF\xBF\xBF";
  return is_printable(character, character.size()) && !is_noncharacter ? character : replacement_character;
}

// Returns a text of at most `longest` characters. A longer one is shortened in the middle, because generated names
// differ at both ends.
inline std::string shown_text(std::string_view text, std::size_t longest) {
  std::string result;
  std::vector<std::size_t> starts;
  while (!text.empty()) {
    starts.push_back(result.size());
    const auto [character, is_valid] = take_character(text);
    result += is_valid ? shown_character(character) : replacement_character;
  }
  if (starts.size() <= longest) return result;
  const std::size_t tail = longest / 3, head = longest - tail - 1;
  return result.substr(0, starts[head]).append(ellipsis).append(result.substr(starts[starts.size() - tail]));
}

// Returns a text with the five entities of XML that content and attributes need.
inline std::string xml_escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&': result += "&amp;"; break;
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      case '"': result += "&quot;"; break;
      default: result += c;
    }
  }
  return result;
}

// Returns a number with fixed decimals, as micrograd prints it; with an exponent if it is too small or too large.
inline std::string shown_number(double number, int digits) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number > 0 ? "inf" : "-inf";
  if (number == 0) number = 0;  // turns -0 into 0
  const double size = std::abs(number);
  const bool plain = number == 0 || (size >= std::pow(10.0, -digits) && size < 1e7);
  char text[64];
  const auto format = plain ? std::chars_format::fixed : std::chars_format::scientific;
  return {text, std::to_chars(text, text + sizeof text, number, format, digits).ptr};
}

}  // namespace gradwalk::detail
