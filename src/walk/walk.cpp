// SPDX-License-Identifier: MIT
// Walk: the names of the rules, moving over the record, and the worth of lost deposits.
#include "gradwalk/walk.hpp"

#include <algorithm>
#include <array>

#include "gradients.hpp"
#include "run.hpp"

namespace gradwalk {

using namespace detail;

namespace {

constexpr std::array rule_table{
    WalkRuleInfo{"right", "visits the nodes in reverse topological order and adds every deposit"},
    WalkRuleInfo{"overwrite", "replaces the gradient with each deposit (= instead of +=)"},
    WalkRuleInfo{"recursion", "visits each operand as soon as it has a deposit, without sorting"},
    WalkRuleInfo{"no-visited", "sorts without a visited set, so shared nodes are listed once per path"},
    WalkRuleInfo{"forward", "visits the nodes in forward order, operands first"},
    WalkRuleInfo{"twice", "runs backward twice and zeroes nothing in between, as in micrograd"},
    WalkRuleInfo{"no-zeroing", "takes two training steps without zeroing the gradients in between"},
};

}  // namespace

const WalkRuleInfo& info(WalkRule rule) { return rule_table[static_cast<std::size_t>(rule)]; }

WalkRule walk_rule(std::string_view name) {
  std::string names;
  for (std::size_t i = 0; i < rule_table.size(); ++i) {
    if (rule_table[i].name == name) return static_cast<WalkRule>(i);
    names += (i == 0 ? "" : ", ") + std::string(rule_table[i].name);
  }
  throw Error("walk", "a rule of " + names, "'" + std::string(name) + "'", "choose one of them");
}

Walk::Walk(const Value& root, WalkOptions options) : Walk(snapshot(root), std::move(options)) {}

Walk::Walk(Snapshot graph, WalkOptions options) : graph_(std::move(graph)), options_(std::move(options)) {
  if (graph_.nodes.empty()) throw Error("walk", "a graph with a root", "no node", "take a snapshot of a Value");
  if (graph_.nodes.size() > largest_walk)
    throw Error("walk", "a graph of at most " + std::to_string(largest_walk) + " nodes",
                std::to_string(graph_.nodes.size()), "look at a part of it");
  record_ = WalkRun(graph_, options_).run();
  go_to(0);
}

std::vector<std::pair<std::size_t, double>> Walk::worth(const Late& late) const {
  const std::vector<double> derivatives = gradients_of(graph_, late.to).values;
  std::vector<std::pair<std::size_t, double>> result;
  for (std::size_t i = 0; i < graph_.nodes.size(); ++i)
    if (graph_.nodes[i].is_leaf() && derivatives[i] != 0) result.emplace_back(i, late.amount * derivatives[i]);
  return result;
}

bool Walk::forward() {
  if (position_ == steps().size()) return false;
  const Step& step = steps()[position_++];
  State& node = state_[step.node];
  switch (step.kind) {
    case Step::Kind::forward: node = {true, step.after, 0, node.visits}; break;
    case Step::Kind::seed: node.grad = step.after; break;
    case Step::Kind::update: node.data = step.after; break;
    case Step::Kind::visit: ++node.visits; break;
    case Step::Kind::deposit: break;
  }
  for (const Deposit& deposit : step.deposits) state_[deposit.to].grad = deposit.after;
  return true;
}

bool Walk::back() {
  if (position_ == 0) return false;
  go_to(position_ - 1);
  return true;
}

void Walk::go_to(std::size_t position) {
  if (position < position_ || state_.empty()) {
    position_ = 0;
    state_.clear();
    for (const Snapshot::Node& node : graph_.nodes) {
      const bool has_data = node.operands.empty();
      state_.push_back({has_data, has_data ? node.data : 0, 0, 0});
    }
  }
  while (position_ < position && forward()) continue;
}

}  // namespace gradwalk
