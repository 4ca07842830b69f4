// SPDX-License-Identifier: MIT
// Names of columns and classes come from outside and end up in tables, drawings and JSON, so they must be printable.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "text/shown.hpp"

namespace gradwalk::detail {

inline constexpr std::string_view name_rule = "a name in UTF-8 without control characters";
inline constexpr std::string_view name_advice = "save the file as UTF-8 or correct the name";

inline bool is_name(std::string_view text) {
  while (!text.empty()) {
    const std::size_t size = utf8_size(text);
    const bool is_space = text[0] == '\n' || text[0] == '\r' || text[0] == '\t';  // may occur in quoted headers
    if (size == 0 || (!is_space && !is_printable(text, size))) return false;
    text.remove_prefix(size);
  }
  return true;
}

// Lists the first names for a message.
inline std::string listed(std::span<const std::string> names) {
  constexpr std::size_t most = 20;
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < most; ++i) {
    if (i > 0) text += ", ";
    text += printable(names[i], 40);
  }
  return names.size() > most ? text + ", ..." : text;
}

}  // namespace gradwalk::detail
