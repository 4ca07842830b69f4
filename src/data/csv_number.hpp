// SPDX-License-Identifier: MIT
// Reads a field as a number, like std::from_chars; a leading + is allowed, too.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace gradwalk::detail {

// Returns the number that the whole text stands for, which may be nan or inf. Returns nothing for any other text, and
// for numbers that do not fit a double.
inline std::optional<double> as_number(std::string_view text) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace gradwalk::detail
