// SPDX-License-Identifier: MIT
#include "recording.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <unordered_map>

#include "compile/left.hpp"
#include "gradwalk/error.hpp"
#include "gradwalk/reading.hpp"
#include "text/numbers.hpp"
#include "trace.hpp"

namespace gradwalk::paths {
namespace {

struct Signed {
  Op op;
  std::array<Token, 3> operands;

  bool operator==(const Signed&) const = default;
};
// A graph without the data of its inputs and parameters, and without its addresses.
struct Signature {
  std::vector<Signed> nodes;
  std::vector<Token> roots;
};

Signature signature_of(const Recording& recording, std::span<const Value> parameters) {
  std::vector<Value> roots = recording.outputs;
  for (const Condition& condition : recording.decided) roots.emplace_back(condition);
  const Reading reading(roots, "Function");
  const Listing listing = reading.list();
  const std::vector<Token> leaves = leaf_tokens(reading, listing, recording, parameters);
  // Nodes are numbered from the roots on, operands first: the order of the listing depends on memory.
  std::vector<std::uint32_t> order, numbers(listing.nodes.size(), Listing::none),
      open(listing.roots.rbegin(), listing.roots.rend());
  std::unordered_map<std::uint32_t, std::span<const std::uint32_t>> choices;  // of picks
  for (std::uint32_t i = 0; choices.size() < listing.picks.size(); ++i)
    if (listing.nodes[i].op == Op::pick) choices.emplace(i, listing.tables[listing.picks[choices.size()]]);
  const auto is_open = [&](std::uint32_t i) {
    return i != Listing::none && (i & Listing::number) == 0 && i >= listing.leaves && numbers[i] == Listing::none;
  };
  while (!open.empty()) {
    const std::uint32_t i = open.back();
    const std::size_t before = open.size();
    if (is_open(i)) {
      if (listing.nodes[i].op == Op::pick)
        for (const std::uint32_t value : choices.at(i))
          if (is_open(value)) open.push_back(value);
      for (std::size_t o = 3; o-- > 0;)
        if (is_open(listing.nodes[i].operands[o])) open.push_back(listing.nodes[i].operands[o]);
    }
    if (open.size() > before) continue;
    open.pop_back();
    if (!is_open(i)) continue;
    numbers[i] = static_cast<std::uint32_t>(order.size());
    order.push_back(i);
  }
  const auto token = [&](std::uint32_t operand) -> Token {
    if (operand == Listing::none) return {};
    if ((operand & Listing::number) != 0)
      return {Token::Kind::number, std::bit_cast<std::uint64_t>(listing.numbers[operand - Listing::number])};
    if (operand < listing.leaves) return leaves[operand];
    return {Token::Kind::node, numbers[operand]};
  };
  Signature made;
  for (const std::uint32_t i : order) {
    const Listing::Node& node = listing.nodes[i];
    made.nodes.push_back({node.op, {token(node.operands[0]), token(node.operands[1]), token(node.operands[2])}});
    if (node.op != Op::pick) continue;
    for (const std::uint32_t value : choices.at(i)) made.nodes.push_back({node.op, {token(value), {}, {}}});
  }
  for (const std::uint32_t root : listing.roots) made.roots.push_back(token(root));
  return made;
}

std::string text_of(const Signed& node) {
  for (const Token& operand : node.operands)
    if (operand.kind == Token::Kind::number)
      return std::string(name(node.op)) + " with the number " +
             detail::format_number(std::bit_cast<double>(operand.index));
  return std::string(name(node.op));
}

std::string operand_text(const Value& operand, std::span<const Value> inputs, std::span<const Value> parameters) {
  if (!operand.label().empty()) return operand.label();
  const auto find = [&](std::span<const Value> leaves) {
    return std::find_if(leaves.begin(), leaves.end(), [&](const Value& leaf) { return same_node(leaf, operand); }) -
           leaves.begin();
  };
  if (const auto i = find(inputs); i < std::ssize(inputs)) return "input " + std::to_string(i);
  if (const auto i = find(parameters); i < std::ssize(parameters)) return "parameter " + std::to_string(i);
  if (operand.op() == Op::leaf || operand.op() == Op::constant) return detail::format_number(operand.data());
  return "a result of " + std::string(name(operand.op()));
}

}  // namespace

bool is_recording() { return stop(Value(0.0)).op() != Op::leaf; }

Recording record(const RowOutputs& function, std::span<const double> row, std::span<const Value> parameters) {
  Recording made;
  made.inputs.assign(row.begin(), row.end());
  // As nodes, not as numbers in their Values: a number that is cast is reported with its node.
  for (const Value& leaf : made.inputs) leaf.id();
  for (const Value& leaf : parameters) leaf.id();
  std::vector<Value> left;
  {
    const WatchRecording watch(
        [&](const Condition& condition) {
          made.decided.push_back(condition);
          made.compared.emplace_back(condition);
        },
        [&](const Value& value) { left.push_back(value); });
    made.outputs = function(made.inputs);
  }
  // A comparison under a NoGrad of the function was not recorded.
  for (std::size_t i = 0; i < made.compared.size(); ++i)
    if (made.compared[i].op() == Op::leaf) made.compared[i] = made.decided[i];
  compiler::refuse_left("Function", left, made.inputs, parameters,
                        "write stop(x) in place of x.detach(), and branch on Values, as in if (x < 1), not on numbers");
  return made;
}

std::vector<bool> Recording::outcomes() const {
  std::vector<bool> found;
  for (const Condition& condition : decided) found.push_back(condition.holds());
  return found;
}

std::optional<std::string> difference(const Recording& first, const Recording& second,
                                      std::span<const Value> parameters) {
  const std::vector<bool> outcomes = second.outcomes(), others = first.outcomes();
  if (outcomes != others) {
    const auto at = static_cast<std::size_t>(
        std::mismatch(outcomes.begin(), outcomes.end(), others.begin(), others.end()).first - outcomes.begin());
    const std::string number = "comparison " + std::to_string(at + 1);
    if (at == outcomes.size()) return "no " + number + ", which the other call has";
    return number + " (" + to_text(second.decided[at], second.inputs, parameters) + ")" +
           (at == others.size() ? ", which the other call does not have" : " with another outcome");
  }
  const Signature a = signature_of(first, parameters), b = signature_of(second, parameters);
  const std::size_t count = std::min(a.nodes.size(), b.nodes.size());
  for (std::size_t i = 0; i < count; ++i)
    if (a.nodes[i] != b.nodes[i]) return text_of(b.nodes[i]) + " where the other call has " + text_of(a.nodes[i]);
  if (a.nodes.size() != b.nodes.size())
    return detail::counted(b.nodes.size(), "operation", "operations") + " where the other call has " +
           std::to_string(a.nodes.size());
  if (a.roots != b.roots) return std::string("another output");
  return std::nullopt;
}

std::string to_text(const Condition& condition, std::span<const Value> inputs, std::span<const Value> parameters) {
  const Value node(condition);
  const std::vector<Value> operands = node.inputs();
  if (operands.size() != 2) return "a comparison of numbers";
  return operand_text(operands[0], inputs, parameters) + " " + std::string(symbol(node.op())) + " " +
         operand_text(operands[1], inputs, parameters);
}

}  // namespace gradwalk::paths
