// SPDX-License-Identifier: MIT
// Text for drawings: whatever bytes a label has, what comes out is UTF-8 without control characters, so that XML and
// Graphviz can hold it. Inline, because two libraries use it and neither shows it.
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "text/numbers.hpp"
#include "text/utf8.hpp"

namespace gradwalk::detail {

inline constexpr std::string_view replacement = "\xEF\xBF\xBD";  // U+FFFD, for what is no character
inline constexpr std::string_view ellipsis = "\xE2\x80\xA6";     // U+2026

// A character as XML may hold it. Ends of lines and tabs become arrows, for Unicode's pictures of them are in few
// fonts.
inline std::string_view shown_character(std::string_view character) {
  const auto byte = static_cast<unsigned char>(character[0]);
  if (byte == '\n') return "\xE2\x86\xB5";
  if (byte == '\t') return "\xE2\x87\xA5";
  const bool is_control =
      byte < 0x20 || byte == 0x7F || (byte == 0xC2 && static_cast<unsigned char>(character[1]) < 0xA0);
  const bool is_none = character == "\xEF\xBF\xBE" || character == "\xEF\xBF\xBF";
  return is_control || is_none ? replacement : character;
}

// Shortened in the middle when longer than so many characters, because generated names differ at both ends.
inline std::string shown_text(std::string_view text, std::size_t longest) {
  std::string result;
  std::vector<std::size_t> starts;
  while (!text.empty()) {
    starts.push_back(result.size());
    const std::size_t length = utf8_size(text);
    result += length == 0 ? replacement : shown_character(text.substr(0, length));
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  if (starts.size() <= longest) return result;
  const std::size_t tail = longest / 3, head = longest - tail - 1;
  return result.substr(0, starts[head]).append(ellipsis).append(result.substr(starts[starts.size() - tail]));
}

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

// Fixed decimals, as micrograd prints them, where these say something; else with an exponent.
inline std::string shown_number(double number, int digits) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number > 0 ? "inf" : "-inf";
  if (number == 0) number = 0;  // -0
  const double size = std::abs(number);
  const bool plain = number == 0 || (size >= std::pow(10.0, -digits) && size < 1e7);
  char text[64];
  const auto format = plain ? std::chars_format::fixed : std::chars_format::scientific;
  return {text, std::to_chars(text, text + sizeof text, number, format, digits).ptr};
}

}  // namespace gradwalk::detail
