// SPDX-License-Identifier: MIT
// The layout of help texts: names in a left column, descriptions wrapped beside them, 80 columns in all.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>

namespace gradwalk::cli {

// Set it before the first subcommand is added: subcommands copy the formatter of their parent.
std::shared_ptr<CLI::Formatter> help_formatter();

}  // namespace gradwalk::cli
