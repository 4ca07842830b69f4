// SPDX-License-Identifier: MIT
// The functions that emitted code may call and that <math.h> does not have, as text.
#pragma once

#include <string>

#include "dialect.hpp"

namespace gradwalk::emit {

// PREFIX_times: gradient * derivative by the zero-gradient rule.
std::string times_text(const C99& dialect);
// PREFIX_digamma and PREFIX_trigamma, which compute in double.
std::string digamma_text(const std::string& prefix);
std::string trigamma_text(const std::string& prefix);

}  // namespace gradwalk::emit
