// SPDX-License-Identifier: MIT
// The subcommands of `gradwalk`. Each function adds one command to the command line, with its options, help and
// examples. A command prints its results to stdout. It throws its errors, and main prints them to stderr.
#pragma once

#include <CLI/CLI.hpp>

namespace gradwalk::cli {

void add_compile(CLI::App& app);
void add_completion(CLI::App& app);
void add_draw(CLI::App& app);
void add_emit(CLI::App& app);
void add_eval(CLI::App& app);
void add_explain(CLI::App& app);
void add_inspect(CLI::App& app);
void add_lesson(CLI::App& app);
void add_ops(CLI::App& app);
void add_predict(CLI::App& app);
void add_train(CLI::App& app);
void add_walk(CLI::App& app);

}  // namespace gradwalk::cli
