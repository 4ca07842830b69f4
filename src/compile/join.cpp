// SPDX-License-Identifier: MIT
#include "join.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "gradwalk/error.hpp"

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
    case Kind::function: return Group::Form::function;
    case Kind::transposed: return Group::Form::layer;
    case Kind::parameter:
    case Kind::input:
    case Kind::constant:
    case Kind::seed:
    case Kind::zero:
    case Kind::row_gradient: break;
  }
  throw Error("compile, in lift", "nodes that are computed", "a leaf in a group",
              "report this: it is a mistake of gradwalk's");
}

// Counts nodes by kind and level. Nodes that follow each other often have the level of the last one of their kind.
class Counts {
 public:
  explicit Counts(std::size_t kinds) : last_(kinds) {}

  std::uint32_t add(std::uint32_t kind, std::uint32_t level) {
    Last& last = last_[kind];
    if (last.level != level) {
      std::uint32_t& place = places_[std::uint64_t{kind} << 32 | level];
      if (place == NumberMap::absent) {
        place = static_cast<std::uint32_t>(counts_.size());
        counts_.push_back(0);
      }
      last = {level, place};
    }
    ++counts_[last.place];
    return last.place;
  }
  std::uint32_t operator[](std::uint32_t place) const { return counts_[place]; }

 private:
  struct Last {
    std::uint32_t level = none, place = 0;
  };
  std::vector<Last> last_;
  NumberMap places_;
  std::vector<std::uint32_t> counts_;
};

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

// What are_of_one_kind() compares, for nodes with few operands. Its highest bit tells it from hashes.
std::uint64_t Joiner::exact_key_of(Id id) const {
  constexpr std::uint32_t most = 12;  // operands
  const Node& node = terms_.nodes[id];
  const bool has_products = node.has_products();
  if (node.count > (has_products ? most / 2 : most)) return 0;
  if (!has_products && node.kind != Kind::function && node.kind != Kind::local) return 0;
  std::uint64_t key = 1;
  const auto add = [&](std::uint64_t number, unsigned bits) { key = key << bits | number; };
  static_assert(static_cast<unsigned>(Kind::transposed) < 16, "the last kind needs more bits of the key");
  add(static_cast<std::uint64_t>(node.kind), 4);
  add(static_cast<std::uint64_t>(node.op), 8);
  add(static_cast<std::uint64_t>(node.rate), 2);
  add(node.by, 2);
  add(terms_.is_for_inputs(id) ? 1 : 0, 1);
  add(node.count, 4);
  if (has_products)
    for (const Product& product : terms_.products_of(id)) add(rate_of(product.a) * 8 + rate_of(product.b), 6);
  else
    for (const Id operand : terms_.operands_of(id)) add(rate_of(operand), 3);
  return key << std::countl_zero(key);
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
  constexpr std::uint64_t highest_bit = std::uint64_t{1} << 63;
  const std::uint64_t exact = exact_key_of(id);
  for (std::uint64_t key = exact != 0 ? exact : (key_of(id) & hash_mask_) & ~highest_bit;; ++key) {
    std::uint32_t& known = number_of_key_[key];
    if (known == NumberMap::absent) {
      known = static_cast<std::uint32_t>(kinds_.size());
      kinds_.push_back({id, {}, {}});
    }
    if (exact != 0 || are_of_one_kind(kinds_[known].example, id)) return known;
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

Joiner::Ranges Joiner::ranges(Id begin, Id end) {
  const std::size_t count = end - begin;
  Ranges all{List<std::uint32_t>(count, none), List<std::uint32_t>(count), {}, {}};
  std::uint32_t last = 0;
  for (Id id = begin; id < end; ++id) {
    if (is_leaf(terms_.nodes[id].kind)) continue;
    all.kind[id - begin] = kind(id);
    std::uint32_t after = 0;
    terms_.each_operand(id, [&](Id operand) {
      if (operand >= begin) after = std::max(after, all.earliest[operand - begin]);
    });
    all.earliest[id - begin] = after + 1;
    last = std::max(last, after + 1);
  }
  all.latest.assign(count, last);
  for (Id id = end; id-- > begin;) {
    const std::uint32_t before = all.latest[id - begin] - 1;
    terms_.each_operand(id, [&](Id operand) {
      if (operand >= begin) all.latest[operand - begin] = std::min(all.latest[operand - begin], before);
    });
  }
  // How many nodes of a kind could be computed at a level at the earliest, and at the latest, of the kinds for which
  // that makes a difference.
  std::vector<bool> has_choice(kinds_.size());
  const auto can_wait = [&](std::size_t i) { return all.kind[i] != none && all.latest[i] > all.earliest[i]; };
  for (std::size_t i = 0; i < count; ++i)
    if (can_wait(i)) has_choice[all.kind[i]] = true;
  Counts early(kinds_.size()), late(kinds_.size());
  struct Counted {
    std::uint32_t early, late;
  };
  std::vector<Counted> counted(count);
  for (std::size_t i = 0; i < count; ++i)
    if (all.kind[i] != none && has_choice[all.kind[i]])
      counted[i] = {early.add(all.kind[i], all.earliest[i]), late.add(all.kind[i], all.latest[i])};
  all.is_better_late.resize(count);
  for (std::size_t i = 0; i < count; ++i)
    all.is_better_late[i] = can_wait(i) && late[counted[i].late] > early[counted[i].early];
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
Joiner::Levels Joiner::assign(Id begin, Id end, const Ranges& ranges, std::uint32_t delay) {
  constexpr std::size_t few = 4096;  // groups that an insertion may move
  Levels made;
  made.group_of.resize(end - begin, none);
  List<std::uint32_t> level_of(end - begin, 0);
  for (Alike& one : kinds_) one.levels.clear(), one.last = 0;
  for (Id id = begin; id < end; ++id) {
    const std::size_t i = id - begin;
    if (ranges.kind[i] == none) continue;
    std::uint32_t after = 0;
    terms_.each_operand(id, [&](Id operand) {
      if (operand >= begin) after = std::max(after, level_of[operand - begin]);
    });
    // Shares in one extreme stay together, although their users differ.
    const bool is_share = terms_.nodes[id].kind == Kind::share;
    const bool is_late = !is_share && ranges.is_better_late[i] && ranges.latest[i] > after;
    const std::uint32_t from = is_late ? ranges.latest[i] : after + 1,
                        to = is_share ? from : std::max(ranges.latest[i], after + delay);
    Alike& same = kinds_[ranges.kind[i]];
    const std::size_t found = same.first_from(from);
    if (found < same.levels.size() && same.levels[found].level <= to) {
      level_of[i] = same.levels[found].level;
      made.group_of[i] = same.levels[found].group;
      continue;
    }
    level_of[i] = from;
    made.group_of[i] = static_cast<std::uint32_t>(made.groups.size());
    if (same.levels.size() - found <= few)  // else no other node finds it
      same.levels.insert(same.levels.begin() + static_cast<std::ptrdiff_t>(found), {from, made.group_of[i]});
    made.groups.push_back({from, id});
  }
  return made;
}

void Joiner::join_by_levels(Id begin, Id end) {
  const Ranges all = ranges(begin, end);
  Levels made = assign(begin, end, all, 0);
  // Small groups may be those of a table whose rows are computed one after another, each a few levels after the one
  // before it. Then it is better to wait.
  constexpr std::size_t small = 16;
  constexpr std::uint32_t delay = 32;
  if (made.groups.size() * small > end - begin) {
    Levels other = assign(begin, end, all, delay);
    if (other.groups.size() < made.groups.size()) made = std::move(other);
  }
  std::vector<std::uint32_t> order(made.groups.size()), place(made.groups.size());
  std::iota(order.begin(), order.end(), 0U);
  const auto comes_before = [&](std::uint32_t x, std::uint32_t y) {
    return std::pair(made.groups[x].level, x) < std::pair(made.groups[y].level, y);
  };
  std::sort(order.begin(), order.end(), comes_before);
  for (const std::uint32_t group : order) {
    place[group] = static_cast<std::uint32_t>(groups_.groups.size());
    add_group(made.groups[group].first);
  }
  for (Id id = begin; id < end; ++id)
    if (const std::uint32_t group = made.group_of[id - begin]; group != none)
      groups_.groups[place[group]].members.push_back(id);
}

}  // namespace gradwalk::compiler
