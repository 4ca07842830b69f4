// SPDX-License-Identifier: MIT
// backward(): the chain rule from one root to everything below it.
//
// Creation order is a topological order, so the usual case is one loop over the tape from the root down. It may run
// where no gradient has been written since the nodes were made, for then a gradient of zero means "not reached, or
// nothing to pass on" and the node can be skipped. Anywhere else the root's nodes are searched for first.
// Leaves accumulate between passes; every other node's gradient is that of the last pass that reached it.
#include <algorithm>

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
    each_operand(ref, [&](Ref operand) {
      if (apart(operand)) return;
      in_order &= operand < ref && operand >= tape.clean_from;
      low = std::min(low, operand);
    });
  }
  return in_order;
}

void sweep(Ref root) {
  Ref low = root, begin = root;  // low: the lowest node a deposit has reached; leaves lie above every node
  Word heads = 0;
  int held = 0;
  for (Ref ref = root; ref >= low; ref = begin - 4) {
    const Node& node = *tape.node(ref);
    if (node.grad != 0) {
      each_local(ref, [&, gradient = node.grad](Ref operand, double local) {
        tape.node(operand)->grad += gradient * local;
        if (operand < low) low = operand;
      });
    }
    heads |= node.head;
    held += is_held(node);
    begin = ref - words_below(node);
  }
  // If only the root has a handle, all of this goes with it. It must then stay the node it is: a root that became part
  // of a later sum would leave the stretch ending in the middle of that.
  const bool goes_at_once = held == 1 && (heads & (labelled | opened)) == 0;
  if (goes_at_once) tape.node(root)->head |= touched;
  tape.store->swept_begin = begin;
  tape.store->swept_end = goes_at_once ? root + 4 : 0;
}

void deposit(Ref ref) {
  const double gradient = tape.node(ref)->grad;
  if (gradient == 0) return;  // times a local derivative without bounds, it is still nothing
  each_local(ref, [&](Ref operand, double local) { tape.node(operand)->grad += gradient * local; });
}

void search_and_sweep(Ref root, double seed) {
  // Constants that were looked at are the pass's own; leaves, and numbers made under NoGrad, accumulate.
  const std::vector<Ref>& order = search(root, [](Ref ref) { return is_recorded(ref) || is_constant(ref); });
  for (const Ref ref : order) tape.node(ref)->grad = 0;
  tape.node(root)->grad = seed;
  for (auto ref = order.rbegin(); ref != order.rend(); ++ref) deposit(*ref);
}

}  // namespace
}  // namespace detail

void Value::backward(double seed) const {
  using namespace detail;
  node("backward");
  release_orphans();
  if (tape.store->no_grad > 0) freeze();
  Node* root = tape.node(ref_);
  if (!is_recorded(ref_)) {
    root->grad = seed;
    if (!apart(ref_)) expose_gradient(ref_);
    return;
  }
  if (tape.store->kept_apart.empty() && (tape.clean_from == tape.start || reaches_only_clean_nodes(ref_))) {
    root->grad = seed;
    sweep(ref_);
  } else {
    search_and_sweep(ref_, seed);
  }
  tape.clean_from = tape.top;
}

// Deposits made by hand are not a pass: the operands' gradients count as written by their user.
void Value::propagate() const {
  using namespace detail;
  const Ref ref = look_into(*this, "propagate");
  each_operand(ref, [](Ref operand) {
    if (!apart(operand)) expose_gradient(operand);
  });
  deposit(ref);
}

}  // namespace gradwalk
