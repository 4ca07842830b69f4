// SPDX-License-Identifier: MIT
// UTF-8, read as hostile: the one place that knows what a well-formed character is.
#pragma once

#include <cstddef>
#include <string_view>

namespace gradwalk::detail {

// How many bytes the character at the front of a text has; 0 if they are not UTF-8.
inline std::size_t utf8_size(std::string_view text) {
  const auto byte = [text](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const unsigned first = byte(0);
  if (text.empty() || first < 0x80) return text.empty() ? 0 : 1;
  const std::size_t size = first >= 0xc2 && first < 0xe0 ? 2 : first >= 0xe0 && first < 0xf0 ? 3 : 4;
  if (first < 0xc2 || first > 0xf4) return 0;
  for (std::size_t i = 1; i < size; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  // Spelled longer than need be, a surrogate, or past the last character there is.
  if ((first == 0xe0 && byte(1) < 0xa0) || (first == 0xed && byte(1) > 0x9f)) return 0;
  if ((first == 0xf0 && byte(1) < 0x90) || (first == 0xf4 && byte(1) > 0x8f)) return 0;
  return size;
}

}  // namespace gradwalk::detail
