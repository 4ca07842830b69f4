// SPDX-License-Identifier: MIT
// Text layout for the terminal: tables with two spaces between columns, wrapped lines, and numbers as text. Widths are
// counted in characters, not bytes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gradwalk::cli {

// One line per row, each with a newline at its end. Each letter of `alignment` aligns one column to the left (l) or to
// the right (r); the last letter also aligns all further columns.
std::string table(const std::vector<std::vector<std::string>>& rows, std::string_view alignment = "lr");

std::string some(const std::vector<std::string>& names);  // the first ten names, and how many there are

std::size_t characters(std::string_view text);                            // the number of UTF-8 characters
std::string shorten(std::string_view text, std::size_t width);            // cut with an ellipsis if it is too long
std::vector<std::string> wrap(std::string_view text, std::size_t width);  // broken into lines at spaces

std::string number_text(double number, int digits);  // `digits` significant digits; a nan has no sign

}  // namespace gradwalk::cli
