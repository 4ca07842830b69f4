// SPDX-License-Identifier: MIT
// The tape's slow paths: making room, and giving back what is dead.
#include "gradwalk/tape.hpp"

#include <algorithm>

#include "store.hpp"

namespace gradwalk::detail {

namespace {

void leave_chunk() {
  Store& store = *tape.store;
  const Chunk chunk = std::exchange(store.chunks[store.current], Chunk{});
  --store.chunks_used;
  // What lies below stays clean if it lies right below; elsewhere order is lost.
  if (tape.clean_from >= chunk_at(store.current) || chunk.previous + 1 != store.current) tape.clean_from = chunk.end;
  store.current = chunk.previous;
  tape.top = chunk.end;
  tape.limit = chunk_at(store.current) + chunk_words;
}

// The tape has become empty: every waiting leaf can go, and the bottom chunk is the warmest.
void begin_again() {
  Store& store = *tape.store;
  if (store.steps_to_census > 0 && --store.steps_to_census == 0) give_back_leaves();
  constexpr std::size_t many = 1024;  // chunks: 64 MiB
  if (store.peak == 1 && store.waiting_leaves == 0 && store.chunks.size() <= many) return;
  if (store.current != 0) {
    leave_chunk();
    enter_chunk(0);
    tape.start = tape.clean_from = tape.top;
    if (store.no_grad > 0) store.no_grad_chunk = 0;
  }
  free_waiting_leaves();
  // A large graph's pages go back to the system once a pass has done with much less.
  if (store.chunks.size() > many && store.chunks.size() > 2 * store.peak) {
    discard(tape.base + chunk_at(static_cast<std::uint32_t>(store.peak)),
            (store.chunks.size() - store.peak) * chunk_words);
    store.chunks.resize(store.peak);
  }
  store.collect_at = std::max(least_to_collect, 2 * store.peak);
  store.peak = 1;
}

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
  if (store.no_grad > 0) freeze();
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
    if (live[place] || place == store.current || place == store.no_grad_chunk) {
      user = place;
    } else {
      for (Ref ref = top - 4; ref > chunk_at(place); ref = older(ref)) forget(ref);
      store.chunks[place] = Chunk{};
      --store.chunks_used;
      if (chunk_at(place) >= tape.clean_from) tape.clean_from = tape.top;
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
}

// Makes the chunk at `place` the one that is written. Its first node only says where it starts.
void enter_chunk(std::uint32_t place) {
  Store& store = *tape.store;
  const bool adjacent = store.current != no_chunk && place == store.current + 1;
  const auto gap = adjacent ? chunk_at(place) - tape.top : 0;  // so older() steps over it
  store.chunks[place] = {store.current, tape.top, true};
  store.current = place;
  store.peak = std::max(store.peak, ++store.chunks_used);
  write_node(chunk_at(place), pair(nothing, nothing), unheld(chunk_start, gap), 0);
  tape.top = chunk_at(place) + 4;
  if (!adjacent) tape.clean_from = tape.top;
  tape.limit = chunk_at(store.current) + chunk_words;
}

// The next free place upwards, so that nodes lie in order; from the bottom again once the end is reached.
std::uint32_t next_place() {
  std::vector<Chunk>& chunks = tape.store->chunks;
  const auto is_free = [](const Chunk& chunk) { return !chunk.used; };
  auto found =
      std::find_if(chunks.begin() + static_cast<std::ptrdiff_t>(tape.store->current) + 1, chunks.end(), is_free);
  if (found == chunks.end() && tape.store->chunks_used < chunks.size())
    found = std::find_if(chunks.begin(), chunks.end(), is_free);
  if (found == chunks.end()) {
    Memory& memory = tape.store->memory;
    if ((chunks.size() + 1) * chunk_words > memory.records && !grow(memory, 0))
      throw Error("record", "a graph that fits its tape of " + std::to_string(memory.records / 4) + " nodes",
                  "one more", "let go of graphs no longer needed, or split the work between threads");
    found = chunks.insert(found, Chunk{});
  }
  return static_cast<std::uint32_t>(found - chunks.begin());
}

// Pops the newest nodes as long as no handle holds them.
void trim() {
  Store& store = *tape.store;
  if (tape.top == store.swept_end) {
    while (store.swept_begin < chunk_at(store.current)) leave_chunk();
    tape.top = store.swept_begin;
  }
  while (tape.top != tape.start) {
    const Ref ref = tape.top - 4;
    const Node& node = *tape.node(ref);
    if (is_held(node)) break;
    if (op_of(node) == chunk_start) {
      if (store.current == store.no_grad_chunk) break;
      leave_chunk();
      continue;
    }
    if ((node.head & (labelled | opened)) != 0) forget(ref);
    tape.top = ref - words_below(node);
  }
  tape.clean_from = std::min(tape.clean_from, tape.top);
  store.swept_end = 0;
  if (tape.top == tape.start) begin_again();
}

void make_room(Ref words) {
  if (tape.top + words <= tape.limit) return;
  release_lost();
  const Store& store = *tape.store;
  const bool is_full = store.chunks_used == store.chunks.size() &&
                       (store.chunks_used + 1) * chunk_words > store.memory.records && !grow(tape.store->memory, 0);
  if (store.chunks_used >= store.collect_at || is_full) collect();
  if (tape.top + words > tape.limit) enter_chunk(next_place());
}

void forget(Ref ref) {
  Store& store = *tape.store;
  const Word head = tape.node(ref)->head;
  if ((head & labelled) != 0) store.labels.erase(ref), store.custom_names.erase(ref);
  if ((head & opened) == 0) return;
  for (const Ref own : store.kept_apart.at(ref)) free_leaf(own);
  store.kept_apart.erase(ref);
}

static void unspill_handles(Ref ref) {
  std::size_t& more = tape.store->spilled_handles[ref];
  const std::size_t back = std::min<std::size_t>(more, 0x8000);
  tape.node(ref)->head += back * one_handle;
  if ((more -= back) > 0) return;
  tape.store->spilled_handles.erase(ref);
  tape.node(ref)->head &= ~spilled;
}

void let_go_slowly(Ref ref) noexcept {
  Node* node = tape.node(ref);
  if ((node->head & spilled) != 0) {
    unspill_handles(ref);
  } else if (ref + 4 == tape.top) {
    trim();
  } else if (apart(ref) && !is_leaf(ref)) {
    let_go(extra_of(*node));  // kept apart for its owner
  } else if (apart(ref) && tape.top == tape.start) {
    free_leaf(ref);
  } else if (apart(ref) && (node->head & waiting) == 0) {
    node->head |= waiting;
    wait_as_leaf(ref);
  }
}

void spill_handles(Ref ref) {
  tape.store->spilled_handles[ref] += 0x8000;
  tape.node(ref)->head = (tape.node(ref)->head - 0x8000 * one_handle) | spilled;
}

}  // namespace gradwalk::detail
