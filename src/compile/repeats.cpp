// SPDX-License-Identifier: MIT
#include "repeats.hpp"

#include <algorithm>
#include <bit>

#include "number_map.hpp"
#include "strips.hpp"

namespace gradwalk::compiler {
namespace {

constexpr std::size_t least_repeated = 4;
// Units: shorter rounds are several in one. What a round leaves in registers, the next one has to read from memory.
constexpr std::size_t long_round = 32;
constexpr std::size_t most_candidates = 6;  // periods that are tried at a unit
constexpr std::size_t most_compared = 64;   // units that are compared, for each unit of the list

class RepeatFinder {
 public:
  RepeatFinder(const Instructions& program, std::span<const Instruction> list, std::span<const std::uint32_t> steps,
               std::span<const Unit> units, const std::function<bool(const Unit&)>& is_written)
      : program_(program),
        at_(program),
        list_(list),
        steps_(steps),
        units_(units),
        left_(most_compared * units.size()) {
    written_.reserve(units.size());
    for (const Unit& unit : units) written_.push_back(is_written(unit));
    list_next();
  }

  std::vector<Repeat> run() {
    std::vector<Repeat> found;
    for (std::size_t i = 0; i < units_.size() && left_ > 0;) {
      Repeat best;
      std::size_t tried = 0;
      for (std::size_t j = next_[i]; j != units_.size() && tried < most_candidates; j = next_[j], ++tried) {
        if (j - i > (units_.size() - i) / least_repeated) break;
        Repeat repeat = repeat_at(i, j - i);
        if (repeat.rounds * repeat.period > best.rounds * best.period) best = std::move(repeat);
      }
      if (best.rounds > 0 && 2 * best.period <= long_round) {
        Repeat longer = repeat_at(i, long_round / best.period * best.period);
        if (longer.rounds > 0) best = std::move(longer);
      }
      i += std::max<std::size_t>(best.rounds * best.period, 1);
      if (best.rounds > 0) found.push_back(std::move(best));
    }
    return found;
  }

 private:
  // What two units have in common that do the same: all but addresses.
  std::uint64_t signature(std::size_t i) const {
    const Unit& unit = units_[i];
    if (unit.is_step()) return steps_[unit.word];
    const Instruction& one = list_[unit.instruction];
    std::uint64_t hash = mixed(std::uint64_t{1} << 32, static_cast<std::uint64_t>(one.form));
    if (one.count >= StripLimits{}.is_long) return mixed(hash, i);  // in no repeat: it may be in a strip
    hash = mixed(mixed(hash, static_cast<std::uint64_t>(one.op) << 8 | one.by), one.count);
    hash = mixed(mixed(hash, one.terms), written_[i] ? 1 : 0);
    each_operand(program_, one, [&](const Operand& operand, std::uint32_t count) {
      hash = mixed(hash, operand.exists() ? count : none);
    });
    return hash;
  }

  // For each unit, the next one with its signature.
  void list_next() {
    signatures_.resize(units_.size());
    next_.assign(units_.size(), static_cast<std::uint32_t>(units_.size()));
    NumberMap last;
    for (std::size_t i = 0; i < units_.size(); ++i) {
      signatures_[i] = signature(i);
      std::uint32_t& before = last[signatures_[i]];
      if (before != NumberMap::absent) next_[before] = static_cast<std::uint32_t>(i);
      before = static_cast<std::uint32_t>(i);
    }
  }

  // The addresses of a unit that is written, always in the same order.
  template <class Meet> void each_address(const Unit& unit, Meet meet) const {
    if (unit.is_step()) {
      const StepHead head(steps_[unit.word]);
      for (std::uint32_t k = 1; k <= head.words(); ++k) meet(steps_[unit.word + k]);
      return;
    }
    const Instruction& one = list_[unit.instruction];
    const std::uint32_t out = at_.of(Rate::uniform, one.out);
    for (std::uint32_t i = 0; i < one.outputs(); ++i) meet(out + i);
    each_operand(program_, one, [&](const Operand& operand, std::uint32_t count) {
      if (!operand.exists()) return;
      const bool is_one = operand.table == none && operand.stride == 0;
      for (std::uint32_t i = 0; i < (is_one ? 1 : count); ++i) meet(at_(operand, i));
    });
  }

  void list_addresses(std::size_t begin, std::size_t period, std::vector<std::uint32_t>& to) const {
    to.clear();
    for (std::size_t i = begin; i < begin + period; ++i)
      if (written_[i]) each_address(units_[i], [&](std::uint32_t address) { to.push_back(address); });
  }
  bool is_constant(std::uint32_t address) const { return address >= at_.constants() && address < at_.one(); }
  bool are_equal_constants(std::uint32_t x, std::uint32_t y) const {
    const auto bits = [&](std::uint32_t address) {
      return std::bit_cast<std::uint64_t>(program_.constants[address - at_.constants()]);
    };
    return is_constant(x) && is_constant(y) && bits(x) == bits(y);
  }

  // Whether a round does what the first one does, and calls kernels at places as far apart.
  bool is_alike(std::size_t begin, std::size_t period, std::size_t round) {
    const std::size_t here = begin + round * period;
    if (here + period > units_.size()) return false;
    const auto differs = [&](std::size_t k) {
      if (signatures_[begin + k] != signatures_[here + k]) return true;
      const Unit &first = units_[begin + k], &second = units_[begin + period + k], &unit = units_[here + k];
      if (first.is_step() != unit.is_step()) return true;
      if (written_[begin + k]) return false;
      const auto is_even = [&](std::uint32_t a, std::uint32_t b, std::uint32_t c) { return c - a == (b - a) * round; };
      return unit.is_step() ? !is_even(first.word, second.word, unit.word)
                            : !is_even(first.instruction, second.instruction, unit.instruction);
    };
    std::size_t k = 0;
    while (k < period && !differs(k)) ++k;
    left_ -= std::min(left_, k + 1);
    return k == period;
  }

  Repeat repeat_at(std::size_t begin, std::size_t period) {
    if (!is_alike(begin, period, 1)) return {};
    list_addresses(begin, period, first_);
    list_addresses(begin + period, period, here_);
    if (first_.size() != here_.size()) return {};
    // From round to round, an address grows by the same, or it is that of the same constant.
    by_.resize(first_.size());
    is_same_.resize(first_.size());
    for (std::size_t i = 0; i < first_.size(); ++i) {
      by_[i] = static_cast<std::int32_t>(here_[i] - first_[i]);
      is_same_[i] = are_equal_constants(first_[i], here_[i]);
    }
    std::size_t rounds = 2;
    for (; is_alike(begin, period, rounds); ++rounds) {
      list_addresses(begin + rounds * period, period, here_);
      bool goes_on = here_.size() == first_.size();
      stays_same_ = is_same_;
      for (std::size_t i = 0; goes_on && i < here_.size(); ++i) {
        stays_same_[i] = is_same_[i] && are_equal_constants(first_[i], here_[i]);
        goes_on = stays_same_[i] ||
                  here_[i] - first_[i] == static_cast<std::uint32_t>(by_[i]) * static_cast<std::uint32_t>(rounds);
      }
      if (!goes_on) break;
      is_same_.swap(stays_same_);
    }
    if (rounds < least_repeated) return {};
    return made(begin, period, rounds);
  }
  Repeat made(std::size_t begin, std::size_t period, std::size_t rounds) const {
    Repeat made{begin, period, rounds, {}};
    std::vector<Repeat::Moving> all;
    for (std::size_t i = 0; i < first_.size(); ++i) all.push_back({first_[i], is_same_[i] ? 0 : by_[i]});
    std::sort(all.begin(), all.end(), [](const auto& x, const auto& y) {
      return x.address != y.address ? x.address < y.address : x.by < y.by;
    });
    std::vector<std::int32_t> strides;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (i > 0 && all[i].address == all[i - 1].address) {
        if (all[i].by != all[i - 1].by) return {};
        continue;
      }
      if (all[i].by == 0) continue;
      made.moving.push_back(all[i]);
      if (std::find(strides.begin(), strides.end(), all[i].by) == strides.end()) strides.push_back(all[i].by);
      if (strides.size() > most_strides) return {};
    }
    return made;
  }

  const Instructions& program_;
  Addresses at_;
  std::span<const Instruction> list_;
  std::span<const std::uint32_t> steps_;
  std::span<const Unit> units_;
  std::size_t left_;  // work
  std::vector<bool> written_;
  std::vector<std::uint64_t> signatures_;
  std::vector<std::uint32_t> next_;
  // Of the period at hand: the addresses in the first round and in the one that is compared with it, how much each
  // grows, and whether it has been that of the same constant in all rounds.
  std::vector<std::uint32_t> first_, here_;
  std::vector<std::int32_t> by_;
  std::vector<bool> is_same_, stays_same_;
};

}  // namespace

std::vector<Unit> units_of(std::span<const Instruction> list, std::span<const std::uint32_t> steps) {
  std::vector<Unit> units;
  const auto add_steps = [&](std::uint32_t instruction, std::size_t begin, std::size_t end) {
    for (std::size_t word = begin; word < end; word += 1 + StepHead(steps[word]).words())
      units.push_back({instruction, static_cast<std::uint32_t>(word)});
  };
  if (list.empty()) add_steps(none, 0, steps.size());
  for (std::uint32_t i = 0; i < list.size(); ++i) {
    if (list[i].form == Instruction::Form::steps)
      add_steps(i, list[i].begin, std::size_t{list[i].begin} + list[i].count);
    else
      units.push_back({i, none});
  }
  return units;
}

std::vector<Repeat> find_repeats(const Instructions& program, std::span<const Instruction> list,
                                 std::span<const std::uint32_t> steps, std::span<const Unit> units,
                                 const std::function<bool(const Unit&)>& is_written) {
  return RepeatFinder(program, list, steps, units, is_written).run();
}

}  // namespace gradwalk::compiler
