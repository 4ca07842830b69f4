// SPDX-License-Identifier: MIT
// The one exception type, and the one place that puts its message together:
// `<call>: needs <rule>, got <value>; <what to do>`.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "gradwalk/export.hpp"

namespace gradwalk {

class GRADWALK_EXPORT Error : public std::runtime_error {
 public:
  Error(std::string_view call, std::string_view needs, std::string_view got, std::string_view advice);
};

}  // namespace gradwalk
