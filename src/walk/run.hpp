// SPDX-License-Identifier: MIT
// Making the record: one walk over a graph by a rule, right or broken.
#pragma once

#include "gradwalk/walk.hpp"

namespace gradwalk::detail {

class WalkRun {
 public:
  WalkRun(const Snapshot& graph, const WalkOptions& options);  // which must outlive it
  Walk::Record run();

 private:
  using Kind = Walk::Step::Kind;
  const Snapshot::Node& node(std::size_t i) const { return graph_.nodes[i]; }
  const std::string& name(std::size_t i) const { return node(i).name; }
  bool is(WalkRule rule) const { return options_.rule == rule; }
  bool may_repeat() const { return is(WalkRule::recursion) || is(WalkRule::no_visited); }  // visits

  void check_order() const;
  void forward_pass();
  void backward_pass();
  void training_step(std::vector<double>& right_data);
  void visit_in(const std::vector<std::size_t>& order);
  void visit_recursively();
  void visit_without_visited_set();
  bool begin_visit(std::size_t i);  // false when there have been enough
  void pay_all(std::size_t i);
  Walk::Deposit pay(std::size_t from, std::size_t operand);
  void begin_pass();
  void finish(const std::vector<double>& right_data);

  void check_visit(std::size_t i);
  void check_deposit(const Walk::Deposit& deposit);
  void part(std::size_t node, double wrong, double right, std::string reason);

  const Snapshot& graph_;
  const WalkOptions& options_;
  Walk::Record record_;
  int pass_ = 1;
  std::vector<double> data_, grad_;
  std::vector<std::vector<double>> locals_;
  std::vector<double> ideal_;              // the gradient, had this walk's deposits been kept as they should
  std::vector<double> right_, magnitude_;  // of the right pass over the same data
  std::vector<double> right_total_;
  std::vector<std::size_t> visits_in_pass_;
};

}  // namespace gradwalk::detail
