// SPDX-License-Identifier: MIT
// Who is the first to write each of an array of gradients. Given all writers in the order in which they write, it says
// who may write over what is there, and what has to be 0 before because it is only ever added to.
#pragma once

#include <cstddef>
#include <vector>

#include "ir.hpp"

namespace gradwalk::compiler {

// Where the flags are set.
inline std::vector<Range> ranges_of(const std::vector<bool>& flags) {
  std::vector<Range> ranges;
  for (std::size_t i = 0; i < flags.size(); ++i) {
    if (!flags[i]) continue;
    if (!ranges.empty() && ranges.back().begin + ranges.back().count == i)
      ++ranges.back().count;
    else
      ranges.push_back({i, 1});
  }
  return ranges;
}

class FirstWriters {
 public:
  explicit FirstWriters(std::size_t places) : written_(places), to_zero_(places, true) {}

  // To place(0) ... place(count - 1) at once: whether it is the first at all of them, and meets none twice.
  template <class Place> bool store(std::size_t count, Place place) {
    bool is_first = true;
    for (std::size_t i = 0; i < count; ++i) {
      is_first = is_first && !written_[place(i)];
      written_[place(i)] = true;
    }
    for (std::size_t i = 0; is_first && i < count; ++i) to_zero_[place(i)] = false;
    return is_first;
  }
  bool is_to_zero(std::size_t place) const { return to_zero_[place]; }

 private:
  std::vector<bool> written_, to_zero_;
};

}  // namespace gradwalk::compiler
