// SPDX-License-Identifier: MIT
// What the learning part's checks share: amounts in words.
#pragma once

#include <string>
#include <string_view>

#include "gradwalk/error.hpp"

namespace gradwalk::detail {

inline std::string counted(std::size_t n, std::string_view one, std::string_view many) {
  return std::to_string(n) + " " + std::string(n == 1 ? one : many);
}

}  // namespace gradwalk::detail
