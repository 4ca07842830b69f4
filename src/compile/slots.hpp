// SPDX-License-Identifier: MIT
// Places for numbers, side by side, that can be given back and taken again.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace gradwalk::compiler {

class Slots {
 public:
  explicit Slots(std::uint32_t taken) : size_(taken) {}  // the first places are taken for good

  std::uint32_t size() const { return size_; }  // places that were taken at any time

  // The first of `count` free places side by side: in the smallest gap that has room, or at the end.
  std::uint32_t take(std::uint32_t count) {
    const auto gap = by_size_.lower_bound({count, 0});
    if (gap != by_size_.end()) {
      const auto [length, begin] = *gap;
      remove(begin, length);
      if (length > count) insert(begin + count, length - count);
      return begin;
    }
    const std::uint32_t begin = size_;
    size_ += count;
    return begin;
  }

  void give_back(std::vector<std::uint32_t>& places) {
    std::sort(places.begin(), places.end());
    for (std::size_t i = 0; i < places.size();) {
      std::size_t end = i + 1;
      while (end < places.size() && places[end] == places[end - 1] + 1) ++end;
      give_back(places[i], static_cast<std::uint32_t>(end - i));
      i = end;
    }
  }

 private:
  void give_back(std::uint32_t begin, std::uint32_t length) {
    const auto next = by_begin_.lower_bound(begin);
    if (next != by_begin_.begin()) {
      const auto [before, size] = *std::prev(next);
      if (before + size == begin) {
        remove(before, size);
        begin = before;
        length += size;
      }
    }
    const auto after = by_begin_.find(begin + length);
    if (after != by_begin_.end()) {
      const std::uint32_t size = after->second;
      remove(begin + length, size);
      length += size;
    }
    insert(begin, length);
  }
  void insert(std::uint32_t begin, std::uint32_t length) {
    by_begin_[begin] = length;
    by_size_.insert({length, begin});
  }
  void remove(std::uint32_t begin, std::uint32_t length) {
    by_begin_.erase(begin);
    by_size_.erase({length, begin});
  }

  std::uint32_t size_;
  std::map<std::uint32_t, std::uint32_t> by_begin_;            // the length of each gap
  std::set<std::pair<std::uint32_t, std::uint32_t>> by_size_;  // length and begin
};

}  // namespace gradwalk::compiler
