// SPDX-License-Identifier: MIT
// Finding dead records in the middle of a tape: one scan from the newest record down marks what live handles need.
#include <algorithm>

#include "leaf_region.hpp"
#include "picks.hpp"

namespace gradwalk::detail {
namespace {

void mark(Ref ref) {
  Node* node = tape.node(ref);
  if (ref >= first_leaf && (is_held(*node) || (node->head & entered) != 0)) return;
  node->head |= entered;
  if (ref >= first_leaf && op_of(*node) != Op::leaf) mark(extra_of(*node));  // A part keeps its record alive.
}

}  // namespace

void collect() {
  Store& store = *tape.store;
  store.swept_end = 0;
  // Mark what live handles need, and note which chunks have a live record.
  std::vector<bool> live(store.chunks.size());
  Ref top = tape.top;
  for (std::uint32_t index = store.current; index != no_chunk; index = store.chunks[index].previous) {
    for (Ref ref = top - 4; ref > chunk_at(index); ref = older(ref)) {
      Node* node = tape.node(ref);
      if (!is_held(*node) && (node->head & entered) == 0) continue;
      live[index] = true;
      each_needed(ref, mark);
      if ((node->head & expanded) != 0)
        for (const Ref part : store.expanded_parts.at(ref)) each_operand(part, mark);
      node->head &= ~entered;
    }
    top = store.chunks[index].end;
  }
  // Free the chunks without one, and link the others past them.
  top = tape.top;
  std::uint32_t next = no_chunk;  // the next live chunk in creation order
  for (std::uint32_t index = store.current; index != no_chunk;) {
    const Chunk chunk = store.chunks[index];
    if (live[index] || index == store.current) {
      next = index;
    } else {
      for (Ref ref = top - 4; ref > chunk_at(index); ref = older(ref)) forget(ref);
      std::erase_if(store.decisions, [&](const Store::NotedDecision& one) { return one.at / chunk_words == index; });
      tape.noted = 0;
      store.chunks[index] = Chunk{};
      --store.chunks_used;
      poison(chunk_at(index), chunk_words);
      if (chunk_at(index) + chunk_words >= tape.clean_from) tape.clean_from = tape.top;  // Clean records have no gaps.
      store.chunks[next].previous = chunk.previous;
      store.chunks[next].end = chunk.end;
    }
    top = chunk.end;
    index = chunk.previous;
  }
  tape.start = chunk_at(next) + 4;
  free_waiting_leaves();
  for (const auto& [record, parts] : store.expanded_parts)
    for (const Ref part : parts) tape.node(part)->head &= ~entered;
  store.collect_at = std::max(least_to_collect, 2 * store.chunks_used);
  store.collect_leaves_at = std::max(2 * store.leaves_waiting, store.chunks_used * chunk_words / 4);
  if (tape.top == tape.start) begin_again();
  drop_callbacks();
}

}  // namespace gradwalk::detail
