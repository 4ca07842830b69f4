// SPDX-License-Identifier: MIT
#include "rounds.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>

namespace gradwalk::compiler {
namespace {

constexpr std::uint32_t least_rounds = 4, least_nodes = 16;  // of a loop
constexpr std::size_t most_loops = 8, most_periods = 6;      // periods that are tried for each size of window
constexpr std::uint32_t most_lag = 4;

// Constants, uniform nodes, inputs, and steps.
int rank(const Scalars& scalars, Id id) {
  const Scalar& node = scalars.nodes[id];
  if (node.rate == Rate::constant) return 0;
  if (node.rate == Rate::uniform) return 1;
  return node.op == Op::leaf ? 2 : 3;
}

// What tells two steps apart in the same way in all rounds: the op, and which operands are constant or uniform.
std::array<std::uint64_t, 4> key(const Scalars& scalars, Id id) {
  const Scalar& node = scalars.nodes[id];
  if (node.op == Op::leaf || node.op == Op::constant) return {};
  std::array<std::uint64_t, 4> made{static_cast<std::uint64_t>(node.op) + 1, 0, 0, 0};
  for (std::size_t q = 0; q < 3; ++q) {
    if (node.operands[q] == none) continue;
    const auto of = static_cast<std::uint64_t>(rank(scalars, node.operands[q])) + 1;
    made[q + 1] = of << 32 | (of <= 2 ? node.operands[q] : 0);
  }
  std::sort(made.begin() + 1, made.end());
  return made;
}

class Finder {
 public:
  Finder(const Scalars& scalars, std::uint32_t multiple)
      : scalars_(scalars), multiple_(multiple), at_(scalars.nodes.size(), none) {
    const Rate rate = scalars.inputs > 0 ? Rate::varying : Rate::uniform;
    add_steps(rate);
    operands_.reserve(found_.steps.size());
    for (const Id id : found_.steps) operands_.push_back(ordered_operands(scalars, id));
    last_user_.resize(found_.steps.size());
    for (std::uint32_t step = 0; step < operands_.size(); ++step)
      for (const Id id : operands_[step])
        if (id != none && at_[id] != none) last_user_[at_[id]] = step;
    for (const Id id : scalars.outputs)
      if (at_[id] != none) last_user_[at_[id]] = none;
  }

  Rounds run() {
    search(0, static_cast<std::uint32_t>(found_.steps.size()));
    std::ranges::sort(found_.loops, {}, &Loop::first);
    return std::move(found_);
  }

 private:
  // Steps are in recorded order, but a product comes right before the sum that alone needs it: the order of the
  // products of one sum can change from round to round.
  void add_steps(Rate rate) {
    constexpr Id near = 8;  // nodes between a product and its sum
    const auto is_step = [&](Id id) {
      return id != none && scalars_.nodes[id].rate == rate && scalars_.nodes[id].op != Op::leaf;
    };
    std::vector<Id> user(scalars_.nodes.size(), none);  // of a node with one user; `several` with more
    constexpr Id several = none - 1;
    for (Id id = 0; id < scalars_.nodes.size(); ++id)
      if (is_step(id))
        for (const Id operand : scalars_.nodes[id].operands)
          if (operand != none) user[operand] = user[operand] == none ? id : several;
    for (const Id id : scalars_.outputs) user[id] = several;
    const auto waits = [&](Id id) {
      if (!is_step(id) || scalars_.nodes[id].op != Op::mul || user[id] >= several || user[id] - id > near) return false;
      return scalars_.nodes[user[id]].op == Op::add || scalars_.nodes[user[id]].op == Op::sub;
    };
    const auto add = [&](Id id) {
      at_[id] = static_cast<std::uint32_t>(found_.steps.size());
      found_.steps.push_back(id);
    };
    for (Id id = 0; id < scalars_.nodes.size(); ++id) {
      if (!is_step(id) || waits(id)) continue;
      for (const Id operand : ordered_operands(scalars_, id))
        if (waits(operand)) add(operand);
      add(id);
    }
  }

  enum class Class : std::uint8_t { nothing, constant, uniform, input, step };

  Class class_of(Id id) const {
    if (id == none) return Class::nothing;
    if (at_[id] != none) return Class::step;
    const Rate rate = scalars_.nodes[id].rate;
    return rate == Rate::constant ? Class::constant : rate == Rate::uniform ? Class::uniform : Class::input;
  }
  Op op(std::uint32_t step) const { return scalars_.nodes[found_.steps[step]].op; }

  // Whether a step and the one a period later can be the same place of two rounds. Leaves and constants are compared
  // later, when the rounds are known.
  bool matches(std::uint32_t step, std::uint32_t period) const {
    const std::uint32_t later = step + period;
    if (op(step) != op(later)) return false;
    for (std::size_t q = 0; q < 3; ++q) {
      const Id x = operands_[step][q], y = operands_[later][q];
      const Class of = class_of(x);
      if (of != class_of(y)) return false;
      if (of == Class::step && x != y && at_[y] - at_[x] != period) return false;
    }
    return true;
  }

  // ---- periods ----

  // Steps with equal surroundings are often a period apart. Small windows find short rounds, and large ones find the
  // outer loop of two.
  std::vector<std::uint32_t> periods(std::uint32_t begin, std::uint32_t end) const {
    std::vector<std::uint32_t> made;
    for (const std::uint32_t window : {4U, 16U, 64U}) {
      std::unordered_map<std::uint64_t, std::uint32_t> last;
      std::unordered_map<std::uint32_t, std::uint32_t> counts;
      constexpr std::uint64_t factor = 0x9e3779b97f4a7c15U;
      std::uint64_t hash = 0, leaving = 1;
      for (std::uint32_t i = 0; i < window; ++i) leaving *= factor;
      for (std::uint32_t step = begin; step < end; ++step) {
        hash = hash * factor + shape(step);
        if (step >= begin + window) hash -= leaving * shape(step - window);
        if (step + 1 < begin + window) continue;
        const auto [known, is_new] = last.try_emplace(hash, step);
        if (!is_new) ++counts[step - known->second];
        known->second = step;
      }
      std::vector<std::pair<std::uint32_t, std::uint32_t>> sorted;  // count, period
      for (const auto& [period, count] : counts) sorted.emplace_back(count, period);
      std::ranges::sort(sorted, [](const auto& x, const auto& y) {
        return x.first != y.first ? x.first > y.first : x.second < y.second;
      });
      for (std::size_t i = 0; i < std::min(sorted.size(), most_periods); ++i) made.push_back(sorted[i].second);
    }
    std::ranges::sort(made);
    made.erase(std::unique(made.begin(), made.end()), made.end());
    return made;
  }
  std::uint64_t shape(std::uint32_t step) const {
    std::uint64_t code = static_cast<std::uint64_t>(op(step));
    for (const Id id : operands_[step]) code = code * 8 + static_cast<std::uint64_t>(class_of(id));
    code = (code ^ code >> 15) * 0xff51afd7ed558ccdU;
    return code ^ code >> 32;
  }

  // ---- loops ----

  void search(std::uint32_t begin, std::uint32_t end) {
    if (found_.loops.size() >= most_loops || end - begin < least_nodes) return;
    std::optional<Loop> best;
    for (const std::uint32_t period : periods(begin, end)) {
      for (std::uint32_t step = begin; step + period < end;) {
        std::uint32_t equal = 0;
        while (step + equal + period < end && matches(step + equal, period)) ++equal;
        if (equal / period + 1 >= least_rounds && equal + period >= least_nodes &&
            (!best || equal > best->period * (best->rounds - 1)))
          if (auto loop = loop_in(step, step + equal + period, period);
              loop && (!best || loop->period * (loop->rounds - 1) > best->period * (best->rounds - 1)))
            best = std::move(loop);
        step += equal + 1;
      }
    }
    if (!best) return;
    const std::uint32_t first = best->first, last = best->end();
    found_.loops.push_back(std::move(*best));
    search(begin, first);
    search(last, end);
  }

  // The loop among these steps, which repeat with this period. Its rounds begin where the fewest values are carried.
  std::optional<Loop> loop_in(std::uint32_t begin, std::uint32_t end, std::uint32_t period) const {
    const std::uint32_t middle = begin + period;
    std::vector<std::uint32_t> reach(period);  // how far the last user of a place is
    for (std::uint32_t step = middle; step < middle + period; ++step)
      for (std::size_t q = 0; q < 3; ++q) {
        const Id x = operands_[step][q];
        if (class_of(x) != Class::step || x == operands_[step - period][q]) continue;
        std::uint32_t& farthest = reach[(at_[x] + period - begin % period) % period];
        farthest = std::max(farthest, step - at_[x]);
      }
    std::vector<std::int64_t> changes(period + 1);  // of the number of values that cross the boundary before a place
    std::int64_t crossing = 0;
    for (std::uint32_t place = 0; place < period; ++place) {
      crossing += reach[place] / period;
      const std::uint32_t from = (place + 1) % period, length = reach[place] % period;
      ++changes[from];
      if (from + length <= period) {
        --changes[from + length];
      } else {
        --changes[period];
        ++changes[0], --changes[from + length - period];
      }
    }
    std::uint32_t start = 0;
    std::int64_t fewest = 0;
    for (std::uint32_t place = 0; place < period; ++place) {
      crossing += changes[place];
      if (place == 0 || crossing < fewest) fewest = crossing, start = place;
    }
    return verified(begin + start, (end - begin - start) / period, period);
  }

  // ---- operands ----

  // As many rounds as take their operands by one rule.
  std::optional<Loop> verified(std::uint32_t first, std::uint32_t rounds, std::uint32_t period) const {
    Loop loop{first, period, rounds, {}, {}};
    loop.operands.resize(period);
    std::vector<std::array<std::uint32_t, 3>> lags(period);
    for (std::uint32_t place = 0; place < period && loop.rounds >= least_rounds; ++place)
      for (std::size_t q = 0; q < 3; ++q)
        if (!classify(loop, place, q, lags[place][q])) return std::nullopt;
    loop.rounds -= loop.rounds % multiple_;
    if (loop.rounds < least_rounds || loop.rounds * period < least_nodes) return std::nullopt;
    std::map<std::pair<std::uint32_t, std::uint32_t>, bool> carried;  // lag and place; whether a round reads it
    for (std::uint32_t place = 0; place < period; ++place)
      for (std::size_t q = 0; q < 3; ++q)
        if (loop.operands[place][q].from == RoundOperand::From::carried)
          carried[{lags[place][q], loop.operands[place][q].index}] = true;
    if (!add_results(loop, carried)) return std::nullopt;
    for (auto one = carried.rbegin(); one != carried.rend(); ++one)  // all smaller lags are carried, too
      if (one->first.first > 1) {
        bool& is_read = carried[{one->first.first - 1, one->first.second}];
        is_read = is_read || one->second;
      }
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> numbers;
    for (const auto& [key, is_read] : carried) {
      const auto& [lag, place] = key;
      Carried made{place, lag, none, lag == 1 ? place : numbers.at({lag - 1, place})};
      if (is_read) {
        if (first + place < lag * period) return std::nullopt;
        made.initial = found_.steps[first + place - lag * period];
      }
      numbers[key] = static_cast<std::uint32_t>(loop.carried.size());
      loop.carried.push_back(made);
    }
    for (std::uint32_t place = 0; place < period; ++place)
      for (std::size_t q = 0; q < 3; ++q)
        if (RoundOperand& operand = loop.operands[place][q]; operand.from == RoundOperand::From::carried)
          operand.index = numbers.at({lags[place][q], operand.index});
    return loop;
  }

  // Finds the rule of an operand, and shortens the loop to the rounds that follow it. Of a carried operand, `index` is
  // the place.
  bool classify(Loop& loop, std::uint32_t place, std::size_t q, std::uint32_t& lag) const {
    using From = RoundOperand::From;
    RoundOperand& made = loop.operands[place][q];
    const auto of = [&](std::uint32_t round) { return operands_[loop.first + round * loop.period + place][q]; };
    const Id x = of(0), y = of(1);
    const Class kind = class_of(x);
    const auto keep = [&](const auto& follows) {
      std::uint32_t round = 1;
      while (round < loop.rounds && follows(round)) ++round;
      loop.rounds = round;
    };
    if (kind == Class::nothing) return true;
    if (kind == Class::step) {
      if (x == y) {
        made = {From::same, x, 0};
        keep([&](std::uint32_t round) { return of(round) == x; });
        return at_[x] < loop.first;
      }
      keep([&](std::uint32_t round) {
        return class_of(of(round)) == kind && at_[of(round)] == at_[x] + round * loop.period;
      });
      if (at_[x] >= loop.first) {
        made = {From::inside, at_[x] - loop.first, 0};
        return true;
      }
      lag = (loop.first - at_[x] + loop.period - 1) / loop.period;
      made = {From::carried, at_[x] + lag * loop.period - loop.first, 0};
      return lag <= most_lag;
    }
    const bool is_leaf = scalars_.nodes[x].op == Op::leaf && scalars_.nodes[y].op == Op::leaf;
    const auto step = static_cast<std::int32_t>(y) - static_cast<std::int32_t>(x);
    const auto is_even = [&](std::uint32_t round) {
      return static_cast<std::int64_t>(of(round)) == static_cast<std::int64_t>(x) + std::int64_t{round} * step;
    };
    if (step == 0 || is_leaf) {
      std::uint32_t even = 2;
      while (even < loop.rounds && is_even(even)) ++even;
      if (even == loop.rounds || kind == Class::input) {
        made = {step == 0 ? From::same : From::even, x, step};
        keep([&](std::uint32_t round) { return is_even(round) && class_of(of(round)) == kind; });
        return true;
      }
    }
    if (kind == Class::input) return false;
    made = {From::listed, 0, 0};
    keep([&](std::uint32_t round) { return class_of(of(round)) == kind; });
    return true;
  }

  // Adds the values of the last rounds that nodes after the loop or outputs read. Fails if they read earlier rounds.
  bool add_results(const Loop& loop, std::map<std::pair<std::uint32_t, std::uint32_t>, bool>& carried) const {
    for (std::uint32_t step = loop.first; step < loop.end(); ++step) {
      if (last_user_[step] < loop.end()) continue;
      const std::uint32_t back = (loop.end() - 1 - step) / loop.period;
      if (back >= most_lag) return false;
      carried.try_emplace({back + 1, (step - loop.first) % loop.period}, false);
    }
    return true;
  }

  const Scalars& scalars_;
  std::uint32_t multiple_;
  Rounds found_;
  std::vector<std::uint32_t> at_;            // of each node: its index in steps, or none
  std::vector<std::array<Id, 3>> operands_;  // of each step
  std::vector<std::uint32_t> last_user_;     // of each step: the last step that reads it; none for an output
};

}  // namespace

std::array<Id, 3> ordered_operands(const Scalars& scalars, Id id) {
  const Scalar& node = scalars.nodes[id];
  std::array<Id, 3> operands = node.operands;
  if (node.op != Op::add && node.op != Op::mul) return operands;
  const auto [x, y, z] = operands;
  const int rank_x = rank(scalars, x), rank_y = rank(scalars, y);
  if (rank_y < rank_x || (rank_x == rank_y && key(scalars, y) < key(scalars, x))) std::swap(operands[0], operands[1]);
  return operands;
}

Rounds find_rounds(const Scalars& scalars, std::uint32_t multiple) {
  if (!scalars.tables.empty()) return {};
  return Finder(scalars, multiple).run();
}

}  // namespace gradwalk::compiler
