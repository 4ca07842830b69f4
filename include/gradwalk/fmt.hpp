// SPDX-License-Identifier: MIT
// Values in {fmt}: fmt::print("{}", a) prints Value(data=2, grad=64), and a format for numbers prints the data alone:
// "{:.2f}" prints 2.00. For those who use {fmt}; gradwalk itself does not.
#pragma once

#include <fmt/format.h>

#include <string_view>

#include "gradwalk/value.hpp"

namespace gradwalk::detail {

// Whether a format, from behind its colon on, says anything that only numbers have: fill, alignment and width do not.
constexpr bool is_for_numbers(std::string_view format) {
  const std::size_t aligned = format.find_first_of("<>^}");  // behind a fill of one character, of up to four bytes
  if (aligned <= 4 && aligned < format.size() && format[aligned] != '}') format.remove_prefix(aligned + 1);
  if (format.starts_with('0')) return true;
  std::size_t depth = 0;  // "{:{width}.{digits}f}" has braces inside
  for (const char c : format) {
    if (c == '}' && depth-- == 0) return false;
    if (c == '{') ++depth;
    if (depth == 0 && std::string_view("+- #.aAeEfFgGL").find(c) != std::string_view::npos) return true;
  }
  return false;
}

}  // namespace gradwalk::detail

template <> struct fmt::formatter<gradwalk::Value> {
  template <class Context> constexpr auto parse(Context& context) {
    const auto size = static_cast<std::size_t>(context.end() - context.begin());
    is_number_ = size > 0 && gradwalk::detail::is_for_numbers({&*context.begin(), size});
    return is_number_ ? number_.parse(context) : text_.parse(context);
  }
  template <class Context> auto format(const gradwalk::Value& value, Context& context) const {
    return is_number_ ? number_.format(value.data(), context) : text_.format(gradwalk::to_string(value), context);
  }

 private:
  fmt::formatter<double> number_;
  fmt::formatter<std::string> text_;
  bool is_number_ = false;
};
