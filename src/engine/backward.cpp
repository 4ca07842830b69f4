// SPDX-License-Identifier: MIT
// backward(): the chain rule from one root to everything below it.
//
// Creation order is a topological order, so the usual case is one loop over the tape from the root down. It may run
// where no gradient has been written since the nodes were made, for then a gradient of zero means "not reached, or
// nothing to pass on" and the node can be skipped. Anywhere else the root's nodes are searched for first.
// Leaves accumulate between passes; every other node's gradient is that of the last pass that reached it.
#include "search.hpp"
#include "store.hpp"

namespace gradwalk {
namespace detail {
namespace {

// Whether everything the root needs lies between clean_from and the root. Stops at the first sign that it does not,
// so nodes passed over in vain are passed over once: the pass that follows raises clean_from above them.
bool reaches_only_clean_nodes(Ref root) {
  if (root < tape.clean_from || root >= tape.top) return false;
  Ref low = root;
  bool in_order = true;
  for (Ref ref = root; in_order && ref >= low; ref = older(ref)) {
    each_operand(*tape.node(ref), [&](Ref operand) {
      if (apart(operand)) return;
      in_order &= operand < ref && operand >= tape.clean_from;
      low = std::min(low, operand);
    });
  }
  return in_order;
}

void sweep(Ref root) {
  Ref low = root;  // the lowest node a deposit has reached; leaves lie above every node
  for (Ref ref = root; ref >= low; ref = older(ref)) {
    const Node& node = *tape.node(ref);
    const double gradient = node.grad;
    if (gradient == 0) continue;
    each_local(node, [&](Ref operand, double local) {
      tape.node(operand)->grad += gradient * local;
      low = std::min(low, operand);
    });
  }
}

void deposit(const Node& node) {
  const double gradient = node.grad;
  if (gradient == 0) return;  // times a local derivative without bounds, it is still nothing
  each_local(node, [&](Ref operand, double local) { tape.node(operand)->grad += gradient * local; });
}

void search_and_sweep(Ref root, double seed) {
  const std::vector<Ref>& order = search(root, is_recorded);
  for (const Ref ref : order) tape.node(ref)->grad = 0;
  tape.node(root)->grad = seed;
  for (auto ref = order.rbegin(); ref != order.rend(); ++ref) deposit(*tape.node(*ref));
}

}  // namespace
}  // namespace detail

void Value::backward(double seed) const {
  using namespace detail;
  Node* root = node("backward");
  release_orphans();
  if (!is_recorded(ref())) {
    root->grad = seed;
    return;
  }
  if (tape.store->kept_apart.empty() && (tape.clean_from == tape.start || reaches_only_clean_nodes(ref()))) {
    root->grad = seed;
    sweep(ref());
  } else {
    search_and_sweep(ref(), seed);
  }
  tape.clean_from = tape.top;
}

void Value::propagate() const { detail::deposit(*detail::tape.node(detail::look_into(*this, "propagate"))); }

}  // namespace gradwalk
