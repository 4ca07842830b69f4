// SPDX-License-Identifier: MIT
// walk --interactive in a build without ncurses.
#include "gradwalk/error.hpp"
#include "interactive.hpp"

namespace gradwalk::cli {

void walk_interactively(Walk&, int, bool) {
  throw Error("walk --interactive", "ncurses", "a build without it", "omit --interactive to print the steps");
}

}  // namespace gradwalk::cli
