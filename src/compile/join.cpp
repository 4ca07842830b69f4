// SPDX-License-Identifier: MIT
#include "join.hpp"

#include <algorithm>
#include <numeric>

namespace gradwalk::compiler {
namespace {

constexpr std::uint32_t long_sum = 24;  // products; from here on sums of different lengths share a group

bool picks(const Node& node) { return node.kind == Kind::pick || node.kind == Kind::scatter; }
bool is_leaf(Kind kind) { return kind == Kind::seed || kind == Kind::zero || kind == Kind::row_gradient; }

Group::Form form_of(Kind kind) {
  switch (kind) {
    case Kind::pick: return Group::Form::pick;
    case Kind::scatter: return Group::Form::scatter;
    case Kind::sum: return Group::Form::sum;
    case Kind::row_sum: return Group::Form::row_sum;
    case Kind::extreme: return Group::Form::extreme;
    case Kind::local: return Group::Form::local;
    case Kind::share: return Group::Form::shares;
    default: return Group::Form::function;
  }
}

}  // namespace

Joiner::Joiner(const Terms& terms, Groups& groups, std::uint64_t hash_mask)
    : terms_(terms), groups_(groups), hash_mask_(hash_mask), group_of_(terms.nodes.size(), 0) {
  for (std::uint32_t g = 0; g < groups_.groups.size(); ++g)
    if (groups_.groups[g].form == Group::Form::extreme)
      for (const Id id : groups_.groups[g].members) group_of_extreme_[id] = g;
}

// ---- kinds ----

std::uint64_t Joiner::rate_of(Id id) const {
  if (id == none) return 3;
  return terms_.nodes[id].kind == Kind::row_gradient ? 4 : static_cast<std::uint64_t>(terms_.nodes[id].rate);
}

// 1 for a sum of products of two, 2 for a sum of single terms, 0 for a sum of both.
std::uint64_t Joiner::pairs_and_singles(Id id) const {
  bool pairs = true, singles = true;
  for (const Product& product : terms_.products_of(id)) (product.b == none ? pairs : singles) = false;
  return (pairs ? 1 : 0) + (singles ? 2 : 0);
}

// Shares in extremes of one group, with as many operands and gradients of one rate, are computed together. All those
// in one extreme join the same group, one after another.
Joiner::Extreme Joiner::extreme_of(Id share) const {
  const auto operands = terms_.operands_of(share);
  return {group_of_extreme_.at(operands[1]), terms_.nodes[operands[1]].count, rate_of(operands[0])};
}

// The hash of what are_of_one_kind() compares.
std::uint64_t Joiner::key_of(Id id) const {
  const Node& node = terms_.nodes[id];
  std::uint64_t key = mixed(static_cast<std::uint64_t>(node.kind), static_cast<std::uint64_t>(node.rate));
  key = mixed(mixed(key, static_cast<std::uint64_t>(node.op)),
              std::uint64_t{node.by} * 2 + (terms_.is_for_inputs(id) ? 1 : 0));
  if (node.has_products()) {
    const bool is_long = node.count >= long_sum;
    key = mixed(key, is_long ? 0 : node.count);
    // Long sums are of one kind if all their products are: only then can they share a loop over the products.
    if (is_long) return mixed(key, pairs_and_singles(id));
    for (const Product& product : terms_.products_of(id)) key = mixed(key, rate_of(product.a) * 8 + rate_of(product.b));
    return key;
  }
  if (node.kind == Kind::function || node.kind == Kind::local)
    for (const Id operand : terms_.operands_of(id)) key = mixed(key, rate_of(operand));
  if (node.kind == Kind::share) {
    const Extreme extreme = extreme_of(id);
    key = mixed(mixed(mixed(key, extreme.group), extreme.count), extreme.rate_of_gradient);
  }
  if (picks(node)) key = mixed(key, terms_.tables[node.target].size());
  return key;
}

bool Joiner::are_of_one_kind(Id x, Id y) const {
  const Node &p = terms_.nodes[x], &q = terms_.nodes[y];
  if (p.kind != q.kind || p.op != q.op || p.rate != q.rate || p.by != q.by ||
      terms_.is_for_inputs(x) != terms_.is_for_inputs(y))
    return false;
  if (p.kind == Kind::extreme) return true;
  if (p.kind == Kind::share) return extreme_of(x) == extreme_of(y);
  if (picks(p) && terms_.tables[p.target].size() != terms_.tables[q.target].size()) return false;
  if (!p.has_products())
    return std::ranges::equal(terms_.operands_of(x), terms_.operands_of(y),
                              [&](Id a, Id b) { return rate_of(a) == rate_of(b); });
  if (p.count >= long_sum && q.count >= long_sum) return pairs_and_singles(x) == pairs_and_singles(y);
  return std::ranges::equal(terms_.products_of(x), terms_.products_of(y), [&](const Product& a, const Product& b) {
    return rate_of(a.a) == rate_of(b.a) && rate_of(a.b) == rate_of(b.b);
  });
}

std::uint32_t Joiner::kind(Id id) {
  for (std::uint64_t key = key_of(id) & hash_mask_;; ++key) {
    std::uint32_t& known = number_of_key_[key];
    if (known == NumberMap::absent) {
      known = static_cast<std::uint32_t>(kinds_.size());
      kinds_.push_back({id, {}, {}});
    }
    if (are_of_one_kind(kinds_[known].example, id)) return known;
  }
}

void Joiner::add_group(Id id) {
  const Node& node = terms_.nodes[id];
  groups_.groups.push_back(
      {form_of(node.kind), node.op, node.rate, node.count, 1, {}, node.by, terms_.is_for_inputs(id)});
}

// ---- in the order of the nodes ----

void Joiner::join(Id id) {
  std::uint32_t after = 0;
  terms_.each_operand(id, [&](Id operand) { after = std::max(after, group_of_[operand]); });
  std::vector<std::uint32_t>& same = kinds_[kind(id)].groups;
  const auto found = std::upper_bound(same.begin(), same.end(), after);
  if (found != same.end()) {
    group_of_[id] = *found;
  } else {
    put_in(static_cast<std::uint32_t>(groups_.groups.size()), id);
    add_group(id);
    same.push_back(group_of_[id]);
  }
  groups_.groups[group_of_[id] - 1].members.push_back(id);
}

// ---- by levels ----

std::vector<Joiner::Range> Joiner::ranges(Id begin, Id end) {
  std::vector<Range> all(end - begin);
  std::uint32_t last = 0;
  for (Id id = begin; id < end; ++id) {
    Range& one = all[id - begin];
    if (is_leaf(terms_.nodes[id].kind)) continue;
    one.kind = kind(id);
    terms_.each_operand(id, [&](Id operand) {
      if (operand >= begin) one.earliest = std::max(one.earliest, all[operand - begin].earliest);
    });
    last = std::max(last, ++one.earliest);
  }
  for (Id id = end; id-- > begin;) {
    Range& one = all[id - begin];
    one.latest = std::min(one.latest, last);
    terms_.each_operand(id, [&](Id operand) {
      if (operand >= begin) all[operand - begin].latest = std::min(all[operand - begin].latest, one.latest - 1);
    });
  }
  // Counts how many nodes of a kind could be computed at a level at the earliest, and at the latest, of the kinds for
  // which that makes a difference.
  std::vector<bool> has_choice(kinds_.size());
  for (const Range& one : all)
    if (one.kind != none && one.latest > one.earliest) has_choice[one.kind] = true;
  const auto key = [](std::uint32_t kind, std::uint32_t level) { return std::uint64_t{kind} << 32 | level; };
  NumberMap early, late;
  for (const Range& one : all) {
    if (one.kind == none || !has_choice[one.kind]) continue;
    ++early[key(one.kind, one.earliest)];
    ++late[key(one.kind, one.latest)];
  }
  for (Range& one : all)
    one.is_better_late = one.kind != none && one.latest > one.earliest &&
                         late[key(one.kind, one.latest)] > early[key(one.kind, one.earliest)];
  return all;
}

// The first group at this level or above. Most nodes are looked for a little above the one before them.
std::size_t Joiner::Alike::first_from(std::uint32_t level) {
  constexpr std::size_t near = 8;
  if (last < levels.size() && levels[last].level < level)
    for (std::size_t i = last + 1; i <= last + near; ++i)
      if (i >= levels.size() || levels[i].level >= level) return last = i;
  const auto found = std::lower_bound(levels.begin(), levels.end(), level,
                                      [](const At& at, std::uint32_t from) { return at.level < from; });
  return last = static_cast<std::size_t>(found - levels.begin());
}

// Gives each node a group. A node may be computed up to `delay` levels later than would be possible, if that lets it
// join a group that exists.
Joiner::Levels Joiner::assign(Id begin, Id end, const std::vector<Range>& ranges, std::uint32_t delay) {
  constexpr std::size_t few = 4096;  // groups that an insertion may move
  Levels made;
  made.group_of.resize(end - begin, none);
  std::vector<std::uint32_t> level_of(end - begin, 0);
  for (Alike& one : kinds_) one.levels.clear(), one.last = 0;
  for (Id id = begin; id < end; ++id) {
    const Range& range = ranges[id - begin];
    if (range.kind == none) continue;
    std::uint32_t after = 0;
    terms_.each_operand(id, [&](Id operand) {
      if (operand >= begin) after = std::max(after, level_of[operand - begin]);
    });
    // Shares in one extreme stay together, although their users differ.
    const bool is_share = terms_.nodes[id].kind == Kind::share;
    const bool is_late = !is_share && range.is_better_late && range.latest > after;
    const std::uint32_t from = is_late ? range.latest : after + 1,
                        to = is_share ? from : std::max(range.latest, after + delay);
    Alike& same = kinds_[range.kind];
    const std::size_t found = same.first_from(from);
    if (found < same.levels.size() && same.levels[found].level <= to) {
      level_of[id - begin] = same.levels[found].level;
      made.group_of[id - begin] = same.levels[found].group;
      continue;
    }
    level_of[id - begin] = from;
    made.group_of[id - begin] = static_cast<std::uint32_t>(made.groups.size());
    if (same.levels.size() - found <= few)  // else no other node finds it
      same.levels.insert(same.levels.begin() + static_cast<std::ptrdiff_t>(found), {from, made.group_of[id - begin]});
    made.groups.push_back({from, id});
  }
  return made;
}

void Joiner::join_by_levels(Id begin, Id end) {
  const std::vector<Range> all = ranges(begin, end);
  Levels made = assign(begin, end, all, 0);
  // Small groups may be those of a table whose rows are computed one after another, each a few levels after the one
  // before it. Then it is better to wait.
  constexpr std::size_t small = 16;
  constexpr std::uint32_t delay = 32;
  if (made.groups.size() * small > all.size()) {
    Levels other = assign(begin, end, all, delay);
    if (other.groups.size() < made.groups.size()) made = std::move(other);
  }
  std::vector<std::uint32_t> order(made.groups.size()), place(made.groups.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t x, std::uint32_t y) { return made.groups[x].level < made.groups[y].level; });
  for (const std::uint32_t group : order) {
    place[group] = static_cast<std::uint32_t>(groups_.groups.size());
    add_group(made.groups[group].first);
  }
  for (Id id = begin; id < end; ++id)
    if (const std::uint32_t group = made.group_of[id - begin]; group != none)
      groups_.groups[place[group]].members.push_back(id);
}

}  // namespace gradwalk::compiler
