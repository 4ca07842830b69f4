// SPDX-License-Identifier: MIT
// A field as a number: digits and a decimal point as std::from_chars reads them, a leading + too, and nothing else.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace gradwalk::detail {

// What the whole text says, also nan and inf; nothing where it says no number, or one no double can hold.
inline std::optional<double> as_number(std::string_view text) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace gradwalk::detail
