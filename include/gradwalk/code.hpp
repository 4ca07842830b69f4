// SPDX-License-Identifier: MIT
// Writes a graph as a program that builds it, calls backward() and prints the gradients of the leaves: in C++, in
// Python, and in Python with PyTorch.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gradwalk/snapshot.hpp"

namespace gradwalk {

// The languages of to_code().
enum class Language {
  cpp,      // C++ with gradwalk
  python,   // Python with gradwalk's package, written as for micrograd
  pytorch,  // Python with PyTorch
};
// Returns the name of a language: "cpp", "python" or "pytorch".
GRADWALK_EXPORT std::string_view name(Language language);

// A program, line by line.
struct Code {
  // One line of a program.
  struct Line {
    std::string text;                 // the line without its end
    std::optional<std::size_t> node;  // the node that this line makes, if it makes one
  };
  std::vector<Line> lines;  // all lines of the program
  std::size_t backward;     // the index of the line that calls backward()
};

// Returns a program for the graph, with one line per node. Constants have no line: they are written where they are
// used. Variables have the nodes' labels where the language allows them. Throws an Error for a custom node, whose rule
// is not known.
GRADWALK_EXPORT Code to_code(const Snapshot& graph, Language language);
// Returns the lines as one text, each with a newline.
GRADWALK_EXPORT std::string to_string(const Code& code);

}  // namespace gradwalk
