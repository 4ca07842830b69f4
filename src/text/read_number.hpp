// SPDX-License-Identifier: MIT
// Reads the number at the front of a text as std::from_chars does: without the locale, correctly rounded, also inf and
// nan. Libraries without from_chars for double, such as libc++ 19, read it through a stream.
#pragma once

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>
#include <string_view>
#include <system_error>
#include <version>

#ifndef __wasi__
#include <locale>
#include <sstream>
#endif

namespace gradwalk::detail {

struct ReadNumber {
  std::size_t size;  // the number of bytes that were read
  std::errc error;   // the error of from_chars, or std::errc()
  double number;
};

// Returns the decimal number that the whole text stands for; 0 or infinity if it does not fit a double.
inline double read_decimal(std::string_view text) {
#ifdef __wasi__
  return std::strtod(std::string(text).c_str(), nullptr);  // There is no other locale, and a stream is large.
#else
  std::istringstream stream{std::string(text)};
  stream.imbue(std::locale::classic());
  double number = 0;
  stream >> number;
  const bool is_largest = std::abs(number) == std::numeric_limits<double>::max();
  return stream.fail() && is_largest ? std::copysign(std::numeric_limits<double>::infinity(), number) : number;
#endif
}

// Returns how many bytes at the front of the text are this word, in capitals or not: all or none.
inline std::size_t size_of_word(std::string_view text, std::string_view word) {
  if (text.size() < word.size()) return 0;
  for (std::size_t i = 0; i < word.size(); ++i)
    if ((text[i] | 0x20) != word[i]) return 0;
  return word.size();
}

// Returns how many bytes at the front of the text are nan, nan() or nan(n), where n is letters, digits and _.
inline std::size_t size_of_nan(std::string_view text) {
  const std::size_t word = size_of_word(text, "nan");
  if (word == 0 || text.size() == word || text[word] != '(') return word;
  constexpr std::string_view inside = "0123456789_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  const std::size_t end = text.find_first_not_of(inside, word + 1);
  return end != std::string_view::npos && text[end] == ')' ? end + 1 : word;
}

// read_number() for a library without from_chars.
inline ReadNumber read_number_by_hand(std::string_view text) {
  std::size_t at = text.starts_with('-') ? 1 : 0;
  const double sign = at == 0 ? 1 : -1;
  if (const std::size_t word = size_of_word(text.substr(at), "infinity"); word != 0)
    return {at + word, std::errc(), sign * std::numeric_limits<double>::infinity()};
  if (const std::size_t word = size_of_word(text.substr(at), "inf"); word != 0)
    return {at + word, std::errc(), sign * std::numeric_limits<double>::infinity()};
  if (const std::size_t word = size_of_nan(text.substr(at)); word != 0)
    return {at + word, std::errc(), std::copysign(std::numeric_limits<double>::quiet_NaN(), sign)};
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
  const double number = read_decimal(text.substr(0, at));
  const bool fits = std::isfinite(number) && (number != 0 || is_zero);
  return {at, fits ? std::errc() : std::errc::result_out_of_range, number};
}

inline ReadNumber read_number(std::string_view text) {
#ifdef __cpp_lib_to_chars
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return {static_cast<std::size_t>(end - text.data()), error, number};
#else
  return read_number_by_hand(text);
#endif
}

}  // namespace gradwalk::detail
