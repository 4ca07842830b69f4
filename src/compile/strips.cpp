// SPDX-License-Identifier: MIT
#include "strips.hpp"

#include <algorithm>

namespace gradwalk::compiler {

namespace {

// Uniform places that a vector reads or writes. If it lies at `begin`, side by side, its i-th number is at begin + i.
struct Places {
  std::uint32_t begin = 0, end = 0;
  bool is_side_by_side = false;
};

// Whether two vectors lie apart, or number i of one can only be number i of the other.
bool are_in_step(const Places& x, const Places& y) {
  if (x.end <= y.begin || y.end <= x.begin) return true;
  return x.is_side_by_side && y.is_side_by_side && x.begin == y.begin;
}

class StripFinder {
 public:
  StripFinder(const Instructions& program, const StripLimits& limits) : program_(program), limits_(limits) {}

  std::vector<Strip> find(const std::vector<Instruction>& list) {
    std::vector<Strip> strips(list.size());
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (!may_join(list[i])) {
        reads_.clear();
        writes_.clear();
        continue;
      }
      if (writes_.empty() || list[i].count != list[first_].count || !join(list[i])) {
        reads_.clear();
        writes_.clear();
        vectors_ = gathered_ = 0;
        first_ = i;
        if (!join(list[i])) continue;
      }
      strips[first_] = strip(list[first_].count);
    }
    return strips;
  }

 private:
  // Whether number i of the result depends on number i of each operand alone, and the vectors are long.
  bool may_join(const Instruction& one) const {
    using Is = Instruction::Form;
    return one.count >= limits_.is_long && (one.form == Is::function || one.form == Is::local || one.form == Is::sums ||
                                            (one.form == Is::extreme && one.terms > 0));
  }

  // Adds an instruction to the strip if pieces give what whole vectors give.
  bool join(const Instruction& one) {
    constexpr std::size_t most = 512;  // vectors of a strip: each new one is compared with all others
    const Places out{one.out, one.out + one.count, true};
    std::vector<Places> reads;
    std::size_t vectors = 1, gathered = 0;
    each_operand(program_, one, [&](const Operand& operand, std::uint32_t count) {
      if (!operand.exists()) return;
      if (operand.table != none || operand.stride != 0) ++vectors;
      if (operand.table != none) ++gathered;
      if (operand.rate == Rate::uniform) reads.push_back(places(operand, count));
    });
    if (!writes_.empty() && reads_.size() + reads.size() > most) return false;
    const auto is_fine = [&](const Places& place) { return are_in_step(place, out); };
    for (const std::vector<Places>* list : {&reads, &reads_, &writes_})
      if (!std::all_of(list->begin(), list->end(), is_fine)) return false;
    for (const Places& read : reads)
      if (!std::all_of(writes_.begin(), writes_.end(), [&](const Places& write) { return are_in_step(read, write); }))
        return false;
    reads_.insert(reads_.end(), reads.begin(), reads.end());
    writes_.push_back(out);
    vectors_ += vectors;
    gathered_ = std::max(gathered_, gathered);
    return true;
  }

  // A strip of what was joined, if it is worth it: if its vectors do not fit the cache.
  Strip strip(std::uint32_t count) const {
    const auto [is_long, cached, unit, most] = limits_;
    const std::size_t all = count * vectors_;
    if (all <= 2 * cached || (writes_.size() < 2 && count * gathered_ <= cached)) return {};
    const std::size_t fit = std::clamp<std::size_t>(cached / vectors_ / unit * unit, unit, most);
    return {fit < count ? static_cast<std::uint32_t>(writes_.size()) : 0, static_cast<std::uint32_t>(fit)};
  }

  Places places(const Operand& operand, std::uint32_t count) const {
    if (operand.table != none) {
      const auto first = program_.tables.begin() + operand.table;
      const auto [least, most] = std::minmax_element(first, first + count);
      return {*least, *most + 1, false};
    }
    return {operand.place, operand.place + operand.stride * (count - 1) + 1, operand.stride == 1};
  }

  const Instructions& program_;
  const StripLimits& limits_;
  std::vector<Places> reads_, writes_;  // of the instructions of the strip so far
  std::size_t vectors_ = 0;             // that these read and write
  std::size_t gathered_ = 0;            // the most that one of them gathers
  std::size_t first_ = 0;
};

}  // namespace

std::vector<Strip> find_strips(const Instructions& program, const std::vector<Instruction>& list,
                               const StripLimits& limits) {
  return StripFinder(program, limits).find(list);
}

}  // namespace gradwalk::compiler
