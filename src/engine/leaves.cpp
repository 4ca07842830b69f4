// SPDX-License-Identifier: MIT
// Leaves: where they come from, how they wait while a record may read them, and how their memory goes back. Fresh ones
// lie in order of creation; free ones are a list through `operands`.
#include <algorithm>
#include <utility>

#include "store.hpp"

namespace gradwalk::detail {
namespace {

constexpr std::uint32_t leaf_batch = 1024;
constexpr Ref few_leaves = 4 * 262'144;  // words: 8 MiB, not worth a look

}  // namespace

void wait_as_leaf(Ref leaf) {
  Store& store = *tape.store;
  tape.node(leaf)->operands = std::exchange(store.waiting_leaves, leaf);
  ++store.leaves_waiting;
}

// All but those that collect() has marked.
void free_waiting_leaves() {
  Store& store = *tape.store;
  Ref next = std::exchange(store.waiting_leaves, 0);
  store.leaves_waiting = 0;
  while (next != 0) {
    const Ref ref = next;
    Node* leaf = tape.node(ref);
    next = static_cast<Ref>(leaf->operands);
    if ((leaf->head & entered) != 0) {
      leaf->head &= ~entered;
      wait_as_leaf(ref);
    } else {
      leaf->head &= ~waiting;
      if (!is_held(*leaf)) free_leaf(ref);
    }
  }
}

void make_leaves() {
  if (tape.store == nullptr) start_tape();
  Store& store = *tape.store;
  release_lost();
  const bool is_full =
      first_leaf + store.memory.leaves - store.next_leaf < 4 * leaf_batch && !grow(store.memory, first_leaf);
  if (tape.free_leaf == 0 && (is_full || store.leaves_waiting >= store.collect_leaves_at)) collect();
  if (tape.free_leaf != 0) return;
  if (is_full)
    throw Error("Value", "at most " + std::to_string(store.memory.leaves / 4) + " leaves in a thread", "one more",
                "let go of Values no longer needed, or split the work between threads");
  store.steps_to_census = 16;
  tape.free_leaf = store.next_leaf;
  for (std::uint32_t i = 1; i <= leaf_batch; ++i, store.next_leaf += 4)
    tape.node(store.next_leaf)->operands = i < leaf_batch ? store.next_leaf + 4 : 0;
}

void free_leaf(Ref ref) {
  Node* leaf = tape.node(ref);
  if ((leaf->head & labelled) != 0) forget(ref);
  leaf->operands = tape.free_leaf;
  tape.free_leaf = ref;
}

// After steps that needed no more leaves: the free ones at the end of what was ever used go back to the system, and the
// others are listed in order again, so that a layer's weights lie side by side.
void give_back_leaves() noexcept {
  Store& store = *tape.store;
  if (store.next_leaf - leaves_begin < few_leaves) return;
  for (Ref ref = tape.free_leaf; ref != 0; ref = static_cast<Ref>(tape.node(ref)->operands)) tape.node(ref)->head = 0;
  Ref end = store.next_leaf;
  while (end > leaves_begin && tape.node(end - 4)->head == 0) end -= 4;
  const Ref batch = 4 * leaf_batch, unused = store.next_leaf;
  store.next_leaf = leaves_begin + (end - leaves_begin + batch - 1) / batch * batch;
  tape.free_leaf = 0;
  for (Ref ref = store.next_leaf; ref > leaves_begin;) {
    Node* leaf = tape.node(ref -= 4);
    if (leaf->head == 0) leaf->operands = std::exchange(tape.free_leaf, ref);
  }
  constexpr Ref page = 512;
  const Ref from = (store.next_leaf + page - 1) / page * page;
  if (from < unused) discard(tape.base + from, unused - from);
  store.steps_to_census = std::max<std::size_t>(16, (store.next_leaf - leaves_begin) / 256);
}

}  // namespace gradwalk::detail
