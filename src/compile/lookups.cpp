// SPDX-License-Identifier: MIT
#include "lookups.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "first_writers.hpp"

namespace gradwalk::compiler {

template <class T> Lookups<T>::Lookups(const Instructions& program) : program_(program) {
  std::vector<bool> is_looked_up(program_.parameters);
  for (const Range& range : program_.looked_up)
    std::fill_n(is_looked_up.begin() + static_cast<std::ptrdiff_t>(range.begin), range.count, true);
  std::vector<bool> is_other = is_looked_up;
  is_other.flip();
  others_ = ranges_of(is_other);
  if (program_.looked_up.empty()) return;
  parameter_stamps_.assign(program_.parameters, always_used);
  for (const Range& range : program_.looked_up)
    std::fill_n(parameter_stamps_.begin() + static_cast<std::ptrdiff_t>(range.begin), range.count, 0);
  std::map<std::tuple<std::size_t, std::size_t, std::size_t, std::size_t>, std::size_t> known;  // first to depth
  for (const Instruction& one : program_.varying) {
    if (one.form != Instruction::Form::pick || one.in[1].rate != Rate::uniform) continue;
    for (std::uint32_t i = 0, end = 0; i < one.count; i = end) {
      const std::uint32_t input = program_.place(one.in[0], i);
      end = i + 1;
      while (one.row != none && end < one.count && program_.place(one.in[0], end) == input &&
             program_.entry(one, end, 0) == program_.entry(one, end - 1, 0) + 1)
        ++end;
      bool is_any = false;
      for (std::uint32_t member = i; member < end && !is_any; ++member)
        for (std::uint32_t k = 0; k < one.depth && !is_any; ++k) {
          const std::uint32_t entry = program_.entry(one, member, k);
          is_any = entry < program_.parameters && is_looked_up[entry];
        }
      if (!is_any) continue;
      Lookup lookup{input,   one.depth, one.row == none ? one.in[1].table : program_.entry(one, i, 0),
                    one.row, end - i,   0};
      const auto [at, is_new] =
          known.try_emplace({lookup.first, lookup.row, lookup.count, lookup.depth}, stamps_.size());
      lookup.stamps = at->second;
      if (is_new) {
        stamps_.emplace_back(one.depth);
        for (std::uint32_t k = 0; k < one.depth; ++k)
          for (std::uint32_t member = i; member < end; ++member) {
            const std::uint32_t entry = program_.entry(one, member, k);
            are_apart_ = are_apart_ && entry < program_.parameters && parameter_stamps_[entry] == 0;
            if (entry < program_.parameters && parameter_stamps_[entry] == 0) parameter_stamps_[entry] = 1;
          }
      }
      const bool is_known = std::any_of(lookups_.begin(), lookups_.end(), [&](const Lookup& other) {
        return other.input == input && other.stamps == lookup.stamps;
      });
      if (!is_known) lookups_.push_back(lookup);
    }
  }
  stamp_ = 1;
  if (are_apart_) parameter_stamps_ = {};
}

template <class T> void Lookups<T>::list(const Rows& rows) {
  used_ = others_;
  if (++stamp_ == always_used) {
    for (std::vector<std::uint32_t>& stamps : stamps_) std::fill(stamps.begin(), stamps.end(), 0);
    for (std::uint32_t& stamp : parameter_stamps_) stamp = stamp == always_used ? always_used : 0;
    stamp_ = 1;
  }
  for (const Lookup& lookup : lookups_) {
    std::vector<std::uint32_t>& stamps = stamps_[lookup.stamps];
    for (std::size_t r = 0; r < rows.count; ++r) {
      const T index = rows.number<T>(r * program_.inputs + lookup.input);
      if (!(index >= 0 && index < static_cast<T>(lookup.depth))) continue;  // The run will refuse it.
      const auto k = static_cast<std::size_t>(index);
      if (stamps[k] == stamp_) continue;
      stamps[k] = stamp_;
      const std::size_t first = lookup.row == none ? program_.tables[lookup.first + k] : lookup.first + k * lookup.row;
      if (are_apart_) {
        used_.push_back({first, lookup.count});
        continue;
      }
      for (std::size_t p = first; p < std::min(first + lookup.count, program_.parameters); ++p) {
        if (parameter_stamps_[p] == always_used || parameter_stamps_[p] == stamp_) continue;
        parameter_stamps_[p] = stamp_;
        if (used_.size() > others_.size() && used_.back().begin + used_.back().count == p)
          ++used_.back().count;
        else
          used_.push_back({p, 1});
      }
    }
  }
}

template <class T> std::size_t Lookups<T>::bytes() const {
  std::size_t all = heap_bytes(lookups_, stamps_, parameter_stamps_, others_, used_);
  for (const std::vector<std::uint32_t>& stamps : stamps_) all += heap_bytes(stamps);
  return all;
}

template class Lookups<float>;
template class Lookups<double>;

}  // namespace gradwalk::compiler
