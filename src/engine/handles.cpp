// SPDX-License-Identifier: MIT
// Releasing the last handle of a node and freeing what no handle holds; and counting more handles than a head can.
#include <algorithm>

#include "leaf_region.hpp"

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

// Whether a result was made under the present NoGrad guard. Nothing was recorded since, so no record reads it.
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
  if ((head & expanded) == 0) return;
  for (const Ref part : store.expanded_parts.at(ref)) free_leaf(part);
  store.expanded_parts.erase(ref);
}

void trim() {
  Store& store = *tape.store;
  const Ref before = tape.top;
  if (tape.top == store.swept_end) {
    if ((tape.node(tape.top - 4)->head & exposed) != 0) forget(tape.top - 4);
    while (store.swept_begin <= chunk_at(store.current)) leave_chunk();
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
    if ((node.head & (labelled | expanded | exposed)) != 0) forget(ref);
    tape.top = ref - words_below(node);
  }
  // Forgets the comparisons if nothing remains of the records that came after them.
  while (!store.decisions.empty() && (store.decisions.back().at > tape.top ||
                                      (store.decisions.back().at == tape.top && before > store.decisions.back().top)))
    store.decisions.pop_back(), tape.noted = 0;
  if (before / chunk_words == tape.top / chunk_words && before > tape.top) poison(tape.top, before - tape.top);
  tape.clean_from = std::min(tape.clean_from, tape.top);
  store.swept_end = 0;
  // A pass may have reached the record that is now the newest. It must keep its gradient, so it must not be fused.
  if (store.no_grad > 0 || tape.clean_from == tape.top) keep_newest();
  if (tape.top == tape.start) begin_again();
}

void release_handle_slow_path(Ref ref) noexcept {
  Node* node = tape.node(ref);
  if ((node->head & spilled) != 0) return unspill_handles(ref);
  const bool is_newest_result = in_leaf_region(ref) && ref + 4 == tape.top;
  settle();
  if (is_newest_result) return;  // settle() has freed it.
  if (ref + 4 == tape.top) {
    trim();
  } else if (in_leaf_region(ref) && !is_leaf(ref)) {
    release_handle(extra_of(*node));  // A part holds a handle of its record.
  } else if (in_leaf_region(ref) && (tape.top == tape.start || is_of_this_guard(*node))) {
    free_leaf(ref);
  } else if (in_leaf_region(ref) && (node->head & waiting) == 0) {
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
