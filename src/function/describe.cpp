// SPDX-License-Identifier: MIT
// The summary of a Function.
#include <algorithm>
#include <numeric>
#include <ostream>

#include "loops.hpp"
#include "text/numbers.hpp"

namespace gradwalk {
namespace {

// Where two paths part: the first comparison that comes out otherwise on the second one.
std::string parting(const std::vector<bool>& outcomes, const std::vector<bool>& most_used,
                    const paths::Recording& recorded, std::span<const Value> parameters) {
  const std::size_t at = static_cast<std::size_t>(
      std::mismatch(outcomes.begin(), outcomes.end(), most_used.begin(), most_used.end()).first - outcomes.begin());
  if (at >= recorded.decided.size() || recorded.outcomes() != outcomes) return "comparison " + std::to_string(at + 1);
  return "comparison " + std::to_string(at + 1) + ": " +
         paths::to_text(recorded.decided[at], recorded.inputs, parameters) + " is " + (outcomes[at] ? "true" : "false");
}

}  // namespace

Function::Description Function::State::describe(std::size_t max_paths) const {
  if (loops_ != nullptr) {
    Description made = loops_->main().describe(max_paths);
    made.loops = loops_->describe();
    return made;
  }
  Description made{.paths = paths_.size(),
                   .programs = programs_,
                   .bytes = bytes_,
                   .compiled_rows = compiled_rows_,
                   .eager_rows = eager_rows_,
                   .moved_rows = moved_rows_,
                   .most_used = {},
                   .loops = {}};
  std::vector<std::int32_t> order(paths_.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    return paths_.path(a).rows != paths_.path(b).rows ? paths_.path(a).rows > paths_.path(b).rows : a < b;
  });
  order.resize(std::min(order.size(), max_paths));
  for (const std::int32_t index : order) {
    const paths::Path& path = paths_.path(index);
    const std::vector<bool> outcomes = paths_.outcomes(index);
    Function::Path described{.rows = path.rows,
                             .comparisons = outcomes.size(),
                             .is_compiled = path.program != nullptr,
                             .parts_at = {},
                             .why_not = path.why_not};
    if (index != order.front())
      described.parts_at = parting(outcomes, paths_.outcomes(order.front()),
                                   paths::record(function_, path.example, options_.parameters), options_.parameters);
    made.most_used.push_back(std::move(described));
  }
  return made;
}

std::ostream& operator<<(std::ostream& out, const Function::Description& description) {
  out << detail::counted(description.paths, "path", "paths") << ", "
      << detail::counted(description.programs, "program", "programs") << " of "
      << detail::shown_count(description.bytes) << " bytes, "
      << detail::counted(description.compiled_rows, "row", "rows") << " compiled, " << description.eager_rows
      << " recorded, " << description.moved_rows << " moved";
  for (const Function::Loop& loop : description.loops)
    out << "\nloop with a state of " << loop.state << ", " << detail::counted(loop.rounds, "round", "rounds") << ", "
        << detail::counted(loop.paths, "path", "paths") << ", " << detail::counted(loop.programs, "program", "programs")
        << " of " << detail::shown_count(loop.bytes) << " bytes";
  for (const Function::Path& path : description.most_used) {
    out << '\n'
        << detail::counted(path.rows, "row", "rows") << ", "
        << detail::counted(path.comparisons, "comparison", "comparisons")
        << (path.is_compiled ? ", compiled" : ", recorded");
    if (!path.parts_at.empty()) out << "; " << path.parts_at;
    if (!path.why_not.empty()) out << "; " << path.why_not;
  }
  return out;
}

}  // namespace gradwalk
