// SPDX-License-Identifier: MIT
// The Error for an invalid safetensors file.
#pragma once

#include <string_view>

#include "gradwalk/error.hpp"

namespace gradwalk::detail {

[[noreturn]] inline void damaged(std::string_view name, std::string_view needs, std::string_view got) {
  throw Error(name, needs, got, "the file is damaged or not a safetensors file: use a copy, or save it again");
}

}  // namespace gradwalk::detail
