// SPDX-License-Identifier: MIT
// The commands that draw, in a build without gradwalk::draw.
#include "drawing.hpp"
#include "gradwalk/error.hpp"

namespace gradwalk::cli {

const DrawCalls& draw_calls(const char* command) {
  throw Error(command, "gradwalk::draw for pictures", "a build without it",
              "ask for text: .dot files and plots in the terminal");
}

}  // namespace gradwalk::cli
