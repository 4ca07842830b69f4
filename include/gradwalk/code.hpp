// SPDX-License-Identifier: MIT
// A graph as a program that builds it, goes backward and prints the gradients of its leaves: in C++, in Python as
// micrograd's users write it, and in PyTorch.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gradwalk/snapshot.hpp"

namespace gradwalk {

enum class Language { cpp, python, pytorch };
GRADWALK_EXPORT std::string_view name(Language language);  // "cpp"

struct Code {
  struct Line {
    std::string text;
    std::optional<std::size_t> node;  // the one this line makes
  };
  std::vector<Line> lines;
  std::size_t backward;  // the line that goes backward
};

// One line a node, but constants, which stand where they are used. Nodes keep their labels where the language can have
// them as names. A graph with nodes of custom() is an Error: their rules are not known.
GRADWALK_EXPORT Code to_code(const Snapshot& graph, Language language);
GRADWALK_EXPORT std::string to_string(const Code& code);  // the lines, each with its end

}  // namespace gradwalk
