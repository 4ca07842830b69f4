// SPDX-License-Identifier: MIT
// gradwalk::draw, loaded by the first command that draws: every other command starts without Graphviz and cairo.
#pragma once

#include "gradwalk/draw_calls.hpp"

namespace gradwalk::cli {

// An Error that says what to install where the component, or a library it needs, is missing.
const DrawCalls& draw_calls(const char* command);

}  // namespace gradwalk::cli
