// SPDX-License-Identifier: MIT
// Lays out text: aligned columns, wrapped lines, numbers.
#include "table.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace gradwalk::cli {

std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string shorten(std::string_view text, std::size_t width) {
  if (characters(text) <= width) return std::string(text);
  if (width == 0) return "";
  std::size_t end = 0;
  for (std::size_t count = 0; count + 1 < width; ++count) do
      ++end;
    while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80);
  return std::string(text.substr(0, end)) + "…";
}

std::vector<std::string> wrap(std::string_view text, std::size_t width) {
  std::vector<std::string> lines(1);
  while (!text.empty()) {
    const std::size_t space = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, space);
    text.remove_prefix(std::min(space + 1, text.size()));
    if (!lines.back().empty() && characters(lines.back()) + 1 + characters(word) > width) lines.emplace_back();
    if (!lines.back().empty()) lines.back() += ' ';
    lines.back() += shorten(word, width);
  }
  return lines;
}

std::string number_text(double number, int digits) {
  return std::isnan(number) ? "nan" : fmt::format("{:.{}g}", number, digits);
}

std::string some(const std::vector<std::string>& names) {
  constexpr std::size_t most = 10;
  if (names.size() <= most) return fmt::format("{}", fmt::join(names, ", "));
  return fmt::format("{}, ... ({} in all)", fmt::join(names.begin(), names.begin() + most, ", "), names.size());
}

std::string table(const std::vector<std::vector<std::string>>& rows, std::string_view alignment) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], characters(row[i]));
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string space(widths[i] - characters(row[i]), ' ');
      if (i > 0) line += "  ";
      line += alignment[std::min(i, alignment.size() - 1)] == 'l' ? row[i] + space : space + row[i];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace gradwalk::cli
