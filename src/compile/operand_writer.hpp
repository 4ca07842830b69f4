// SPDX-License-Identifier: MIT
// Describes the operands of vector instructions: side by side, one for all, or as a table says.
#pragma once

#include <algorithm>
#include <bit>
#include <map>
#include <span>
#include <vector>

#include "ir.hpp"
#include "number_map.hpp"

namespace gradwalk::compiler {

struct Place {
  Rate rate = Rate::constant;
  std::uint32_t at = none;
  bool is_like(const Place& other) const { return rate == other.rate && (at == none) == (other.at == none); }
};

// One operand, or factor, of each number of a vector.
using Column = List<Place>;

class OperandWriter {
 public:
  static constexpr std::size_t short_run = 8;  // numbers; neighbours shorter than this share an instruction with tables
  static constexpr std::uint32_t alignment = 8;  // places: a group that fills a vector begins where one does

  explicit OperandWriter(Instructions& program) : program_(program) {}

  Place constant(double number) {
    std::uint32_t& at = constants_[std::bit_cast<std::uint64_t>(number)];
    if (at == none) {
      at = static_cast<std::uint32_t>(program_.constants.size());
      program_.constants.push_back(number);
    }
    return {Rate::constant, at};
  }
  // Returns the first of `count` new uniform places.
  std::uint32_t uniform_places(std::uint32_t count, bool is_aligned) {
    const std::uint32_t next = program_.uniform_places;
    const std::uint32_t first = is_aligned ? (next + alignment - 1) / alignment * alignment : next;
    program_.uniform_places = first + count;
    return first;
  }

  // Returns the operand that consists of the numbers [begin, end) of a column, or of all its numbers.
  Operand operand(const Column& column, std::size_t begin, std::size_t end) {
    const Place first = column[begin];
    if (first.at == none) return {};
    bool same = true, next = true;
    for (std::size_t i = begin + 1; i < end; ++i) {
      same &= column[i].at == first.at;
      next &= column[i].at == first.at + (i - begin);
    }
    if (same || next) return {first.rate, first.at, same ? 0u : 1u, none};
    return {first.rate, first.at, 0, table(std::span(column).subspan(begin, end - begin))};
  }
  Operand operand(const Column& column) { return operand(column, 0, column.size()); }
  // The same for an operand that is read number by number, even if all its numbers are one.
  Operand listed(const Column& column) {
    Operand result = operand(column);
    if (result.table == none && result.stride == 0 && column.size() > 1) result.table = table(column);
    return result;
  }
  // Returns an operand of constants, or none if all of them are 1 or 0.
  Operand factor(std::span<const double> factors) { return constants(factors, 1); }
  Operand start(std::span<const double> starts) { return constants(starts, 0); }

  // A column that an instruction does not cut has to be of one rate: constants get uniform places of their own.
  void make_uniform(Column& column) {
    if (std::all_of(column.begin(), column.end(), [&](const Place& place) { return place.rate == column[0].rate; }))
      return;
    for (Place& place : column) {
      if (place.rate != Rate::constant) continue;
      std::uint32_t& copy = copies_[place.at];
      if (copy == none) {
        Instruction& instruction = constant_copies_.emplace_back();
        instruction.form = Instruction::Form::sums;
        instruction.count = 1;
        instruction.out = copy = uniform_places(1, false);
        instruction.start = {Rate::constant, place.at, 0, none};
      }
      place = {Rate::uniform, copy};
    }
  }
  // Instructions that come before all others of the uniform part.
  const std::vector<Instruction>& constant_copies() const { return constant_copies_; }

  // Coordinates are often recorded point by point, so the x of one point after another lie three places apart. If a
  // column reads such numbers again and again, in long runs, it reads copies that lie side by side from now on. Calls
  // add(instruction) for new copies.
  template <class Add> void close_up(std::span<Column> columns, Add add) {
    constexpr std::size_t long_run = 32, reads = 4;  // numbers in a run; reads of each number
    for (Column& column : columns) {
      const std::uint32_t step = most_frequent_step(column);
      if (step < 2) continue;
      std::size_t in_step = 0;
      for (std::size_t i = 1; i < column.size(); ++i) in_step += column[i].at == column[i - 1].at + step ? 1 : 0;
      if ((column.size() - in_step) * long_run > column.size()) continue;
      const auto is_before = [](Place x, Place y) { return x.at < y.at; };
      const auto [least, most] = std::minmax_element(column.begin(), column.end(), is_before);
      const std::uint32_t first = least->at, size = most->at - first + 1, row = (size + step - 1) / step;
      if (size > column.size() / reads) continue;
      // Number i of row r is that of place first + i * step + r. What the column does not read may not be computed yet.
      std::vector<std::uint32_t> places(std::size_t{row} * step, first);
      for (Place& place : column) {
        const std::uint32_t at = place.at - first, copy = at % step * row + at / step;
        places[copy] = place.at;
        place.at = copy;
      }
      const auto [known, is_new] = side_by_side_.try_emplace(std::move(places));
      if (is_new) {
        Column from;
        for (const std::uint32_t at : known->first) from.push_back({Rate::uniform, at});
        known->second = uniform_places(row * step, true);
        add(scaled_copy(Rate::uniform, known->second, {}, from));
      }
      for (Place& place : column) place.at += known->second;
    }
  }

  // An instruction that copies factor * the numbers of a column to places that lie side by side.
  Instruction scaled_copy(Rate rate, std::uint32_t out, const Operand& factor, const Column& column) {
    Instruction copy;
    copy.form = Instruction::Form::sums;
    copy.rate = rate;
    copy.count = static_cast<std::uint32_t>(column.size());
    copy.out = out;
    copy.begin = static_cast<std::uint32_t>(program_.factors.size());
    copy.terms = 1;
    program_.factors.push_back({factor, operand(column), {}, 0});
    return copy;
  }

  // Returns where to cut a vector, so that in each piece every column stays at its place or goes on to the next one.
  // Short pieces that are neighbours are one.
  std::vector<std::size_t> cuts(std::span<const Column> columns, std::size_t count) {
    std::vector<std::size_t> runs{0};
    strides_.assign(columns.size(), none);
    for (std::size_t i = 1; i < count; ++i) {
      bool goes_on = true;
      for (std::size_t c = 0; goes_on && c < columns.size(); ++c) {
        const std::uint32_t stride = columns[c][i].at - columns[c][i - 1].at;
        goes_on =
            stride <= 1 && (strides_[c] == none || strides_[c] == stride) && columns[c][i].is_like(columns[c][i - 1]);
        strides_[c] = stride;
      }
      if (!goes_on) {
        runs.push_back(i);
        std::fill(strides_.begin(), strides_.end(), none);
      }
    }
    runs.push_back(count);
    std::vector<std::size_t> pieces{0};
    bool last_is_short = false;
    for (std::size_t r = 0; r + 1 < runs.size(); ++r) {
      const bool is_short = runs[r + 1] - runs[r] < short_run;
      const bool are_like = r == 0 || std::all_of(columns.begin(), columns.end(), [&](const Column& column) {
                              return column[runs[r]].is_like(column[runs[r] - 1]);
                            });
      if (r > 0 && !(is_short && last_is_short && are_like)) pieces.push_back(runs[r]);
      last_is_short = is_short;
    }
    pieces.push_back(count);
    return pieces;
  }

 private:
  // The distance of neighbours that a sample has most often, or 0 if the column is not one of uniform numbers.
  static std::uint32_t most_frequent_step(const Column& column) {
    constexpr std::size_t sample = 64;
    constexpr std::uint32_t largest = 64;
    std::uint32_t step = 0;
    std::size_t votes = 0;
    if (column.size() < sample) return 0;
    for (std::size_t i = 1; i < column.size(); i += column.size() / sample) {
      const std::uint32_t here = column[i].at - column[i - 1].at;
      if (votes == 0) step = here;
      here == step ? ++votes : --votes;
    }
    const auto is_uniform = [](const Place& place) { return place.rate == Rate::uniform && place.at != none; };
    return step <= largest && std::all_of(column.begin(), column.end(), is_uniform) ? step : 0;
  }
  Operand constants(std::span<const double> numbers, double absent) {
    if (std::all_of(numbers.begin(), numbers.end(), [&](double number) { return number == numbers[0]; }))
      return numbers[0] == absent ? Operand{} : Operand{Rate::constant, constant(numbers[0]).at, 0, none};
    const auto at = static_cast<std::uint32_t>(program_.constants.size());
    program_.constants.insert(program_.constants.end(), numbers.begin(), numbers.end());
    return {Rate::constant, at, 1, none};
  }
  std::uint32_t table(std::span<const Place> places) {
    const auto first = static_cast<std::uint32_t>(program_.tables.size());
    for (const Place& place : places) program_.tables.push_back(place.at);
    return first;
  }

  Instructions& program_;
  NumberMap constants_, copies_;
  std::vector<Instruction> constant_copies_;
  std::map<std::vector<std::uint32_t>, std::uint32_t> side_by_side_;  // places of copies, by those of the originals
  std::vector<std::uint32_t> strides_;
};

// An instruction of a group whose first result is at `out`.
inline Instruction instruction_of(const Group& group, Instruction::Form form, std::uint32_t out, std::size_t count) {
  Instruction instruction;
  instruction.form = form;
  instruction.op = group.op;
  instruction.by = group.by;
  instruction.rate = group.rate;
  instruction.for_inputs = group.for_inputs;
  instruction.count = static_cast<std::uint32_t>(count);
  instruction.out = out;
  return instruction;
}

}  // namespace gradwalk::compiler
