// SPDX-License-Identifier: MIT
// Leaves: where they come from, how dead ones wait while a record may read them, and how their memory is given back.
#include <algorithm>
#include <utility>

#include "leaf_region.hpp"

namespace gradwalk::detail {
namespace {

constexpr Ref few_leaves = 4 * 262'144;  // words: 8 MiB are not worth giving back
constexpr Ref in_cache = 4 * 16'384;     // words: in 512 KiB, order does not matter

// Sorts the list of free leaves, so that the weights of a layer are stored side by side. Free batches at the end count
// as never used again, and a batch of cells that are all free becomes a batch of leaves.
void list_in_order() noexcept {
  Store& store = *tape.store;
  store.freed_unordered = 0;
  for (const Ref list : {tape.free_leaf, store.free_cell}) each_in_list(list, mark_free);
  tape.free_leaf = store.free_cell = 0;
  bool is_end = true;
  for (Ref batch = store.next_leaf; batch > leaves_begin;) {
    batch -= batch_words;
    bool is_free = true;
    each_in_batch(batch, [&](Ref ref) { is_free &= tape.node(ref)->head == 0; });
    if (is_free && has_cells(batch)) {
      store.has_cells[(batch - leaves_begin) / batch_words] = false;
      unpoison(batch, batch_words);
      each_in_batch(batch, mark_free);
    }
    if (is_end &= is_free) {
      store.next_leaf = batch;
      continue;
    }
    Ref& list = has_cells(batch) ? store.free_cell : tape.free_leaf;
    Ref begin = 0, last = 0;
    each_in_batch(batch, [&](Ref ref) {
      if (tape.node(ref)->head != 0) return;
      if (last != 0) tape.node(last)->operands = ref;
      if (begin == 0) begin = ref;
      last = ref;
    });
    if (last != 0) tape.node(last)->operands = std::exchange(list, begin);
  }
}

}  // namespace

void wait_as_leaf(Ref leaf) {
  Store& store = *tape.store;
  tape.node(leaf)->operands = std::exchange(store.waiting_leaves, leaf);
  ++store.leaves_waiting;
}

// Programs release leaves in another order than they made them. From step to step the list would lose its order, and
// leaves would be scattered over the cache. So the list is sorted now and then, in proportion to what was freed.
void free_waiting_leaves() {
  Store& store = *tape.store;
  Ref next = std::exchange(store.waiting_leaves, 0);
  store.freed_unordered += std::exchange(store.leaves_waiting, 0);
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
  const std::size_t all = store.next_leaf - leaves_begin;
  if (all > in_cache && store.freed_unordered > all) list_in_order();
}

Ref take_batch(const Ref& free_list) {
  Store& store = *tape.store;
  settle();
  release_lost();
  const auto is_full = [&] { return first_leaf + store.memory.leaves - store.next_leaf < batch_words; };
  const bool cannot_grow = is_full() && !grow(store.memory, first_leaf);
  if (free_list == 0 && (cannot_grow || store.leaves_waiting >= store.collect_leaves_at)) collect();
  if (free_list != 0) return 0;
  if (is_full())  // Check again: collect() may have freed batches at the end.
    throw Error("Value", "at most " + std::to_string(store.memory.leaves / 4) + " leaves in a thread", "one more",
                "let go of Values no longer needed, or split the work between threads");
  store.steps_to_census = 16;
  store.has_cells.resize((store.next_leaf - leaves_begin) / batch_words + 1);
  return std::exchange(store.next_leaf, store.next_leaf + batch_words);
}

void make_leaves() {
  if (tape.store == nullptr) start_tape();
  if (const Ref batch = take_batch(tape.free_leaf); batch != 0) {
    for (std::uint32_t i = 0; i < leaf_batch; ++i)
      tape.node(batch + 4 * i)->operands = i + 1 < leaf_batch ? batch + 4 * (i + 1) : 0;
    tape.free_leaf = batch;
  }
}

void free_leaf(Ref ref) {
  Node* leaf = tape.node(ref);
  if ((leaf->head & labelled) != 0) forget(ref);
  Ref& list = (leaf->head & unrecorded) != 0 && is_leaf(ref) ? tape.store->free_cell : tape.free_leaf;
  leaf->operands = std::exchange(list, ref);
  poison(ref + 1, 3);
}

// Called after some steps that needed no new leaves: gives the free batches at the end back to the system.
void give_back_leaves() noexcept {
  Store& store = *tape.store;
  if (store.next_leaf - leaves_begin < few_leaves) return;
  const Ref unused = store.next_leaf;
  list_in_order();
  constexpr Ref page = 512;
  const Ref from = (store.next_leaf + page - 1) / page * page;
  if (from < unused) discard(tape.base + from, unused - from);
  store.steps_to_census = std::max<std::size_t>(16, (store.next_leaf - leaves_begin) / 256);
}

}  // namespace gradwalk::detail
