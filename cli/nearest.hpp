// SPDX-License-Identifier: MIT
// What a word that is not known was meant to be.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gradwalk::cli {

// The one of these that differs in the fewest letters, if a slip could have made it; else none.
std::string nearest(std::string_view word, const std::vector<std::string>& known);

}  // namespace gradwalk::cli
