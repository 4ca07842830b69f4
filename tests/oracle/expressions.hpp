// SPDX-License-Identifier: MIT
// The expressions of expressions.def as text and as code.
#pragma once

#include <span>
#include <string_view>

#include "gradwalk/gradwalk.hpp"

namespace oracle {

using gradwalk::Value;

struct Expression {
  std::string_view text;
  Value (*at)(const Value& a, const Value& b, const Value& c, const Value& d);
};

std::span<const Expression> expressions();

}  // namespace oracle
