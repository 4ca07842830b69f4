// SPDX-License-Identifier: MIT
// Writes strings and numbers as JSON.
#include "gradwalk/json.hpp"

#include <cmath>

#include "text/numbers.hpp"
#include "text/utf8.hpp"

namespace gradwalk {

using namespace detail;

void JsonWriter::string(std::string_view text) {
  text_ += '"';
  while (!text.empty()) {
    const auto [character, is_valid] = take_character(text);
    const char c = character[0];
    if (c == '"' || c == '\\') {
      text_ += '\\', text_ += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      constexpr std::string_view digits = "0123456789abcdef";
      text_ += "\\u00", text_ += digits[static_cast<unsigned char>(c) >> 4], text_ += digits[c & 15];
    } else {
      text_ += is_valid ? character : replacement_character;
    }
  }
  text_ += '"';
}

JsonWriter& JsonWriter::value(double number) {
  if (!std::isfinite(number)) return value(std::string_view(std::isnan(number) ? "nan" : number > 0 ? "inf" : "-inf"));
  comma(), text_ += format_number(number);
  return *this;
}

}  // namespace gradwalk
