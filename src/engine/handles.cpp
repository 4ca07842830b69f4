// SPDX-License-Identifier: MIT
// The last handle of a node ends, or there are more than its head can count.
#include <algorithm>

#include "store.hpp"

namespace gradwalk::detail {
namespace {

void unspill_handles(Ref ref) {
  std::size_t& more = tape.store->spilled_handles[ref];
  const std::size_t back = std::min<std::size_t>(more, 0x8000);
  tape.node(ref)->head += back * one_handle;
  if ((more -= back) > 0) return;
  tape.store->spilled_handles.erase(ref);
  tape.node(ref)->head &= ~spilled;
}

// Made under the NoGrad guard that lives: nothing was recorded since, so nothing reads it.
bool is_of_this_guard(const Node& node) {
  return tape.store->no_grad > 0 && (node.head & unrecorded) != 0 && extra_of(node) == tape.store->guard;
}

}  // namespace

void let_go_slowly(Ref ref) noexcept {
  Node* node = tape.node(ref);
  if ((node->head & spilled) != 0) return unspill_handles(ref);
  const bool is_newest_result = apart(ref) && ref + 4 == tape.top;
  settle();
  if (is_newest_result) return;  // gone with that
  if (ref + 4 == tape.top) {
    trim();
  } else if (apart(ref) && !is_leaf(ref)) {
    let_go(extra_of(*node));  // kept apart for its owner
  } else if (apart(ref) && (tape.top == tape.start || is_of_this_guard(*node))) {
    free_leaf(ref);
  } else if (apart(ref) && (node->head & waiting) == 0) {
    node->head |= waiting;
    wait_as_leaf(ref);
  }
  drop_callbacks();
}

void spill_handles(Ref ref) {
  tape.store->spilled_handles[ref] += 0x8000;
  tape.node(ref)->head = (tape.node(ref)->head - 0x8000 * one_handle) | spilled;
}

}  // namespace gradwalk::detail
