// SPDX-License-Identifier: MIT
// A table of text, two spaces between columns, and the numbers in it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gradwalk::cli {

// One line a row, each ended by a newline. Columns are aligned to the left (l) or right (r), the last letter standing
// for all that follow. Characters count, not bytes.
std::string table(const std::vector<std::vector<std::string>>& rows, std::string_view alignment = "lr");

std::string some(const std::vector<std::string>& names);  // the first names of many

std::size_t characters(std::string_view text);

std::string number_text(double number, int digits);  // significant ones; nan has no sign

}  // namespace gradwalk::cli
