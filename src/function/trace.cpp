// SPDX-License-Identifier: MIT
#include "trace.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace gradwalk::paths {

std::vector<Token> leaf_tokens(const Reading& reading, const Listing& listing, const Recording& recording,
                               std::span<const Value> parameters) {
  std::vector<Token> leaves(listing.leaves);
  for (std::size_t i = 0; i < listing.leaves; ++i)
    leaves[i] = {Token::Kind::number, std::bit_cast<std::uint64_t>(reading.data(i))};
  for (std::size_t i = 0; i < recording.inputs.size(); ++i)
    if (const auto found = reading.find(recording.inputs[i])) leaves[*found] = {Token::Kind::input, i};
  for (std::size_t i = 0; i < parameters.size(); ++i)
    if (const auto found = reading.find(parameters[i])) leaves[*found] = {Token::Kind::parameter, i};
  return leaves;
}

std::size_t Trace::Hash::operator()(const Key& key) const {
  std::uint64_t hash = static_cast<std::uint64_t>(key.op);
  for (const Token& token : key.operands) {
    hash = (hash ^ token.index ^ static_cast<std::uint64_t>(token.kind) << 56) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 29;
  }
  return hash;
}

Token Trace::add(Op op, const std::array<Token, 3>& operands) {
  const auto [at, is_new] = known_.try_emplace({op, operands}, static_cast<std::uint32_t>(nodes.size()));
  if (is_new) nodes.push_back({op, operands});
  return {Token::Kind::node, at->second};
}

Token Trace::find(Op op, const std::array<Token, 3>& operands) const {
  const auto at = known_.find({op, operands});
  return at == known_.end() ? Token() : Token{Token::Kind::node, at->second};
}

std::optional<Trace> Trace::of(Recording recording, std::span<const Value> parameters) {
  const std::vector<bool> outcomes = recording.outcomes();
  recording.decided.clear();  // They hold their operands.
  std::vector<Value> roots = recording.outputs;
  roots.insert(roots.end(), recording.compared.begin(), recording.compared.end());
  const Reading reading(roots, "Function");
  const Listing listing = reading.list();
  Trace made;
  std::vector<Token> places = leaf_tokens(reading, listing, recording, parameters);
  for (std::size_t i = 0; i < listing.leaves; ++i) {
    if (places[i].kind != Token::Kind::number || !reading.is_held(i)) continue;
    Value leaf = reading.node(i);
    const bool is_output = std::any_of(recording.outputs.begin(), recording.outputs.end(),
                                       [&](const Value& output) { return same_node(output, leaf); });
    if (!is_output) made.held.push_back({std::move(leaf), places[i].index});
  }
  const std::size_t outputs = recording.outputs.size();
  std::vector<bool> is_condition(listing.nodes.size());
  for (std::size_t i = outputs; i < listing.roots.size(); ++i) is_condition[listing.roots[i]] = true;
  places.resize(listing.nodes.size());
  const auto token = [&](std::uint32_t operand) -> Token {
    if (operand == Listing::none) return {};
    if ((operand & Listing::number) != 0)
      return {Token::Kind::number, std::bit_cast<std::uint64_t>(listing.numbers[operand - Listing::number])};
    return places[operand];
  };
  std::vector<Token> decided;
  const auto is_decided = [&](const Token& condition) {
    return std::find(decided.begin(), decided.end(), condition) != decided.end();
  };
  made.begins.push_back(0);
  for (std::size_t i = listing.leaves; i < listing.nodes.size(); ++i) {
    const Listing::Node& node = listing.nodes[i];
    if (node.op == Op::pick || node.op == Op::custom) return std::nullopt;
    places[i] = made.add(node.op, {token(node.operands[0]), token(node.operands[1]), token(node.operands[2])});
    if (!is_condition[i] || is_decided(places[i])) continue;
    decided.push_back(places[i]);
    made.begins.push_back(made.nodes.size());
  }
  const std::vector<Token> recorded = std::exchange(decided, {});
  for (std::size_t i = 0; i < listing.roots.size(); ++i) {
    const Token root = token(listing.roots[i]);
    if (i < outputs) {
      made.outputs.push_back(root);
    } else if (!is_decided(root)) {
      decided.push_back(root);
      made.conditions.push_back(root);
      made.outcomes.push_back(outcomes[i - outputs]);
    }
  }
  if (decided != recorded) return std::nullopt;
  return made;
}

}  // namespace gradwalk::paths
