// SPDX-License-Identifier: MIT
// Makes the record of a walk. Each broken rule is one branch here. The right gradients are computed beside the wrong
// ones.
#include "run.hpp"

#include <algorithm>

#include "engine/by_op.hpp"
#include "gradients.hpp"
#include "text/numbers.hpp"

namespace gradwalk::detail {

WalkRun::WalkRun(const Snapshot& graph, const WalkOptions& options) : graph_(graph), options_(options) {
  for (const Snapshot::Node& node : graph.nodes) {
    data_.push_back(node.data);
    locals_.push_back(node.locals);
  }
  grad_.resize(data_.size());
  ideal_.resize(data_.size());
  right_total_.resize(data_.size());
  record_.outcomes.resize(data_.size());
}

Walk::Record WalkRun::run() {
  check_order();
  std::vector<double> right_data = data_;
  forward_pass();
  backward_pass();
  if (is(WalkRule::twice)) {
    pass_ = 2;
    backward_pass();
  }
  if (is(WalkRule::no_zeroing)) {
    training_step(right_data);
    pass_ = 2;
    forward_pass();
    right_data = data_;
    backward_pass();
    training_step(right_data);
  }
  finish(right_data);
  return std::move(record_);
}

void WalkRun::check_order() const {
  if (options_.order.empty()) return;
  if (options_.rule != WalkRule::right)
    throw Error("walk", "either an order or a broken rule", "both", "leave one of them out");
  std::vector<bool> placed(data_.size());
  for (const std::size_t i : options_.order) {
    if (i >= data_.size())
      throw Error("walk", "an order of nodes", "the number " + std::to_string(i),
                  "there are " + std::to_string(data_.size()) + " nodes, from 0");
    if (node(i).is_constant())
      throw Error("walk", "an order of nodes that take a gradient", "the constant " + name(i),
                  "leave constants out: a backward pass does not visit them");
    if (placed[i]) throw Error("walk", "each node once", "'" + name(i) + "' twice", "visit it once");
    placed[i] = true;
  }
  for (const std::size_t i : nodes_in_order(graph_))
    if (!placed[i]) throw Error("walk", "every node in the order", "none for '" + name(i) + "'", "add it to the order");
}

void WalkRun::forward_pass() {
  for (std::size_t i = 0; i < data_.size(); ++i) {
    const Snapshot::Node& computed = node(i);
    if (!has_operands(computed)) continue;
    grad_[i] = 0;  // in a second pass the node is a new one, without a gradient
    Walk::Step step{Kind::forward, pass_, i, data_[i], data_[i], {}, {}};
    for (const std::size_t operand : computed.operands) step.operands.push_back(data_[operand]);
    if (pass_ > 1) {
      if (computed.op == Op::custom)
        throw Error("walk", "ops with a rule of their own for a training step", "the custom node '" + name(i) + "'",
                    "walk it by another rule");
      step.after = data_[i] = rule_value(computed.op, step.operands);
      for (std::size_t k = 0; k < computed.operands.size(); ++k)
        locals_[i][k] = rule_local(computed.op, k, step.operands, step.after);
    }
    record_.steps.push_back(std::move(step));
  }
}

void WalkRun::begin_pass() {
  Gradients right = gradients_of(graph_, graph_.root(), locals_);
  right_ = std::move(right.values);
  magnitude_ = std::move(right.magnitudes);
  visits_in_pass_.assign(data_.size(), 0);
  for (std::size_t i = 0; i < data_.size(); ++i) {
    const bool accumulates = is(WalkRule::twice) && !has_operands(node(i));
    if (!accumulates) ideal_[i] = right_total_[i] = 0;
    right_total_[i] += right_[i];
  }
}

void WalkRun::backward_pass() {
  begin_pass();
  const std::size_t root = graph_.root();
  record_.steps.push_back({Kind::seed, pass_, root, grad_[root], 1, {}, {}});
  grad_[root] = ideal_[root] = 1;

  std::vector<std::size_t> order = nodes_in_order(graph_);
  if (!is(WalkRule::forward_order)) std::reverse(order.begin(), order.end());
  switch (options_.rule) {
    case WalkRule::recursion: return visit_recursively();
    case WalkRule::no_visited: return visit_without_visited_set();
    default: return visit_in(options_.order.empty() ? order : options_.order);
  }
}

void WalkRun::visit_in(const std::vector<std::size_t>& order) {
  for (const std::size_t i : order) {
    begin_visit(i);
    pay_all(i);
  }
}

void WalkRun::visit_recursively() {
  struct Call {
    std::size_t node;
    std::size_t next;  // the operand to visit next
  };
  std::vector<Call> calls{{graph_.root(), 0}};
  if (!begin_visit(calls.back().node)) return;
  while (!calls.empty()) {
    Call& call = calls.back();
    const std::vector<std::size_t>& operands = node(call.node).operands;
    while (call.next < operands.size() && node(operands[call.next]).is_constant()) ++call.next;
    if (call.next == operands.size()) {
      calls.pop_back();
      continue;
    }
    const std::size_t operand = call.next++;
    const std::size_t from = call.node, to = operands[operand];
    record_.steps.push_back({Kind::deposit, pass_, from, grad_[from], grad_[from], {}, {}});
    record_.steps.back().deposits.push_back(pay(from, operand));
    if (!begin_visit(to)) return;
    calls.push_back({to, 0});
  }
}

// A sort without a visited set lists a node once per path. Its list, reversed, is the order in which this stack visits
// the nodes, so the list itself, which can be too long for any memory, is not made.
void WalkRun::visit_without_visited_set() {
  std::vector<std::size_t> stack{graph_.root()};
  while (!stack.empty()) {
    const std::size_t i = stack.back();
    stack.pop_back();
    if (!begin_visit(i)) return;
    pay_all(i);
    for (const std::size_t operand : node(i).operands)
      if (!node(operand).is_constant()) stack.push_back(operand);
  }
}

bool WalkRun::begin_visit(std::size_t i) {
  if (may_repeat() && record_.visits >= options_.most_visits) {
    record_.is_complete = false;
    return false;
  }
  ++record_.visits;
  Walk::Outcome& outcome = record_.outcomes[i];
  ++outcome.visits;
  if (++visits_in_pass_[i] == 1) outcome.when_visited = grad_[i];
  record_.steps.push_back({Kind::visit, pass_, i, grad_[i], grad_[i], {}, {}});
  check_visit(i);
  return true;
}

void WalkRun::pay_all(std::size_t i) {
  const std::vector<std::size_t>& operands = node(i).operands;
  for (std::size_t k = 0; k < operands.size(); ++k)
    if (!node(operands[k]).is_constant()) record_.steps.back().deposits.push_back(pay(i, k));
}

Walk::Deposit WalkRun::pay(std::size_t from, std::size_t operand) {
  const std::size_t to = node(from).operands[operand];
  const double local = locals_[from][operand], amount = deposit_of(grad_[from], local), before = grad_[to];
  const auto kept = [&](double sum) { return grad_[from] == 0 ? sum : sum + amount; };
  grad_[to] = is(WalkRule::overwrite) ? amount : kept(before);
  ideal_[to] = kept(ideal_[to]);
  const bool visits_once = !options_.order.empty() || is(WalkRule::forward_order);
  const Walk::Deposit deposit{
      from,   to,     operand,   local,
      amount, before, grad_[to], visits_once && has_operands(node(to)) && visits_in_pass_[to] > 0};
  if (deposit.late && amount != 0)
    record_.late.push_back({record_.steps.size() - 1, from, to, amount,
                            name(to) + " was visited before the deposit from " + name(from) +
                                " arrived: " + short_number(amount) + " lost"});
  check_deposit(deposit);
  return deposit;
}

void WalkRun::training_step(std::vector<double>& right_data) {
  for (std::size_t i = 0; i < data_.size(); ++i) {
    if (!node(i).is_leaf()) continue;
    right_data[i] -= options_.rate * right_[i];
    const double before = data_[i];
    data_[i] -= options_.rate * grad_[i];
    record_.steps.push_back({Kind::update, pass_, i, before, data_[i], {}, {}});
  }
}

void WalkRun::finish(const std::vector<double>& right_data) {
  for (std::size_t i = 0; i < data_.size(); ++i) {
    Walk::Outcome& outcome = record_.outcomes[i];
    outcome.gradient = grad_[i];
    outcome.data = data_[i];
    outcome.right_gradient = right_total_[i];
    outcome.right_data = right_data[i];
  }
  record_.visits_needed = may_repeat() ? count_visits(graph_).to_string() : std::to_string(record_.visits);
}

void WalkRun::check_visit(std::size_t i) {
  if (!has_operands(node(i))) return;
  if (visits_in_pass_[i] > 1 && grad_[i] != 0) {
    note_parting(i, grad_[i], right_[i], name(i) + " was visited again: what it had passed on went down once more");
  } else if (differ(grad_[i], right_[i], magnitude_[i])) {
    note_parting(i, grad_[i], right_[i],
                 name(i) + " was visited with " + short_number(grad_[i]) + ", before its full gradient of " +
                     short_number(right_[i]) + " had arrived");
  }
}

void WalkRun::check_deposit(const Walk::Deposit& deposit) {
  const std::size_t to = deposit.to;
  if (!differ(grad_[to], ideal_[to], 0)) return;
  const std::string instead = short_number(grad_[to]) + " instead of " + short_number(ideal_[to]);
  if (is(WalkRule::overwrite)) {
    note_parting(to, grad_[to], ideal_[to],
                 name(to) + " had " + short_number(deposit.before) + ", which the next deposit replaced: " + instead);
  } else {
    note_parting(to, grad_[to], ideal_[to],
                 name(to) + " still had " + short_number(deposit.before) + " from the previous pass: " + instead);
  }
}

void WalkRun::note_parting(std::size_t node, double wrong, double right, std::string reason) {
  if (record_.parting) return;
  record_.parting = Walk::Parting{record_.steps.size() - 1, node, wrong, right, std::move(reason)};
}

}  // namespace gradwalk::detail
