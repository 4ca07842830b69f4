// SPDX-License-Identifier: MIT
// The message of an ExpressionError: the error, then its line with a caret below the place.
#include <algorithm>

#include "gradwalk/expression.hpp"

namespace gradwalk {
namespace {

// Returns the part of a line around a place that fits a terminal, and a caret below the place.
std::string with_caret(std::string_view line, std::size_t at) {
  const auto is_start = [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; };
  std::size_t begin = at > 40 ? at - 40 : 0, end = std::min(line.size(), at + 30);
  while (begin > 0 && !is_start(line[begin])) --begin;
  while (end < line.size() && !is_start(line[end])) ++end;
  std::string text = "\n  ", caret = "\n  ";
  if (begin > 0) text += "...", caret += "   ";
  for (const char c : line.substr(begin, end - begin)) text += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  if (end < line.size()) text += "...";
  caret.append(static_cast<std::size_t>(std::count_if(line.begin() + static_cast<std::ptrdiff_t>(begin),
                                                      line.begin() + static_cast<std::ptrdiff_t>(at), is_start)),
               ' ');
  return text + caret + '^';
}

std::size_t line_start(std::string_view text, std::size_t at) {
  const std::size_t before = text.substr(0, at).rfind('\n');
  return before == std::string_view::npos ? 0 : before + 1;
}

std::string advice_with_place(std::string_view text, std::size_t at, std::string_view advice) {
  const std::size_t start = line_start(text, at);
  const std::string_view line = text.substr(start, text.find('\n', start) - start);
  return std::string(advice) + with_caret(line, at - start);
}

}  // namespace

ExpressionError::ExpressionError(std::string_view text, std::size_t at, std::string_view needs, std::string_view got,
                                 std::string_view advice)
    : Error("expression", needs, got, advice_with_place(text, at, advice)),
      line(1 +
           static_cast<std::size_t>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'))),
      column(1) {
  for (const char c : text.substr(line_start(text, at), at - line_start(text, at)))
    column += (static_cast<unsigned char>(c) & 0xc0) != 0x80;
}
ExpressionError::~ExpressionError() = default;

}  // namespace gradwalk
