// SPDX-License-Identifier: MIT
// How paths become one graph. Their traces are followed at the same time, from comparison to comparison. Those that
// come to the same point are its members; each one's nodes are related to the nodes of the merged graph on the way.
#include <algorithm>
#include <iterator>
#include <map>

#include "merged.hpp"

namespace gradwalk::paths {
namespace {

constexpr std::size_t most_points = 1000, most_nodes = 30'000;  // of a merged graph
constexpr std::size_t ahead = 32;                               // decisions to look ahead
constexpr std::size_t few_members = 8;                          // that are looked at for what follows
constexpr std::size_t most_depth = 200;                         // of calls of value(), which calls itself for operands

struct CannotMerge {};

bool is_fixed(const Token& token) { return token.kind == Token::Kind::number || token.kind == Token::Kind::parameter; }

// Operands of comparisons at one point. A variable may be a number on some paths.
bool may_be_equal(const std::array<Token, 2>& a, const std::array<Token, 2>& b) {
  std::size_t fixed = 0, same = 0;
  for (std::size_t i = 0; i < 2; ++i) {
    if (is_fixed(a[i]) && is_fixed(b[i]) && a[i] != b[i]) return false;
    fixed += is_fixed(a[i]) || is_fixed(b[i]) ? 1 : 0;
    same += is_fixed(a[i]) && a[i] == b[i] ? 1 : 0;
  }
  return fixed == 0 || same > 0;
}

}  // namespace

class Merger {
 public:
  explicit Merger(std::span<const Trace> traces) {
    for (const Trace& trace : traces) members_.push_back({&trace, std::vector<Id>(trace.nodes.size(), none), {}});
  }

  Merged run();

 private:
  using Id = Merged::Id;
  using Members = std::vector<Id>;
  static constexpr Id none = Merged::none;

  struct Member {
    const Trace* trace;
    std::vector<Id> ids;      // its nodes in the merged graph
    std::vector<Id> arrived;  // by point: the edge by which it came
    std::size_t next = 0;     // decision
  };
  // The properties that comparisons at one point share.
  struct Kind {
    bool is_end = false;
    Op op = Op::leaf;
    std::array<Token, 2> operands{};

    bool fits(const Kind& other) const {
      return is_end == other.is_end && op == other.op && may_be_equal(operands, other.operands);
    }
  };
  // A point that members have reached by some of its edges.
  struct Waiting {
    Kind kind;
    std::vector<Id> edges;
    std::vector<Members> members;  // by edge
  };
  using Related = std::vector<std::pair<Id, Id>>;  // members and nodes

  static Kind kind_of(const Trace& trace, std::size_t decision) {
    if (decision == trace.conditions.size()) return {.is_end = true};
    const Token condition = trace.conditions[decision];
    const Trace::Node& node = trace.nodes[condition.index];
    return {.op = node.op, .operands = {node.operands[0], node.operands[1]}};
  }
  Kind kind_of(Id member) const { return kind_of(*members_[member].trace, members_[member].next); }

  Id add(Merged::Node node);
  Id leaf(const Token& token) { return add({.op = Op::leaf, .leaf = token}); }
  Id known(Id member, const Token& token) {
    if (token.kind != Token::Kind::node) return leaf(token);
    return members_[member].ids[token.index];
  }
  Id choice(Id point, const Related& values);
  Id add_choice(Merged::Node node);
  Id value(Id point, const Members& members, const std::vector<Token>& tokens);

  void route(Id edge, Members members);
  std::size_t distance(const Waiting& from, const Kind& to) const;
  std::size_t next_waiting() const;
  void open(const Waiting& waiting);
  void relate_segments(Id point, const Waiting& waiting, const Members& all);
  std::pair<std::size_t, std::size_t> segment(Id member) const;

  std::size_t depth_ = 0;  // of calls of value()
  std::vector<Member> members_;
  std::vector<Waiting> waiting_;
  Merged made_;
  std::map<std::vector<std::uint64_t>, Id> known_;  // nodes of the merged graph
  std::vector<std::map<Related, Id>> choices_;      // of each point
  std::vector<std::vector<Id>> choices_at_;         // the nodes of these, by point
};

Merger::Id Merger::add(Merged::Node node) {
  std::vector<std::uint64_t> key{static_cast<std::uint64_t>(node.op), static_cast<std::uint64_t>(node.leaf.kind),
                                 node.leaf.index};
  key.insert(key.end(), node.operands.begin(), node.operands.end());
  const auto [at, is_new] = known_.try_emplace(std::move(key), static_cast<Id>(made_.nodes_.size()));
  if (is_new) made_.nodes_.push_back(std::move(node));
  if (made_.nodes_.size() > most_nodes) throw CannotMerge();
  return at->second;
}

// The node that is each member's own one of these. Members that came by one edge have been related at its point.
Merger::Id Merger::choice(Id point, const Related& values) {
  const bool are_equal =
      std::all_of(values.begin(), values.end(), [&](const auto& one) { return one.second == values.front().second; });
  if (are_equal) return values.front().second;
  if (point == 0) throw CannotMerge();  // Numbers that differ before any comparison.
  if (const auto known = choices_[point].find(values); known != choices_[point].end()) return known->second;
  std::map<Id, Related> by_edge;
  for (const auto& one : values) by_edge[members_[one.first].arrived[point]].push_back(one);
  Merged::Node node{.point = point};
  for (const auto& [edge, related] : by_edge) node.choices.emplace_back(edge, choice(edge / 2, related));
  const bool is_one = std::all_of(node.choices.begin(), node.choices.end(),
                                  [&](const auto& one) { return one.second == node.choices.front().second; });
  const Id made = is_one ? node.choices.front().second : add_choice(std::move(node));
  choices_[point].emplace(values, made);
  return made;
}

// Members that go on together need the same choice on fewer edges. One choice is made for all of them.
Merger::Id Merger::add_choice(Merged::Node node) {
  std::vector<Id>& others = choices_at_[node.point];
  for (const Id id : others) {
    std::vector<std::pair<Id, Id>>& known = made_.nodes_[id].choices;
    std::size_t same = 0;
    bool fits = true;
    std::vector<std::pair<Id, Id>> more;
    for (const auto& [edge, value] : node.choices) {
      const auto at = std::find_if(known.begin(), known.end(), [&](const auto& one) { return one.first == edge; });
      if (at == known.end())
        more.emplace_back(edge, value);
      else
        ++same;
      fits = fits && (at == known.end() ? value < id : at->second == value);
    }
    if (!fits || same == 0) continue;
    known.insert(known.end(), more.begin(), more.end());
    return id;
  }
  if (made_.nodes_.size() > most_nodes) throw CannotMerge();
  others.push_back(static_cast<Id>(made_.nodes_.size()));
  made_.nodes_.push_back(std::move(node));
  return others.back();
}

// The node of the merged graph that has each member's value. Nodes that are new to all members, and that apply the same
// operation, become one node.
Merger::Id Merger::value(Id point, const Members& members, const std::vector<Token>& tokens) {
  struct Depth {
    std::size_t& depth;
    explicit Depth(std::size_t& one) : depth(one) {
      if (++depth > most_depth) throw CannotMerge();
    }
    ~Depth() { --depth; }
    Depth(const Depth&) = delete;
    Depth& operator=(const Depth&) = delete;
  } const depth(depth_);
  Related related;
  std::map<Op, std::pair<Members, std::vector<Token>>> unknown;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const Id id = known(members[i], tokens[i]);
    related.emplace_back(members[i], id);
    if (id != none) continue;
    auto& [others, their_tokens] = unknown[members_[members[i]].trace->nodes[tokens[i].index].op];
    others.push_back(members[i]);
    their_tokens.push_back(tokens[i]);
  }
  if (unknown.empty()) return choice(point, related);
  if (unknown.size() > 1 || unknown.begin()->second.first.size() < members.size()) {
    for (const auto& [op, part] : unknown) value(point, part.first, part.second);
    for (std::size_t i = 0; i < members.size(); ++i) related[i].second = known(members[i], tokens[i]);
    return choice(point, related);
  }
  Merged::Node node{.op = unknown.begin()->first};
  for (std::size_t k = 0; k < 3; ++k) {
    std::vector<Token> operands;
    for (std::size_t i = 0; i < members.size(); ++i)
      operands.push_back(members_[members[i]].trace->nodes[tokens[i].index].operands[k]);
    if (operands.front().kind != Token::Kind::nothing) node.operands[k] = value(point, members, operands);
  }
  const Id made = add(std::move(node));
  for (std::size_t i = 0; i < members.size(); ++i) members_[members[i]].ids[tokens[i].index] = made;
  return made;
}

// ---- points ----

// Sends members along an edge. All that are at one point must go on alike. If they do not, some hidden state of the
// function differs; then only the larger part of them goes on.
void Merger::route(Id edge, Members members) {
  while (!members.empty()) {
    const Kind kind = kind_of(members.front());
    const auto is_other = [&](Id member) { return !kind.fits(kind_of(member)); };
    Members rest;
    std::copy_if(members.begin(), members.end(), std::back_inserter(rest), is_other);
    std::erase_if(members, is_other);
    if (rest.size() > members.size()) {
      members = std::move(rest);
      continue;
    }
    const auto place =
        std::find_if(waiting_.begin(), waiting_.end(), [&](const Waiting& waiting) { return waiting.kind.fits(kind); });
    Waiting& waiting = place == waiting_.end() ? waiting_.emplace_back(Waiting{kind, {}, {}}) : *place;
    waiting.edges.push_back(edge);
    waiting.members.push_back(std::move(members));
    return;
  }
}

// The number of decisions after which some members come to a comparison of this kind.
std::size_t Merger::distance(const Waiting& from, const Kind& to) const {
  std::size_t least = 2 * ahead, looked_at = 0;
  for (const Members& members : from.members)
    for (const Id id : members) {
      if (++looked_at > few_members) return least;
      const Member& member = members_[id];
      for (std::size_t k = 1; k <= std::min(ahead, least) && member.next + k <= member.trace->conditions.size(); ++k)
        if (kind_of(*member.trace, member.next + k).fits(to)) least = std::min(least, k);
    }
  return least;
}

// The point from which rows come to another waiting one sooner than from there goes first: so they meet there.
std::size_t Merger::next_waiting() const {
  std::size_t open = 0;
  for (std::size_t i = 0; i < waiting_.size(); ++i) {
    if (waiting_[i].kind.is_end) continue;
    open = i;
    bool is_first = true;
    for (std::size_t j = 0; j < waiting_.size() && is_first; ++j)
      is_first = i == j || waiting_[j].kind.is_end ||
                 distance(waiting_[j], waiting_[i].kind) >= distance(waiting_[i], waiting_[j].kind);
    if (is_first) return i;
  }
  return open;
}

// The nodes that a member has recorded since its last comparison.
std::pair<std::size_t, std::size_t> Merger::segment(Id member) const {
  const Trace& trace = *members_[member].trace;
  const std::size_t k = members_[member].next;
  return {trace.begins[k], k + 1 < trace.begins.size() ? trace.begins[k + 1] : trace.nodes.size()};
}

// Relates what members have computed on their way to a point: the last nodes of all, as far as their operations are the
// same, are computed after the edges have met, and the others on each edge.
void Merger::relate_segments(Id point, const Waiting& waiting, const Members& all) {
  const auto op = [&](Id member, std::size_t i) { return members_[member].trace->nodes[i].op; };
  const auto [first, last] = segment(all.front());
  std::size_t common = last - first;
  for (const Id member : all) {
    const auto [begin, end] = segment(member);
    std::size_t same = 0;
    while (same < std::min(common, end - begin) && op(member, end - 1 - same) == op(all.front(), last - 1 - same))
      ++same;
    common = same;
  }
  const auto relate = [&](const Members& members, auto index) {
    std::vector<Token> tokens;
    for (const Id member : members) tokens.push_back({Token::Kind::node, index(segment(member))});
    value(point, members, tokens);
  };
  for (const Members& members : waiting.members) {
    const auto [begin, end] = segment(members.front());
    std::size_t own = end - begin - common;
    for (const Id member : members) {
      const auto [other, other_end] = segment(member);
      std::size_t same = 0;
      while (same < std::min(own, other_end - other - common) &&
             op(member, other + same) == op(members.front(), begin + same))
        ++same;
      own = same;
    }
    for (std::size_t i = 0; i < own; ++i) relate(members, [&](const auto& nodes) { return nodes.first + i; });
  }
  for (std::size_t i = common; i > 0; --i) relate(all, [&](const auto& nodes) { return nodes.second - i; });
}

void Merger::open(const Waiting& waiting) {
  const auto point = static_cast<Id>(made_.points_.size());
  if (point > most_points) throw CannotMerge();
  made_.points_.push_back({.edges = waiting.edges});
  choices_.emplace_back();
  choices_at_.emplace_back();
  Members all;
  for (std::size_t i = 0; i < waiting.edges.size(); ++i) {
    const Id edge = waiting.edges[i];
    if (edge != none) made_.points_[edge / 2].next[edge % 2] = point;
    for (const Id member : waiting.members[i]) {
      members_[member].arrived.resize(point, none);
      members_[member].arrived.push_back(edge);
      all.push_back(member);
    }
  }
  relate_segments(point, waiting, all);
  std::vector<Token> tokens(all.size());
  if (waiting.kind.is_end) {
    for (std::size_t output = 0; output < members_[all.front()].trace->outputs.size(); ++output) {
      for (std::size_t i = 0; i < all.size(); ++i) tokens[i] = members_[all[i]].trace->outputs[output];
      made_.outputs_.push_back(value(point, all, tokens));
    }
    return;
  }
  for (std::size_t i = 0; i < all.size(); ++i) tokens[i] = members_[all[i]].trace->conditions[members_[all[i]].next];
  const Id condition = value(point, all, tokens);
  made_.points_[point].condition = condition;
  std::array<Members, 2> by_outcome;
  for (const Id id : all) {
    Member& member = members_[id];
    by_outcome[member.trace->outcomes[member.next++] ? 1 : 0].push_back(id);
  }
  for (const Id outcome : {0u, 1u}) route(2 * point + outcome, std::move(by_outcome[outcome]));
}

Merged Merger::run() {
  Members all(members_.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<Id>(i);
  route(none, std::move(all));
  while (!waiting_.empty()) {
    const std::size_t i = next_waiting();
    const Waiting waiting = std::move(waiting_[i]);
    waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(i));
    if (waiting.kind.is_end && !waiting_.empty()) throw CannotMerge();
    open(waiting);
  }
  if (made_.outputs_.empty()) throw CannotMerge();
  return std::move(made_);
}

namespace {

// Constants that the user may change, each with a number of its own: the graph reads them in place of equal numbers.
std::vector<Trace::Held> held_constants(std::span<const Trace> traces) {
  std::vector<Trace::Held> all;
  for (const Trace& trace : traces)
    for (const Trace::Held& held : trace.held) {
      const auto equal =
          std::find_if(all.begin(), all.end(), [&](const Trace::Held& other) { return other.number == held.number; });
      if (equal == all.end())
        all.push_back(held);
      else if (!same_node(held.leaf, equal->leaf))
        throw CannotMerge();
    }
  return all;
}

}  // namespace

std::optional<Merged> Merged::of(std::span<const Trace> traces) {
  try {
    Merged made = Merger(traces).run();
    made.held_ = held_constants(traces);
    const bool is_complete = made.paths() == traces.size();
    if (is_complete && std::all_of(traces.begin(), traces.end(), [&](const Trace& one) { return made.computes(one); }))
      return made;
  } catch (const CannotMerge&) {
  }
  return std::nullopt;
}

}  // namespace gradwalk::paths
