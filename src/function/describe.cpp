// SPDX-License-Identifier: MIT
// The summary of a Function.
#include <algorithm>
#include <numeric>

#include "state.hpp"

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
  Description made{.paths = paths_.size(),
                   .programs = programs_,
                   .bytes = bytes_,
                   .compiled_rows = compiled_rows_,
                   .eager_rows = eager_rows_,
                   .moved_rows = moved_rows_,
                   .most_used = {}};
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

}  // namespace gradwalk
