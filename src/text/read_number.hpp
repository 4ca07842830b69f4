// SPDX-License-Identifier: MIT
// Reads the number at the front of a text as std::from_chars does: unsigned, without locale, correctly rounded.
#pragma once

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string>
#include <string_view>
#include <system_error>
#include <version>

namespace gradwalk::detail {

struct ReadNumber {
  std::size_t size;  // the number of bytes that were read
  std::errc error;   // the error of from_chars, or std::errc()
  double number;
};

#ifdef __cpp_lib_to_chars
inline ReadNumber read_number(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return {static_cast<std::size_t>(end - text.data()), error, number};
}
#else
// libc++ 19 has no from_chars for double. The C libraries that it runs on round correctly. The locale is "C", because
// the programs that use libc++ here set none.
inline ReadNumber read_number(std::string_view text) {
  std::size_t at = 0;
  const auto digits = [&] {
    const std::size_t begin = at;
    while (at < text.size() && text[at] >= '0' && text[at] <= '9') ++at;
    return at - begin;
  };
  std::size_t found = digits();
  if (at < text.size() && text[at] == '.') ++at, found += digits();
  if (found == 0) return {0, std::errc::invalid_argument, 0};
  const bool is_zero = text.substr(0, at).find_first_of("123456789") == std::string_view::npos;
  if (const std::size_t mantissa = at; at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
    if (digits() == 0) at = mantissa;
  }
  const double number = std::strtod(std::string(text.substr(0, at)).c_str(), nullptr);
  const bool fits = std::isfinite(number) && (number != 0 || is_zero);
  return {at, fits ? std::errc() : std::errc::result_out_of_range, number};
}
#endif

}  // namespace gradwalk::detail
