// SPDX-License-Identifier: MIT
#include "merged.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <utility>

namespace gradwalk::paths {
namespace {

Value applied(Op op, const Value& a, const Value& b, const Value& c) {
  switch (op) {
#define GRADWALK_UNARY(name, ...) \
  case Op::name: return name(a);
#define GRADWALK_BINARY(name, ...) \
  case Op::name: return name(a, b);
#define GRADWALK_TERNARY(name, ...) \
  case Op::name: return name(a, b, c);
#include "gradwalk/ops.def"
#undef GRADWALK_UNARY
#undef GRADWALK_BINARY
#undef GRADWALK_TERNARY
    default: return a;
  }
}

}  // namespace

// Additions take about as long as comparisons, functions much longer, and the backward pass about as long as the
// forward pass.
std::size_t work_of(Op op) {
  switch (op) {
    case Op::less:
    case Op::less_equal:
    case Op::equal:
    case Op::not_equal: return 1;
    case Op::add:
    case Op::sub:
    case Op::mul:
    case Op::neg:
    case Op::abs:
    case Op::relu:
    case Op::min:
    case Op::max:
    case Op::select: return 2;
    case Op::div:
    case Op::sqrt: return 6;
    default: return 16;
  }
}

std::size_t Merged::work() const {
  std::size_t work = 0;
  for (const Node& node : nodes_) {
    std::vector<Id> values;
    for (const auto& [edge, value] : node.choices) values.push_back(value);
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
    const std::size_t choices = values.empty() ? 0 : values.size() - 1;
    work += node.op == Op::leaf ? choices * work_of(Op::select) : work_of(node.op);
  }
  return work;
}

// ---- paths ----

// The number of paths, at most a large number; 0 if one of them ends in the middle.
std::size_t Merged::paths() const {
  constexpr std::size_t most = 1 << 20;
  std::vector<std::size_t> from(points_.size(), 1);  // of the paths from each point to the end
  for (Id at = end(); at-- > 0;) {
    const auto [fails, holds] = points_[at].next;
    if (fails == none || holds == none) return 0;
    from[at] = std::min(most, from[fails] + from[holds]);
  }
  return from.front();
}

// The node of a trace that is equal to each node, or a token of kind nothing. `arrived` are the edges of the path.
std::vector<Token> Merged::nodes_on(const Trace& trace, const std::vector<Id>& arrived) const {
  std::vector<Token> made(nodes_.size());
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const Node& node = nodes_[i];
    if (!node.choices.empty()) {
      const auto chosen = std::find_if(node.choices.begin(), node.choices.end(),
                                       [&](const auto& one) { return one.first == arrived[node.point]; });
      if (chosen != node.choices.end()) made[i] = made[chosen->second];
    } else if (node.op == Op::leaf) {
      made[i] = node.leaf;
    } else {
      std::array<Token, 3> operands;
      bool exist = true;
      for (std::size_t k = 0; k < 3; ++k) {
        if (node.operands[k] == none) continue;
        operands[k] = made[node.operands[k]];
        exist = exist && operands[k].kind != Token::Kind::nothing;
      }
      if (exist) made[i] = trace.find(node.op, operands);
    }
  }
  return made;
}

// Whether the merged graph computes on the path of a trace what the function recorded there.
bool Merged::computes(const Trace& trace) const {
  constexpr Id not_there = none - 1;
  std::vector<Id> arrived(points_.size(), not_there), path;
  arrived[0] = none;
  for (Id at = 0; at != end();) {
    if (path.size() == trace.outcomes.size()) return false;
    const Id edge = 2 * at + (trace.outcomes[path.size()] ? 1 : 0), next = points_[at].next[edge % 2];
    if (next == none) return false;
    path.push_back(at);
    arrived[next] = edge;
    at = next;
  }
  if (path.size() != trace.outcomes.size() || trace.outputs.size() != outputs_.size()) return false;
  const std::vector<Token> nodes = nodes_on(trace, arrived);
  for (std::size_t i = 0; i < path.size(); ++i)
    if (nodes[points_[path[i]].condition] != trace.conditions[i]) return false;
  for (std::size_t i = 0; i < outputs_.size(); ++i)
    if (nodes[outputs_[i]] != trace.outputs[i]) return false;
  return true;
}

// ---- recording ----

// Whether a row has come to a point or by an edge is a number: 1 or 0.
class Merged::Recorder {
 public:
  Recorder(const Merged& merged, std::span<const Value> inputs, std::span<const Value> parameters)
      : merged_(merged), inputs_(inputs), parameters_(parameters) {
    for (const Node& node : merged.nodes_) made_.push_back(value_of(node));
  }

  Value output(std::size_t i) const { return made_[merged_.outputs_[i]]; }

 private:
  using Edges = std::vector<Id>;

  Value value_of(const Node& node) {
    if (!node.choices.empty()) return chosen(node);
    const auto at = [&](std::size_t k) -> const Value& {
      return made_[node.operands[k] == none ? 0 : node.operands[k]];
    };
    if (node.op != Op::leaf) return applied(node.op, at(0), at(1), at(2));
    if (node.leaf.kind == Token::Kind::input) return inputs_[node.leaf.index];
    if (node.leaf.kind == Token::Kind::parameter) return parameters_[node.leaf.index];
    for (const Trace::Held& held : merged_.held_)
      if (held.number == node.leaf.index) return held.leaf;
    return std::bit_cast<double>(node.leaf.index);
  }

  // Rows that come by both edges of a point are those that come to it.
  Edges simplified(Edges edges) const {
    std::sort(edges.begin(), edges.end());
    for (std::size_t i = edges.size(); i-- > 1;) {
      if (i >= edges.size() || edges[i] == none || edges[i] % 2 == 0 || edges[i - 1] != edges[i] - 1) continue;
      const Edges& before = merged_.points_[edges[i] / 2].edges;
      edges.erase(edges.begin() + static_cast<std::ptrdiff_t>(i - 1),
                  edges.begin() + static_cast<std::ptrdiff_t>(i + 1));
      edges.insert(edges.end(), before.begin(), before.end());
      std::sort(edges.begin(), edges.end());
      i = edges.size();
    }
    return edges;
  }
  static bool is_always(const Edges& edges) { return edges.size() == 1 && edges.front() == none; }

  // Nothing if all rows come by these edges.
  std::optional<Value> by_any(const Edges& edges) {
    if (is_always(edges)) return std::nullopt;
    Value sum = by_edge(edges.front());
    for (std::size_t i = 1; i < edges.size(); ++i) sum = sum + by_edge(edges[i]);
    return sum;
  }
  Value by_edge(Id edge) {
    if (const auto known = by_edge_.find(edge); known != by_edge_.end()) return known->second;
    const Id point = edge / 2;
    const Value& holds = made_[merged_.points_[point].condition];
    const std::optional<Value> comes = by_any(simplified(merged_.points_[point].edges));
    Value made = edge % 2 == 1 ? (comes ? *comes * holds : holds) : (comes ? *comes - by_edge(edge + 1) : 1.0 - holds);
    return by_edge_.emplace(edge, std::move(made)).first->second;
  }

  // The value that most edges have is chosen for the rows that come by none of the others.
  Value chosen(const Node& node) {
    std::map<Id, Edges> by_value;
    for (const auto& [edge, value] : node.choices) by_value[value].push_back(edge);
    const auto most = std::max_element(by_value.begin(), by_value.end(),
                                       [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
    Value made = made_[most->first];
    for (const auto& [value, edges] : by_value) {
      if (value == most->first) continue;
      const Edges own = simplified(edges), others = simplified(most->second);
      const bool part = by_value.size() == 2 && own.size() == 1 && others.size() == 1 && own[0] / 2 == others[0] / 2;
      if (part) {
        const Value& holds = made_[merged_.points_[own[0] / 2].condition];
        return own[0] % 2 == 1 ? select(holds, made_[value], made) : select(holds, made, made_[value]);
      }
      made = select(*by_any(own), made_[value], made);
    }
    return made;
  }

  const Merged& merged_;
  std::span<const Value> inputs_, parameters_;
  std::vector<Value> made_;
  std::map<Id, Value> by_edge_;
};

std::vector<Value> Merged::record(std::span<const Value> inputs, std::span<const Value> parameters) const {
  const Recorder recorder(*this, inputs, parameters);
  std::vector<Value> made;
  for (std::size_t i = 0; i < outputs_.size(); ++i) made.push_back(recorder.output(i));
  return made;
}

}  // namespace gradwalk::paths
