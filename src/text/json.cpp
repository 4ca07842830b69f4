// SPDX-License-Identifier: MIT
// Strings and numbers as JSON has them.
#include "json.hpp"

#include <cmath>

#include "engine/store.hpp"

namespace gradwalk::detail {
namespace {

// The length of the well-formed UTF-8 character the text starts with; 0 if there is none.
std::size_t character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const auto follows = [&](std::size_t i) { return (byte(i) & 0xC0) == 0x80; };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead < 0xE0) return follows(1) ? 2 : 0;
  if (lead >= 0xE0 && lead < 0xF0) {
    const bool shortest = lead != 0xE0 || byte(1) >= 0xA0, no_surrogate = lead != 0xED || byte(1) < 0xA0;
    return follows(1) && follows(2) && shortest && no_surrogate ? 3 : 0;
  }
  const bool in_range =
      lead >= 0xF0 && lead < 0xF5 && (lead != 0xF0 || byte(1) >= 0x90) && (lead != 0xF4 || byte(1) < 0x90);
  return in_range && follows(1) && follows(2) && follows(3) ? 4 : 0;
}

}  // namespace

std::string as_utf8(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t length = character(text);
    if (length == 0) {
      result += "\xEF\xBF\xBD";
      text.remove_prefix(1);
    } else {
      result += text.substr(0, length);
      text.remove_prefix(length);
    }
  }
  return result;
}

void Json::string(std::string_view text) {
  text_ += '"';
  for (const char c : as_utf8(text)) {
    if (c == '"' || c == '\\') {
      text_ += '\\', text_ += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      constexpr std::string_view digits = "0123456789abcdef";
      text_ += "\\u00", text_ += digits[static_cast<unsigned char>(c) >> 4], text_ += digits[c & 15];
    } else {
      text_ += c;
    }
  }
  text_ += '"';
}

Json& Json::value(double number) {
  if (!std::isfinite(number)) return value(std::string_view(std::isnan(number) ? "nan" : number > 0 ? "inf" : "-inf"));
  comma(), text_ += format_number(number);
  return *this;
}

}  // namespace gradwalk::detail
