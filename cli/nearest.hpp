// SPDX-License-Identifier: MIT
// Suggests a known word for a misspelled one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gradwalk::cli {

// Returns the known word with the smallest edit distance, or "" if no known word is near enough to be meant.
std::string nearest(std::string_view word, const std::vector<std::string>& known);

}  // namespace gradwalk::cli
