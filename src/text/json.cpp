// SPDX-License-Identifier: MIT
// Strings and numbers as JSON has them.
#include "gradwalk/json.hpp"

#include <cmath>

#include "text/numbers.hpp"
#include "text/utf8.hpp"

namespace gradwalk {

using namespace detail;

namespace {

// Each byte that is no UTF-8 replaced by U+FFFD.
std::string as_utf8(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t length = utf8_size(text);
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

}  // namespace

void JsonWriter::string(std::string_view text) {
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

JsonWriter& JsonWriter::value(double number) {
  if (!std::isfinite(number)) return value(std::string_view(std::isnan(number) ? "nan" : number > 0 ? "inf" : "-inf"));
  comma(), text_ += format_number(number);
  return *this;
}

}  // namespace gradwalk
