// SPDX-License-Identifier: MIT
// What a call that is refused says.
#pragma once

#include <string>

#include "gradwalk/error.hpp"

namespace gradwalk {

std::string message(const auto& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace gradwalk
