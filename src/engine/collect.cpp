// SPDX-License-Identifier: MIT
// Finding what is dead in the middle of a tape: one pass from the newest record down marks what live handles need.
#include <algorithm>

#include "store.hpp"

namespace gradwalk::detail {
namespace {

void mark(Ref ref) {
  Node* node = tape.node(ref);
  if (ref >= first_leaf && (is_held(*node) || (node->head & entered) != 0)) return;
  node->head |= entered;
  if (ref >= first_leaf && op_of(*node) != Op::leaf) mark(extra_of(*node));  // kept apart: its owner lives too
}

}  // namespace

// Finds what live handles still need, gives whole dead chunks and dead leaves back.
void collect() {
  Store& store = *tape.store;
  store.swept_end = 0;
  std::vector<bool> live(store.chunks.size());
  Ref top = tape.top;
  for (std::uint32_t place = store.current; place != no_chunk; place = store.chunks[place].previous) {
    for (Ref ref = top - 4; ref > chunk_at(place); ref = older(ref)) {
      Node* node = tape.node(ref);
      if (!is_held(*node) && (node->head & entered) == 0) continue;
      live[place] = true;
      each_operand(ref, mark);
      if ((node->head & opened) != 0)
        for (const Ref own : store.kept_apart.at(ref)) each_operand(own, mark);
      node->head &= ~entered;
    }
    top = store.chunks[place].end;
  }
  top = tape.top;
  std::uint32_t user = no_chunk;  // the chunk after, in creation order
  for (std::uint32_t place = store.current; place != no_chunk;) {
    const Chunk chunk = store.chunks[place];
    if (live[place] || place == store.current) {
      user = place;
    } else {
      for (Ref ref = top - 4; ref > chunk_at(place); ref = older(ref)) forget(ref);
      store.chunks[place] = Chunk{};
      --store.chunks_used;
      poison(chunk_at(place), chunk_words);
      if (chunk_at(place) + chunk_words >= tape.clean_from) tape.clean_from = tape.top;  // a gap in what was clean
      store.chunks[user].previous = chunk.previous;
      store.chunks[user].end = chunk.end;
    }
    top = chunk.end;
    place = chunk.previous;
  }
  tape.start = chunk_at(user) + 4;
  free_waiting_leaves();
  for (const auto& [owner, own] : store.kept_apart)
    for (const Ref ref : own) tape.node(ref)->head &= ~entered;
  store.collect_at = std::max(least_to_collect, 2 * store.chunks_used);
  store.collect_leaves_at = std::max(2 * store.leaves_waiting, store.chunks_used * chunk_words / 4);
  if (tape.top == tape.start) begin_again();
  drop_callbacks();
}

}  // namespace gradwalk::detail
