// SPDX-License-Identifier: MIT
// The sparsity pattern of a Jacobian, and the coloring that compresses it.
#include <algorithm>

#include "engine/rule_facts.hpp"
#include "jacobian.hpp"

namespace gradwalk::compiler {
namespace {

// For each node, the parameters that its derivative depends on, in ascending order: not those of a condition. Nodes
// with the same set as one of their operands share it, so a chain of functions costs nothing.
class Dependencies {
 public:
  explicit Dependencies(const Terms& terms)
      : terms_(terms), sets_(terms.end_of_forward()), last_(terms.parameters, none) {
    for (std::size_t i = 0; i < terms.parameters; ++i) {
      sets_[i] = {static_cast<std::uint32_t>(members_.size()), 1};
      members_.push_back(static_cast<std::uint32_t>(i));
    }
    for (Id id = terms.first_computed(); id < terms.end_of_forward(); ++id)
      if (terms.nodes[id].rate == Rate::uniform) sets_[id] = united(id);
  }

  std::span<const std::uint32_t> of(Id id) const {
    return std::span(members_).subspan(sets_[id].begin, sets_[id].count);
  }

 private:
  struct Set {
    std::size_t begin = 0, count = 0;
  };

  Set united(Id id) {
    const Node& node = terms_.nodes[id];
    const std::size_t begin = members_.size();
    Set largest;
    const auto meet = [&](Id operand) {
      if (operand == none || terms_.nodes[operand].rate != Rate::uniform) return;
      const Set set = sets_[operand];
      if (set.count > largest.count) largest = set;
      for (std::size_t i = set.begin; i < set.begin + set.count; ++i) {
        const std::uint32_t parameter = members_[i];
        if (last_[parameter] == id) continue;
        last_[parameter] = id;
        members_.push_back(parameter);
      }
    };
    for (std::uint32_t k = 0; k < node.count; ++k) {
      if (node.kind == Kind::sum)
        meet(terms_.products[node.begin + k].a), meet(terms_.products[node.begin + k].b);
      else if (node.kind != Kind::function || detail::passes_on(node.op, k))
        meet(terms_.operands[node.begin + k]);
    }
    if (members_.size() - begin == largest.count) {
      members_.resize(begin);
      return largest;
    }
    std::sort(members_.begin() + static_cast<std::ptrdiff_t>(begin), members_.end());
    return {begin, members_.size() - begin};
  }

  const Terms& terms_;
  std::vector<Set> sets_;
  std::vector<std::uint32_t> members_;
  std::vector<Id> last_;  // for each parameter: the node whose set it was added to last
};

}  // namespace

SparsePattern pattern_of(const Terms& terms) {
  const Dependencies dependencies(terms);
  SparsePattern pattern;
  pattern.rows = terms.outputs.size();
  pattern.columns = terms.parameters;
  pattern.row_starts.push_back(0);
  for (const Id output : terms.outputs) {
    if (terms.nodes[output].rate == Rate::uniform) {
      const auto set = dependencies.of(output);
      pattern.column_indices.insert(pattern.column_indices.end(), set.begin(), set.end());
    }
    pattern.row_starts.push_back(pattern.column_indices.size());
  }
  return pattern;
}

// Seeds are columns in forward mode and rows in reverse mode. Each takes the smallest color that no seed with a result
// in common has.
std::vector<std::uint32_t> colors_of(const SparsePattern& pattern, Sweep sweep, std::uint32_t& count) {
  const bool is_forward = sweep == Sweep::forward;
  const std::size_t seeds = is_forward ? pattern.columns : pattern.rows;
  const std::size_t results = is_forward ? pattern.rows : pattern.columns;
  // The entries by columns: the rows in which each column occurs.
  std::vector<std::size_t> starts(pattern.columns + 1);
  for (const std::uint32_t column : pattern.column_indices) ++starts[column + 1];
  for (std::size_t i = 0; i < pattern.columns; ++i) starts[i + 1] += starts[i];
  std::vector<std::uint32_t> rows(pattern.column_indices.size());
  std::vector<std::size_t> next(starts.begin(), starts.end() - 1);
  for (std::size_t row = 0; row < pattern.rows; ++row)
    for (std::size_t k = pattern.row_starts[row]; k < pattern.row_starts[row + 1]; ++k)
      rows[next[pattern.column_indices[k]]++] = static_cast<std::uint32_t>(row);
  const auto by_columns = [&](std::size_t i) { return std::span(rows).subspan(starts[i], starts[i + 1] - starts[i]); };
  const auto by_rows = [&](std::size_t i) {
    return std::span(pattern.column_indices)
        .subspan(pattern.row_starts[i], pattern.row_starts[i + 1] - pattern.row_starts[i]);
  };

  std::vector<std::uint32_t> colors(seeds, none), taken_by(seeds + 1, none);
  std::vector<std::vector<std::uint32_t>> colors_at(results);  // the colors of the seeds that have this result
  count = 0;
  for (std::uint32_t i = 0; i < seeds; ++i) {
    const std::span<const std::uint32_t> own = is_forward ? by_columns(i) : by_rows(i);
    for (const std::uint32_t result : own)
      for (const std::uint32_t color : colors_at[result]) taken_by[color] = i;
    std::uint32_t color = 0;
    while (taken_by[color] == i) ++color;
    colors[i] = color;
    count = std::max(count, color + 1);
    for (const std::uint32_t result : own) colors_at[result].push_back(color);
  }
  return colors;
}

}  // namespace gradwalk::compiler
