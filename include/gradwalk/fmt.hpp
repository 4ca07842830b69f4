// SPDX-License-Identifier: MIT
// Values in {fmt}: fmt::print("{}", a) prints Value(data=2, grad=64). For those who use {fmt}; gradwalk itself does
// not.
#pragma once

#include <fmt/format.h>

#include "gradwalk/value.hpp"

template <> struct fmt::formatter<gradwalk::Value> : fmt::formatter<std::string> {
  template <class Context> auto format(const gradwalk::Value& value, Context& context) const {
    return fmt::formatter<std::string>::format(gradwalk::to_string(value), context);
  }
};
