// SPDX-License-Identifier: MIT
// WalkRun makes the record of one walk over a graph, by the right rule or a broken one.
#pragma once

#include "gradwalk/walk.hpp"

namespace gradwalk::detail {

class WalkRun {
 public:
  // The graph and the options must outlive the WalkRun.
  WalkRun(const Snapshot& graph, const WalkOptions& options);
  Walk::Record run();

 private:
  using Kind = Walk::Step::Kind;
  const Snapshot::Node& node(std::size_t i) const { return graph_.nodes[i]; }
  const std::string& name(std::size_t i) const { return node(i).name; }
  bool is(WalkRule rule) const { return options_.rule == rule; }
  // Returns true if the rule may visit a node several times in one pass.
  bool may_repeat() const { return is(WalkRule::recursion) || is(WalkRule::no_visited); }

  void check_order() const;
  void forward_pass();
  void backward_pass();
  void training_step(std::vector<double>& right_data);
  void visit_in(const std::vector<std::size_t>& order);
  void visit_recursively();
  void visit_without_visited_set();
  bool begin_visit(std::size_t i);  // returns false if most_visits is reached
  void pay_all(std::size_t i);      // makes the deposits of a node
  Walk::Deposit pay(std::size_t from, std::size_t operand);
  void begin_pass();
  void finish(const std::vector<double>& right_data);

  void check_visit(std::size_t i);
  void check_deposit(const Walk::Deposit& deposit);
  // Records where wrong and right gradients differ, unless an earlier place is known.
  void note_parting(std::size_t node, double wrong, double right, std::string reason);

  const Snapshot& graph_;
  const WalkOptions& options_;
  Walk::Record record_;
  int pass_ = 1;
  std::vector<double> data_, grad_;
  std::vector<std::vector<double>> locals_;
  std::vector<double> ideal_;              // the gradients if every deposit so far had been added correctly
  std::vector<double> right_, magnitude_;  // the gradients of a right pass over the same data, and their magnitudes
  std::vector<double> right_total_;        // the right gradients at the end, added up over passes where that is right
  std::vector<std::size_t> visits_in_pass_;
};

}  // namespace gradwalk::detail
