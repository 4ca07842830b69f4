// SPDX-License-Identifier: MIT
// The tape's slow paths: making room, giving back what is dead, and the border between threads.
#include "gradwalk/tape.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>

#include "store.hpp"

namespace gradwalk::detail {

constinit thread_local Tape tape;

namespace {

constexpr std::uint32_t leaf_batch = 1024;

// Which threads have a tape, and the handles to their nodes that died elsewhere. Never destroyed: Values may outlive it.
struct Threads {
  std::mutex mutex;
  std::uint32_t last = 0;
  std::unordered_map<std::uint32_t, std::vector<Ref>> orphans;
  std::atomic<bool> any_orphans = false;
};
Threads& threads() {
  static Threads* const all = new Threads;
  return *all;
}

std::uint32_t thread_of(Word handle) { return static_cast<std::uint32_t>(handle >> 32); }
std::uint32_t this_thread() { return thread_of(tape.thread); }

struct EndOfThread {
  ~EndOfThread() {
    {
      const std::lock_guard lock(threads().mutex);
      threads().orphans.erase(this_thread());
    }
    unreserve(tape.base, tape.store->reserved_words);
    delete tape.store;
    tape = Tape{};
  }
};

Ref chunk_at(std::uint32_t place) { return place * chunk_words; }

void set_limit() {
  const Store& store = *tape.store;
  tape.limit = store.no_grad > 0 ? 0 : chunk_at(store.current) + chunk_words;
}

// Makes the chunk at `place` the one that is written. Its first node has a handle, so that nothing pops it.
void enter_chunk(std::uint32_t place) {
  Store& store = *tape.store;
  const bool adjacent = store.current != no_chunk && place == store.current + 1;
  const auto gap = adjacent ? chunk_at(place) - tape.top : 0;  // so older() steps over it
  store.chunks[place] = {store.current, tape.top, true};
  store.current = place;
  store.peak = std::max(store.peak, ++store.chunks_used);
  write_node(tape.base + chunk_at(place), pair(nothing, nothing), fresh(Op::chunk_start), gap, 0);
  tape.top = chunk_at(place) + 4;
  if (!adjacent) tape.clean_from = tape.top;
  set_limit();
}

void leave_chunk() {
  Store& store = *tape.store;
  const Chunk chunk = std::exchange(store.chunks[store.current], Chunk{});
  --store.chunks_used;
  store.current = chunk.previous;
  tape.top = tape.clean_from = chunk.end;
  set_limit();
}

// The next free place upwards, so that nodes lie in order; from the bottom again once the end is reached.
std::uint32_t next_place() {
  Store& store = *tape.store;
  const auto free = [](const Chunk& chunk) { return !chunk.used; };
  const auto begin = store.chunks.begin(), end = store.chunks.end();
  auto found = std::find_if(begin + store.current + 1, end, free);
  if (found == end && store.chunks_used < store.chunks.size()) found = std::find_if(begin, end, free);
  if (found == end) {
    if ((store.chunks.size() + 1) * chunk_words > tape.first_leaf)
      throw Error("record", "a graph that fits its tape of " + std::to_string(tape.first_leaf / 4) + " nodes",
                  "one more", "let go of graphs no longer needed, or split the work between threads");
    store.chunks.emplace_back();
    return static_cast<std::uint32_t>(store.chunks.size() - 1);
  }
  return static_cast<std::uint32_t>(found - begin);
}


void mark(Ref ref) {
  Node* node = tape.node(ref);
  if (ref >= tape.first_leaf && (node->meta >= one_handle || (node->meta & entered) != 0)) return;
  node->meta |= entered;
  if (ref >= tape.first_leaf && op_of(*node) != Op::leaf) mark(node->third);  // kept apart: its owner lives too
}

// Finds what live handles still need, gives whole dead chunks and dead leaves back.
void collect() {
  Store& store = *tape.store;
  std::vector<bool> live(store.chunks.size());
  Ref top = tape.top;
  for (std::uint32_t place = store.current; place != no_chunk; place = store.chunks[place].previous) {
    for (Ref ref = top - 4; ref > chunk_at(place); ref = older(ref)) {
      Node* node = tape.node(ref);
      if (node->meta < one_handle && (node->meta & entered) == 0) continue;
      node->meta &= ~entered;
      live[place] = true;
      each_operand(*node, mark);
      if ((node->meta & opened) != 0)
        for (const Ref own : store.kept_apart.at(ref)) each_operand(*tape.node(own), mark);
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
      if (chunk_at(place) >= tape.clean_from) tape.clean_from = tape.top;
      store.chunks[user].previous = chunk.previous;
      store.chunks[user].end = chunk.end;
    }
    top = chunk.end;
    place = chunk.previous;
  }
  tape.start = chunk_at(user) + 4;
  std::erase_if(store.waiting_leaves, [](Ref ref) {
    Node* leaf = tape.node(ref);
    const bool needed = (leaf->meta & entered) != 0;
    leaf->meta &= ~entered;
    if (needed) return false;
    leaf->meta &= ~waiting;
    if (leaf->meta < one_handle) free_leaf(ref);
    return true;
  });
  for (const auto& [owner, own] : store.kept_apart)
    for (const Ref ref : own) tape.node(ref)->meta &= ~entered;
  store.collect_at = std::max<std::size_t>(16, 2 * store.chunks_used);
  store.collect_leaves_at = std::max(2 * store.waiting_leaves.size(), store.chunks_used * chunk_words / 4);
}

// The tape has become empty: every waiting leaf can go, and the bottom chunk is the warmest.
void begin_again() {
  Store& store = *tape.store;
  if (store.current != 0) {
    leave_chunk();
    enter_chunk(0);
    tape.start = tape.clean_from = tape.top;
  }
  for (const Ref ref : store.waiting_leaves) {
    Node* leaf = tape.node(ref);
    leaf->meta &= ~waiting;
    if (leaf->meta < one_handle) free_leaf(ref);
  }
  store.waiting_leaves.clear();
  // A large graph's pages go back to the system once a pass has done with much less.
  if (store.chunks.size() > 1024 && store.chunks.size() > 2 * store.peak) {
    discard(tape.base + chunk_at(static_cast<std::uint32_t>(store.peak)), (store.chunks.size() - store.peak) * chunk_words);
    store.chunks.resize(store.peak);
  }
  store.peak = 1;
  store.collect_at = 16;
}

// Pops the newest nodes as long as no handle holds them.
void trim() {
  const Store& store = *tape.store;
  for (;;) {
    const Ref ref = tape.top - 4;
    const Node& node = *tape.node(ref);
    if (node.meta >= one_handle) {
      if (op_of(node) != Op::chunk_start || store.chunks[store.current].previous == no_chunk) break;
      leave_chunk();
      continue;
    }
    if ((node.meta & (labelled | opened)) != 0) forget(ref);
    tape.top = ref - words_below(node);
  }
  tape.clean_from = std::min(tape.clean_from, tape.top);
  if (tape.top == tape.start) begin_again();
}

}  // namespace

void start_tape() {
  thread_local std::unique_ptr<EndOfThread> end;
  std::size_t words = std::size_t{1} << 32;
  Word* base = nullptr;
  while ((base = reserve(words)) == nullptr && words > 16 * chunk_words) words /= 2;
  if (base == nullptr) throw Error("Value", "memory for a tape", "none", "free some, or raise the process's limit");
  tape.store = new Store;
  end = std::make_unique<EndOfThread>();
  {
    const std::lock_guard lock(threads().mutex);
    tape.thread = static_cast<Word>(++threads().last) << 32;
    threads().orphans[threads().last];
  }
  tape.base = base;
  tape.store->reserved_words = words;
  tape.first_leaf = tape.store->next_leaf = static_cast<Ref>(words / 2);
  tape.store->chunks.emplace_back();
  enter_chunk(0);
  tape.start = tape.clean_from = tape.top;
}

void make_room(Ref words) {
  if (tape.top + words <= tape.limit) return;
  release_orphans();
  if (tape.store->chunks_used >= tape.store->collect_at) collect();
  if (tape.top + words > tape.limit) enter_chunk(next_place());
}

Ref record_slowly(Word operands, Op op, double data) {
  if (tape.store->no_grad > 0) return make_leaf(data);
  make_room(4);
  return record(operands, op, data);
}

Ref record_slowly(Word operands, Op op, double data, double number) {
  if (tape.store->no_grad > 0) return make_leaf(data);
  make_room(5);
  return record(operands, op, data, number);
}

Ref make_leaf_slowly(double data) {
  if (tape.store == nullptr) start_tape();
  Store& store = *tape.store;
  release_orphans();
  if (tape.free_leaf == 0) {
    if (store.reserved_words - store.next_leaf < 4 * leaf_batch + 16)
      throw Error("Value", "at most " + std::to_string(store.reserved_words / 8) + " leaves in a thread", "one more",
                  "let go of Values no longer needed, or split the work between threads");
    tape.free_leaf = store.next_leaf;
    for (std::uint32_t i = 1; i <= leaf_batch; ++i, store.next_leaf += 4)
      tape.node(store.next_leaf)->operands = i < leaf_batch ? store.next_leaf + 4 : 0;
  }
  return make_leaf(data);
}

void free_leaf(Ref ref) {
  Node* leaf = tape.node(ref);
  if ((leaf->meta & labelled) != 0) forget(ref);
  leaf->operands = tape.free_leaf;
  tape.free_leaf = ref;
}

void forget(Ref ref) {
  Store& store = *tape.store;
  const std::uint32_t meta = tape.node(ref)->meta;
  if ((meta & labelled) != 0) store.labels.erase(ref);
  if ((meta & opened) == 0) return;
  for (const Ref own : store.kept_apart.at(ref)) free_leaf(own);
  store.kept_apart.erase(ref);
}

void let_go_slowly(Ref ref) {
  Store& store = *tape.store;
  Node* node = tape.node(ref);
  if ((node->meta & spilled) != 0) {
    std::size_t& more = store.spilled_handles[ref];
    const std::size_t back = std::min<std::size_t>(more, 0x8000);
    node->meta += static_cast<std::uint32_t>(back) * one_handle;
    if ((more -= back) == 0) {
      store.spilled_handles.erase(ref);
      node->meta &= ~spilled;
    }
  } else if (ref + 4 == tape.top) {
    trim();
  } else if (!apart(ref)) {
    return;
  } else if (op_of(*node) != Op::leaf) {
    let_go(node->third);  // kept apart for its owner
  } else if (tape.top == tape.start) {
    free_leaf(ref);
  } else if ((node->meta & waiting) == 0) {
    node->meta |= waiting;
    store.waiting_leaves.push_back(ref);
    if (store.waiting_leaves.size() >= store.collect_leaves_at) collect();
  }
}

void spill_handles(Node* node) {
  tape.store->spilled_handles[static_cast<Ref>(&node->operands - tape.base)] += 0x8000;
  node->meta = (node->meta - 0x8000 * one_handle) | spilled;
}

void let_go_elsewhere(Word handle) noexcept {
  const std::lock_guard lock(threads().mutex);
  const auto found = threads().orphans.find(thread_of(handle));
  if (found == threads().orphans.end()) return;
  found->second.push_back(static_cast<Ref>(handle));
  threads().any_orphans = true;
}

void release_orphans() {
  if (!threads().any_orphans) return;
  std::vector<Ref> orphans;
  {
    const std::lock_guard lock(threads().mutex);
    orphans.swap(threads().orphans[this_thread()]);
    threads().any_orphans = std::ranges::any_of(threads().orphans, [](const auto& one) { return !one.second.empty(); });
  }
  for (const Ref ref : orphans) let_go(ref);
}

void refuse(Word handle, const char* call) {
  if (handle == 0) throw Error(call, "a Value", "one that was moved from", "assign to it before you use it again");
  const std::lock_guard lock(threads().mutex);
  const bool ended = !threads().orphans.contains(thread_of(handle));
  throw Error(call, "a Value of this thread", ended ? "one whose thread has ended" : "one of another thread",
              "build and use a graph on one thread, and hand numbers between threads");
}

}  // namespace gradwalk::detail

namespace gradwalk {

NoGrad::NoGrad() {
  if (detail::tape.store == nullptr) detail::start_tape();
  ++detail::tape.store->no_grad;
  detail::set_limit();
}

NoGrad::~NoGrad() {
  --detail::tape.store->no_grad;
  detail::set_limit();
}

}  // namespace gradwalk
