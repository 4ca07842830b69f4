// SPDX-License-Identifier: MIT
// walk --interactive: steps through a walk with the keyboard, on the whole terminal.
#pragma once

#include "gradwalk/walk.hpp"

namespace gradwalk::cli {

void walk_interactively(Walk& walk, int digits, bool colour);

}  // namespace gradwalk::cli
