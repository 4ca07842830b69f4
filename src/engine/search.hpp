// SPDX-License-Identifier: MIT
// The depth-first search below a node, without recursion: the order micrograd's build_topo() gives.
#pragma once

#include "store.hpp"

namespace gradwalk::detail {

// Nodes below `root` and the root itself, each once, operands before their users and in operand order. enter(ref) is
// called when the search first meets a node; where it returns false the node is left out with what is below it.
// The result lies in the store until the next search.
template <class Enter> const std::vector<Ref>& search(Ref root, Enter enter) {
  std::vector<Ref>&order = tape.store->order, &stack = tape.store->stack;
  order.clear();
  stack.assign(1, root);
  struct ClearMarks {  // also when `enter` throws
    ~ClearMarks() {
      for (const Ref ref : tape.store->order) tape.node(ref)->head &= ~(entered | finished);
      for (const Ref ref : tape.store->stack) tape.node(ref)->head &= ~(entered | finished);
    }
  } const at_the_end;
  while (!stack.empty()) {
    const Ref ref = stack.back();
    Node* node = tape.node(ref);
    if ((node->head & entered) == 0 && enter(ref)) {
      node->head |= entered;
      each_operand(ref, [&](Ref operand) {
        if ((tape.node(operand)->head & entered) == 0) stack.push_back(operand);
      });
      continue;  // the node is met again when everything below it is done
    }
    if ((node->head & (entered | finished)) == entered) {
      order.push_back(ref);  // first: if there is no memory for it, its marks are still found on the stack
      node->head |= finished;
    }
    stack.pop_back();
  }
  return order;
}

inline bool is_recorded(Ref ref) {
  const Op op = op_of(*tape.node(ref));
  return op > Op::constant;
}

}  // namespace gradwalk::detail
