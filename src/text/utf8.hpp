// SPDX-License-Identifier: MIT
// Reads UTF-8 from untrusted text. This is the only file that knows which bytes are a well-formed character.
#pragma once

#include <cstddef>
#include <string_view>

namespace gradwalk::detail {

inline constexpr std::string_view replacement_character = "\xEF\xBF\xBD";  // U+FFFD, for bytes that are not UTF-8

// Returns the number of bytes of the character at the front of a text; 0 if they are not UTF-8.
inline std::size_t utf8_size(std::string_view text) {
  const auto byte = [text](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const unsigned first = byte(0);
  if (text.empty() || first < 0x80) return text.empty() ? 0 : 1;
  const std::size_t size = first >= 0xc2 && first < 0xe0 ? 2 : first >= 0xe0 && first < 0xf0 ? 3 : 4;
  if (first < 0xc2 || first > 0xf4) return 0;
  for (std::size_t i = 1; i < size; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  // Reject encodings that are longer than necessary, surrogates, and code points above U+10FFFF.
  if ((first == 0xe0 && byte(1) < 0xa0) || (first == 0xed && byte(1) > 0x9f)) return 0;
  if ((first == 0xf0 && byte(1) < 0x90) || (first == 0xf4 && byte(1) > 0x8f)) return 0;
  return size;
}

struct TakenCharacter {
  std::string_view bytes;
  bool is_valid;  // false for a byte that is not UTF-8
};

// Removes the first character of a text that is not empty, or the first byte if it is not UTF-8, and returns it.
inline TakenCharacter take_character(std::string_view& text) {
  const std::size_t size = utf8_size(text);
  const TakenCharacter taken{text.substr(0, size == 0 ? 1 : size), size > 0};
  text.remove_prefix(taken.bytes.size());
  return taken;
}

}  // namespace gradwalk::detail
