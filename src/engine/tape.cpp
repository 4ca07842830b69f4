// SPDX-License-Identifier: MIT
// The chunks of a tape: entering and leaving them, adding new ones, and starting again when the tape is empty.
#include "gradwalk/tape.hpp"

#include <algorithm>

#include "leaf_region.hpp"

namespace gradwalk::detail {

void leave_chunk() {
  Store& store = *tape.store;
  const Chunk chunk = std::exchange(store.chunks[store.current], Chunk{});
  --store.chunks_used;
  // Records of the chunk right below stay clean. Across a jump, Refs do not follow creation order.
  if (tape.clean_from >= chunk_at(store.current) || chunk.previous + 1 != store.current) tape.clean_from = chunk.end;
  poison(chunk_at(store.current), chunk_words);
  store.current = chunk.previous;
  tape.top = chunk.end;
  set_limit(chunk_at(store.current) + chunk_words);
}

// The tape is empty, so all waiting leaves can be freed. The bottom chunk is the one most likely to be in the cache.
void begin_again() {
  Store& store = *tape.store;
  if (store.steps_to_census > 0 && --store.steps_to_census == 0) give_back_leaves();
  constexpr std::size_t many = 1024;  // chunks: 64 MiB
  if (store.peak == 1 && store.waiting_leaves == 0 && store.chunks.size() <= many) return;
  store.went_round = false;
  if (store.current != 0) {
    leave_chunk();
    enter_chunk(0);
    tape.start = tape.clean_from = tape.top;
  }
  free_waiting_leaves();
  // Give the pages of a large graph back to the system once a step has needed much less.
  if (store.chunks.size() > many && store.chunks.size() > 2 * store.peak) {
    discard(tape.base + chunk_at(static_cast<std::uint32_t>(store.peak)),
            (store.chunks.size() - store.peak) * chunk_words);
    store.chunks.resize(store.peak);
  }
  store.collect_at = std::max(least_to_collect, 2 * store.peak);
  store.peak = 1;
}

// New records go to this chunk from now on. Its first node marks its start.
void enter_chunk(std::uint32_t index) {
  Store& store = *tape.store;
  const bool adjacent = store.current != no_chunk && index == store.current + 1;
  const auto gap = adjacent ? chunk_at(index) - tape.top : 0;  // Then older() steps over the unused words.
  store.chunks[index] = {store.current, tape.top, true};
  store.current = index;
  store.peak = std::max(store.peak, ++store.chunks_used);
  unpoison(chunk_at(index), 4);
  write_node(chunk_at(index), pair(nothing, nothing), unheld(chunk_start, gap), 0);
  tape.top = chunk_at(index) + 4;
  if (!adjacent) tape.clean_from = tape.top;
  set_limit(chunk_at(store.current) + chunk_words);
}

// The next free chunk upwards, so that Refs follow creation order; at the end, a free one from the bottom.
std::uint32_t next_chunk() {
  std::vector<Chunk>& chunks = tape.store->chunks;
  const auto is_free = [](const Chunk& chunk) { return !chunk.used; };
  auto found =
      std::find_if(chunks.begin() + static_cast<std::ptrdiff_t>(tape.store->current) + 1, chunks.end(), is_free);
  if (found == chunks.end() && tape.store->chunks_used < chunks.size()) {
    found = std::find_if(chunks.begin(), chunks.end(), is_free);
    tape.store->went_round = true;
  }
  if (found == chunks.end()) {
    Memory& memory = tape.store->memory;
    if ((chunks.size() + 1) * chunk_words > memory.records && !grow(memory, 0))
      throw Error("record", "a graph that fits its tape of " + std::to_string(memory.records / 4) + " nodes",
                  "one more", "let go of graphs no longer needed, or split the work between threads");
    found = chunks.insert(found, Chunk{});
  }
  return static_cast<std::uint32_t>(found - chunks.begin());
}

void make_room(Ref words) {
  if (tape.top + words <= tape.limit) return;
  settle();
  release_lost();
  if (tape.store->no_grad > 0) return make_cell_the_top(words);
  const Store& store = *tape.store;
  const bool is_full = store.chunks_used == store.chunks.size() &&
                       (store.chunks_used + 1) * chunk_words > store.memory.records && !grow(tape.store->memory, 0);
  if (store.chunks_used >= store.collect_at || is_full) collect();
  if (tape.top + words > tape.limit) enter_chunk(next_chunk());
}

}  // namespace gradwalk::detail
