// SPDX-License-Identifier: MIT
// A formatter for {fmt}: "{}" prints Value(data=2, grad=64), and a number format prints only the data: "{:.2f}" prints
// 2.00. libgradwalk itself does not use {fmt}.
#pragma once

#include <fmt/format.h>

#include <string_view>

#include "gradwalk/value.hpp"

namespace gradwalk::detail {

// Whether a format contains something that only numbers have, such as a precision. Fill, alignment and width are also
// for text. `format` starts after the colon.
constexpr bool is_for_numbers(std::string_view format) {
  const std::size_t aligned = format.find_first_of("<>^}");  // It may follow a fill character of up to four bytes.
  if (aligned <= 4 && aligned < format.size() && format[aligned] != '}') format.remove_prefix(aligned + 1);
  if (format.starts_with('0')) return true;
  std::size_t depth = 0;  // of nested braces, as in "{:{width}.{digits}f}"
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
