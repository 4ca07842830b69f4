// SPDX-License-Identifier: MIT
// The depth-first sort, step by step: micrograd's build_topo() with a stack in place of recursion.
#include "gradwalk/walk.hpp"

namespace gradwalk {

Sort::Sort(const Snapshot& graph) {
  struct Call {
    std::size_t node;
    std::size_t next;  // the operand to visit next
  };
  std::vector<bool> visited(graph.nodes.size());
  std::vector<Call> calls;
  const auto meet = [&](std::size_t node) {
    steps_.push_back({visited[node] ? Step::Action::skip : Step::Action::enter, node});
    if (visited[node]) return;
    visited[node] = true;
    calls.push_back({node, 0});
  };
  meet(graph.root());
  while (!calls.empty()) {
    Call& call = calls.back();
    const std::vector<std::size_t>& operands = graph.nodes[call.node].operands;
    while (call.next < operands.size() && graph.nodes[operands[call.next]].is_constant()) ++call.next;
    if (call.next < operands.size()) {
      meet(operands[call.next++]);
    } else {
      steps_.push_back({Step::Action::finish, call.node});
      calls.pop_back();
    }
  }
}

Sort::State Sort::after(std::size_t steps) const {
  State state;
  for (std::size_t i = 0; i < steps && i < steps_.size(); ++i) {
    const Step& step = steps_[i];
    if (step.action == Step::Action::enter) {
      state.stack.push_back(step.node);
      state.visited.push_back(step.node);
    } else if (step.action == Step::Action::finish) {
      state.stack.pop_back();
      state.list.push_back(step.node);
    }
  }
  return state;
}

}  // namespace gradwalk
