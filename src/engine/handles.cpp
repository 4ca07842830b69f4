// SPDX-License-Identifier: MIT
// The last handle of a node ends, and what nobody holds goes; or there are more handles than its head can count.
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

void forget(Ref ref) {
  Store& store = *tape.store;
  const Word head = tape.node(ref)->head;
  if ((head & labelled) != 0) {
    store.labels.erase(ref);
    store.custom_names.erase(ref);
    if (const auto found = store.callbacks.find(ref); found != store.callbacks.end()) {
      found->second->next = std::exchange(store.dropped_callbacks, found->second.get());
      static_cast<void>(found->second.release());
      store.callbacks.erase(found);
    }
  }
  if ((head & exposed) != 0) store.exposed_gradients.erase(ref);
  if ((head & opened) == 0) return;
  for (const Ref own : store.kept_apart.at(ref)) free_leaf(own);
  store.kept_apart.erase(ref);
}

// Pops the newest nodes as long as no handle holds them.
void trim() {
  Store& store = *tape.store;
  const Ref before = tape.top;
  if (tape.top == store.swept_end) {
    if ((tape.node(tape.top - 4)->head & exposed) != 0) forget(tape.top - 4);
    while (store.swept_begin <= chunk_at(store.current)) leave_chunk();  // its first node was passed over too
    tape.top = store.swept_begin;
  }
  while (tape.top != tape.start) {
    const Ref ref = tape.top - 4;
    const Node& node = *tape.node(ref);
    if (is_held(node)) break;
    if (op_of(node) == chunk_start) {
      leave_chunk();
      continue;
    }
    if ((node.head & (labelled | opened | exposed)) != 0) forget(ref);
    tape.top = ref - words_below(node);
  }
  if (before / chunk_words == tape.top / chunk_words && before > tape.top) poison(tape.top, before - tape.top);
  tape.clean_from = std::min(tape.clean_from, tape.top);
  store.swept_end = 0;
  // What is the newest now may have been reached by a pass, and shows the gradient it got as long as it is there.
  if (store.no_grad > 0 || tape.clean_from == tape.top) keep_newest();
  if (tape.top == tape.start) begin_again();
}

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
