// SPDX-License-Identifier: MIT
// The border between threads: a tape for each, made with its first Value and gone with its end; handles that die
// elsewhere; and the error for a Value that is used where it does not live.
#include <algorithm>
#include <atomic>

#include "mutex.hpp"
#include "store.hpp"

namespace gradwalk::detail {

constinit thread_local Tape tape;

namespace {

// Which threads have a tape, and the handles to their nodes that died on others. Never destroyed: Values outlive it.
struct Threads {
  Mutex mutex;
  std::uint32_t last = 0;
  struct Orphans {
    Store* store;
    std::vector<Ref> refs;
  };
  std::unordered_map<std::uint32_t, Orphans> orphans;
  std::vector<Store*> late;  // of tapes made when their thread's end was over
};
Threads& threads() {
  static Threads* const all = new Threads;
  return *all;
}

constinit thread_local bool thread_has_ended = false;

struct EndOfThread {
  ~EndOfThread() {
    thread_has_ended = true;
    {
      const std::lock_guard lock(threads().mutex);
      threads().orphans.erase(tape.thread);
    }
    unreserve(tape.base, tape.store->reserved_words);
    delete tape.store;
    tape = Tape{};
  }
};

}  // namespace

void start_tape() {
  std::size_t words = largest_tape;
  Word* base = nullptr;
  while ((base = reserve(words)) == nullptr && words > std::size_t{16} * chunk_words) words /= 2;
  if (base == nullptr) throw Error("Value", "memory for a tape", "none", "free some, or raise the process's limit");
  tape.store = new Store;
  {
    const std::lock_guard lock(threads().mutex);
    tape.thread = ++threads().last;
    threads().orphans[tape.thread].store = tape.store;
    if (thread_has_ended) threads().late.push_back(tape.store);  // by a thread_local object's destructor: let it be
  }
  if (!thread_has_ended) {
    thread_local const EndOfThread end;
    static_cast<void>(end);
  }
  tape.base = base;
  tape.store->reserved_words = words;
  tape.first_leaf = static_cast<Ref>(words / 2);
  // Half a page off the records: loads from addresses that end as those of recent stores do are held up.
  tape.store->next_leaf = tape.first_leaf + 256;
  tape.store->chunks.emplace_back();
  enter_chunk(0);
  tape.start = tape.clean_from = tape.top;
}

void let_go_elsewhere(std::uint32_t thread, Ref ref) noexcept {
  const std::lock_guard lock(threads().mutex);
  const auto found = threads().orphans.find(thread);
  if (found == threads().orphans.end()) return;
  found->second.refs.push_back(ref);
  found->second.store->has_orphans = true;
}

void release_orphans_now() {
  std::vector<Ref> orphans;
  {
    const std::lock_guard lock(threads().mutex);
    orphans.swap(threads().orphans[tape.thread].refs);
    tape.store->has_orphans = false;
  }
  for (const Ref ref : orphans) let_go(ref);
}

void refuse(std::uint32_t thread, const char* call) {
  if (thread == 0) throw Error(call, "a Value", "one that was moved from", "assign to it before you use it again");
  const std::lock_guard lock(threads().mutex);
  const bool ended = !threads().orphans.contains(thread);
  throw Error(call, "a Value of this thread", ended ? "one whose thread has ended" : "one of another thread",
              "build and use a graph on one thread, and hand numbers between threads");
}

}  // namespace gradwalk::detail
