// SPDX-License-Identifier: MIT
// Who is the first to write each of an array of gradients. Told of all writers in the order of a backward pass, it says
// who may write over what is there, and what has to be 0 before the pass because it is only ever added to.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace gradwalk::compiler {

struct Range {
  std::size_t begin, count;
};

class FirstWriters {
 public:
  explicit FirstWriters(std::size_t places) : written_(places), to_zero_(places, true) {}

  std::size_t size() const { return written_.size(); }
  bool is_written(std::size_t place) const { return written_[place]; }
  void add(std::size_t place) { written_[place] = true; }
  // To place(0) ... place(count - 1) in one go: whether it is the first at all of them, and meets none twice.
  template <class Place> bool store(std::size_t count, Place place) {
    bool is_first = true;
    for (std::size_t i = 0; i < count; ++i) {
      is_first = is_first && !written_[place(i)];
      written_[place(i)] = true;
    }
    for (std::size_t i = 0; is_first && i < count; ++i) to_zero_[place(i)] = false;
    return is_first;
  }
  // Several writers who take turns, in each round place(round, writer) if that is one: which of them are first wherever
  // they write.
  template <class Place> std::vector<bool> store_in_turns(std::size_t rounds, std::size_t writers, Place place) {
    struct First {
      std::size_t place, writer;
    };
    std::vector<First> firsts;
    std::vector<bool> is_first(writers, true);
    for (std::size_t round = 0; round < rounds; ++round)
      for (std::size_t w = 0; w < writers; ++w) {
        const std::optional<std::size_t> at = place(round, w);
        if (!at) continue;
        if (written_[*at]) {
          is_first[w] = false;
        } else {
          written_[*at] = true;
          firsts.push_back({*at, w});
        }
      }
    for (const First& one : firsts)
      if (is_first[one.writer]) to_zero_[one.place] = false;
    return is_first;
  }

  std::vector<Range> to_zero() const {
    std::vector<Range> ranges;
    for (std::size_t i = 0; i < to_zero_.size(); ++i) {
      if (!to_zero_[i]) continue;
      if (!ranges.empty() && ranges.back().begin + ranges.back().count == i)
        ++ranges.back().count;
      else
        ranges.push_back({i, 1});
    }
    return ranges;
  }

 private:
  std::vector<bool> written_, to_zero_;
};

}  // namespace gradwalk::compiler
