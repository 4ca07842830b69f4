// SPDX-License-Identifier: MIT
// The depth-first search below a node, without recursion. It lists nodes in the order of micrograd's build_topo().
#pragma once

#include "store.hpp"

namespace gradwalk::detail {

struct EachOperand {
  template <class Visit> void operator()(Ref ref, Visit visit) const { each_operand(ref, visit); }
};

// Returns the nodes below `root` and the root, each once, after its operands, and operands in order. The search calls
// enter(ref) when it first meets a node; if that returns false, the node is left out, with everything only it reaches.
// The result is stored in the tape's Store and valid until the next search.
// `edges` calls visit(operand) for the operands of a node, last to first.
template <class Enter, class Edges = EachOperand>
const std::vector<Ref>& search(Ref root, Enter enter, Edges edges = {}) {
  std::vector<Ref>&order = tape.store->order, &stack = tape.store->stack;
  order.clear();
  stack.assign(1, root);
  struct ClearMarks {  // a destructor, because `enter` may throw
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
      edges(ref, [&](Ref operand) {
        if ((tape.node(operand)->head & entered) == 0) stack.push_back(operand);
      });
      continue;  // The search meets the node again when everything below it is listed.
    }
    if ((node->head & (entered | finished)) == entered) {
      order.push_back(ref);  // If this throws, the node is still on the stack, where its marks are cleared.
      node->head |= finished;
    }
    stack.pop_back();
  }
  return order;
}

}  // namespace gradwalk::detail
