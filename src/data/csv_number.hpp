// SPDX-License-Identifier: MIT
// Reads a field as a number, like std::from_chars; a leading + is allowed, too.
#pragma once

#include <optional>
#include <string_view>
#include <system_error>

#include "text/read_number.hpp"

namespace gradwalk::detail {

// Returns the number that the whole text stands for, which may be nan or inf. Returns nothing for any other text, and
// for numbers that do not fit a double.
inline std::optional<double> as_number(std::string_view text) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  const ReadNumber read = read_number(text);
  if (read.error != std::errc() || read.size != text.size()) return std::nullopt;
  return read.number;
}

}  // namespace gradwalk::detail
