// SPDX-License-Identifier: MIT
// The summary of a compiled program as text, for people.
#include <ostream>
#include <string_view>

#include "gradwalk/compile.hpp"
#include "text/numbers.hpp"

namespace gradwalk {
namespace {

// Writes a line per entry: the title before the first one, spaces before the others.
void write_list(std::ostream& out, std::string_view title, const std::vector<std::string>& entries) {
  for (std::size_t i = 0; i < entries.size(); ++i)
    out << '\n' << (i == 0 ? std::string(title) : std::string(title.size(), ' ')) << entries[i];
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const Program::Description& description) {
  out << detail::counted(description.recorded, "node", "nodes") << ", " << description.computed << " computed, "
      << detail::counted(description.instructions, "instruction", "instructions") << ", "
      << detail::shown_count(description.bytes) << " bytes, " << description.instruction_set;
  write_list(out, "layers:    ", description.layers);
  write_list(out, "constants: ", description.constants);
  write_list(out, "ignored:   ", description.ignored_comparisons);
  return out;
}

}  // namespace gradwalk
