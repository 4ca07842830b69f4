// SPDX-License-Identifier: MIT
// The parameters that the rows of a batch look up: entries of tables that picks read by an input. A run reads only
// these and the parameters that every row uses.
#pragma once

#include <vector>

#include "rows.hpp"

namespace gradwalk::compiler {

template <class T> class Lookups {
 public:
  explicit Lookups(const Instructions& program);

  // Lists the parameters that a run with these rows reads, and that get gradients.
  void list(const Rows& rows);
  const std::vector<Range>& used() const { return used_; }  // that were listed last
  // Those of the used parameters that rows have looked up.
  std::span<const Range> looked_up() const { return std::span(used_).subspan(others_.size()); }
  std::size_t bytes() const;

 private:
  // Entries of a table that rows look up by an input, side by side for each index.
  struct Lookup {
    std::uint32_t input = 0, depth = 0;
    std::size_t first = 0, row = none, count = 0;  // row: as in the Instruction
    std::size_t stamps = 0;                        // which of stamps_ it has
  };

  const Instructions& program_;
  std::vector<Lookup> lookups_;
  static constexpr std::uint32_t always_used = 0xffffffff;
  std::vector<std::vector<std::uint32_t>> stamps_;  // the last list that has the entries of each index
  std::vector<std::uint32_t> parameter_stamps_;     // the last list that has each parameter, or always_used
  std::uint32_t stamp_ = 0;                         // of the last list
  std::vector<Range> others_, used_;                // others_: parameters that no row looks up
  bool are_apart_ = true;  // the entries of lookups_ are different parameters that only these read
};

}  // namespace gradwalk::compiler
