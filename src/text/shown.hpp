// SPDX-License-Identifier: MIT
// Text from outside inside our messages: UTF-8 as it stands, and '?' for every byte a terminal should not be sent.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "text/utf8.hpp"

namespace gradwalk::detail {

// A character that moves no cursor and starts no escape sequence; its size is what utf8_size gave.
inline bool is_printable(std::string_view text, std::size_t size) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (size == 1) return first >= ' ' && first != 0x7f;
  const bool is_control = first == 0xc2 && size == 2 && static_cast<unsigned char>(text[1]) < 0xa0;  // U+0080 to U+009F
  return size > 1 && !is_control;
}

// What can be printed of a text, cut after about so many bytes.
inline std::string printable(std::string_view text, std::size_t most) {
  std::string result;
  while (!text.empty() && result.size() < most) {
    const std::size_t size = utf8_size(text), taken = size == 0 ? 1 : size;
    result += is_printable(text, size) ? text.substr(0, taken) : "?";
    text.remove_prefix(taken);
  }
  return text.empty() ? result : result + "...";
}
inline std::string printable(std::string_view text) { return printable(text, text.size()); }

inline std::string shown(std::string_view text) {
  std::string result(1, '\'');
  return result.append(printable(text, 40)) += '\'';
}

}  // namespace gradwalk::detail
