// SPDX-License-Identifier: MIT
// Options that were renamed. The old names still work, and appear neither in the help nor in completions.
#pragma once

#include <string>
#include <vector>

namespace gradwalk::cli {

// Returns the words of the command line with the new names of renamed options. Prints a note for each one it replaces,
// to standard error.
std::vector<std::string> with_new_names(std::vector<std::string> words);

}  // namespace gradwalk::cli
