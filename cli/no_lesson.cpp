// SPDX-License-Identifier: MIT
// gradwalk lesson in a build without the page's server, as a Python wheel has it: it says where to find the lesson.
#include <CLI/CLI.hpp>

#include "commands.hpp"
#include "gradwalk/error.hpp"

namespace gradwalk::cli {

void add_lesson(CLI::App& app) {
  CLI::App* command = app.add_subcommand("lesson", "Serve the interactive lesson (not in this build)");
  command->allow_extras();
  command->callback([] {
    throw Error("gradwalk lesson", "the server of the lesson's page", "a build without it",
                "run ./run lesson in a clone of gradwalk, or install its Debian package");
  });
}

}  // namespace gradwalk::cli
