// SPDX-License-Identifier: MIT
// The parts that differ between systems: the words of the command line, the terminal, signals and folders. Each system
// has its file: system_posix.cpp and system_windows.cpp.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gradwalk::cli {

// Returns the words of the command line in UTF-8, and makes standard output take UTF-8 and bytes as they are. main()
// calls it first.
std::vector<std::string> words_of(int argc, char** argv);

bool is_terminal();    // whether standard output is a terminal
bool shows_unicode();  // whether the terminal shows characters beyond ASCII

struct TerminalSize {
  std::size_t columns, rows;
};
// Returns nothing if standard output is no terminal, or if the terminal does not report its size.
std::optional<TerminalSize> terminal_size();

std::span<const int> stopping_signals();  // the signals that ask a program to end
void report_full_files();  // makes a write beyond the system's limit for files an error, which otherwise ends the
                           // program

bool may_write_to(const std::string& folder);
// Makes a folder in the system's folder for temporary files, where no other user can have placed a file or a link.
// Returns an empty text if it cannot.
std::string new_private_folder();

}  // namespace gradwalk::cli
