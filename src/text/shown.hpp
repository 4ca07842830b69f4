// SPDX-License-Identifier: MIT
// Makes untrusted text safe to print in a message: UTF-8 stays, and '?' replaces what a terminal should not receive.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "text/utf8.hpp"

namespace gradwalk::detail {

// Returns true if the first character of a text moves no cursor and starts no escape sequence. `size` is the result of
// utf8_size().
inline bool is_printable(std::string_view text, std::size_t size) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (size == 1) return first >= ' ' && first != 0x7f;
  const bool is_control = first == 0xc2 && size == 2 && static_cast<unsigned char>(text[1]) < 0xa0;  // U+0080 to U+009F
  return size > 1 && !is_control;
}

// Returns a text with '?' for each character that is not printable, cut after about `most` bytes.
inline std::string printable(std::string_view text, std::size_t most) {
  std::string result;
  while (!text.empty() && result.size() < most) {
    const auto [character, is_valid] = take_character(text);
    result += is_printable(character, is_valid ? character.size() : 0) ? character : "?";
  }
  return text.empty() ? result : result + "...";
}
inline std::string printable(std::string_view text) { return printable(text, text.size()); }

// Returns the beginning of a text in quotes, for an error message.
inline std::string shown(std::string_view text) {
  std::string result(1, '\'');
  return result.append(printable(text, 40)) += '\'';
}

}  // namespace gradwalk::detail
