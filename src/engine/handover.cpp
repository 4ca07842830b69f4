// SPDX-License-Identifier: MIT
// Tapes and threads: the tape that a thread gets with its first Value, tapes handed from thread to thread, handles that
// die where their tape is not mounted, and the Error for a Value used on the wrong thread.
//
// A tape outlives its owners (its thread and Tape objects) as long as handles to its nodes are left. While it has
// owners, `balance` is far above 0, and each handle that dies elsewhere decreases it. When the last owner goes,
// `balance` becomes the number of handles left, and the thread that decreases it to 0 frees the tape. Nothing here
// locks, and releasing a handle does not allocate, so it is safe in any destructor and while another thread forks.
#include <memory>

#include "gradwalk/tapes.hpp"
#include "leaf_region.hpp"
#include "platform/thread_end.hpp"

namespace gradwalk {
namespace detail {

constinit thread_local HotTape tape;

namespace {

constexpr std::int64_t owned = std::int64_t{1} << 40;
const char this_copy = 0;  // Its address identifies this copy of the library in the process.

constinit thread_local bool thread_has_ended = false;
constinit thread_local SharedTape* shared_here = nullptr;  // the SharedTape that this thread used last
constinit thread_local bool leaves_shared_tape_at_end = false;

void leave_shared_tape() noexcept {
  if (SharedTape* const shared = std::exchange(shared_here, nullptr)) shared->leave();
}

void free_tape(Store& store) noexcept {
  const Memory memory = store.memory;
#ifdef GRADWALK_POISON
  ASAN_UNPOISON_MEMORY_REGION(memory.base, memory.records * sizeof(Word));
  ASAN_UNPOISON_MEMORY_REGION(memory.base + first_leaf, memory.leaves * sizeof(Word));
#endif
  delete &store;
  unreserve(memory);
}

// Counts a dead handle beside its node and puts the node on a list, which the next user of the tape empties.
void lose(Store& store, Ref ref) noexcept {
  if (Lost* const lost = lost_handles(store.memory.base, ref); lost != nullptr) {
    if (lost->count.fetch_add(1) == 0) {
      Ref head = store.lost.load();
      do lost->next = head;
      while (!store.lost.compare_exchange_weak(head, ref));
    }
  }
  if (store.balance.fetch_sub(1) == 1) free_tape(store);
}

Store* make_tape() {
  auto store = std::make_unique<Store>();
  store->chunks.emplace_back();
  const Memory memory = reserve();
  if (memory.base == nullptr)
    throw Error("Value", "memory for a tape", "none", "free some, or raise the process's limit");
  store->memory = memory;
  store->balance = owned;
  header_of(id_of(memory.base)) = {&this_copy, lose, store.get()};

  const HotTape before = std::exchange(tape, HotTape{});
  tape.base = memory.base;
  tape.id = id_of(memory.base);
  tape.store = store.get();
  store->next_leaf = leaves_begin;
  enter_chunk(0);
  tape.start = tape.clean_from = tape.top;
  store->parked = std::exchange(tape, before);
  return store.release();
}

// Mounts a tape on this thread, or none. The tape that was mounted is parked.
void mount(Store* store) {
  if (tape.store != nullptr) {
    settle();
    tape.store->parked = tape;
  }
  tape = store != nullptr ? store->parked : HotTape{};
}

std::int64_t handles_of(Ref ref) {
  const Node& node = *tape.node(ref);
  const auto spilled_too = tape.store->spilled_handles.find(ref);
  const std::size_t more = spilled_too == tape.store->spilled_handles.end() ? 0 : spilled_too->second;
  return static_cast<std::int64_t>((without_extra(node.head) / one_handle) + more);
}

// The number of handles of the mounted tape.
std::int64_t count_handles() {
  release_lost();
  for (const Ref list : {tape.free_leaf, tape.store->free_cell}) each_in_list(list, mark_free);
  std::int64_t count = 0;
  Ref top = tape.top;
  for (std::uint32_t index = tape.store->current; index != no_chunk; index = tape.store->chunks[index].previous) {
    for (Ref ref = top - 4; ref > chunk_at(index); ref = older(ref)) count += handles_of(ref);
    top = tape.store->chunks[index].end;
  }
  for (Ref batch = leaves_begin; batch < tape.store->next_leaf; batch += batch_words) {
    each_in_batch(batch, [&](Ref ref) {
      count += handles_of(ref);
      if (op_of(*tape.node(ref)) != Op::leaf && is_held(*tape.node(ref))) --count;  // A part holds its record.
    });
  }
  return count;
}

void add_owner(Store& store) {
  if (store.owners.fetch_add(1) == 0) store.balance.fetch_add(owned - store.handles_left);
}

// The tape is not mounted on any thread: only owners and handles lead to it.
void remove_owner(Store& store) noexcept {
  if (store.owners.fetch_sub(1) != 1) return;
  Store* const before = tape.store;
  mount(&store);
  if (!store.callbacks.empty()) collect();  // The callbacks of dead nodes may hold handles.
  const std::int64_t left = store.handles_left = count_handles();
  mount(before);
  if (store.balance.fetch_sub(owned - left) == owned - left) free_tape(store);
}

// Ends the use of a thread's own tape.
void end_thread(void* own) noexcept {
  Store* const store = static_cast<Store*>(own);
  leave_shared_tape();
  thread_has_ended = true;
  if (tape.store == store) mount(nullptr);
  store->in_use = false;
  store->has_ended = true;
  remove_owner(*store);
}

}  // namespace

void start_tape() {
  Store* const store = make_tape();
  store->in_use = true;
  mount(store);
  if (thread_has_ended) return;  // A destructor of a thread_local or static object made it; it is never freed.
  platform::at_thread_end(end_thread, store);
}

void release_handle_of_other_tape(std::uint32_t of, Ref ref) noexcept {
  const Header& header = header_of(of);
  header.lose(*header.store, ref);
}

void release_lost_now() {
  Store& store = *tape.store;
  Ref next = store.lost.exchange(0);
  while (next != 0) {
    const Ref ref = next;
    Lost& lost = *lost_handles(store.memory.base, ref);
    next = lost.next;
    const Ref count = lost.count.exchange(0);
    store.balance.fetch_add(count);
    for (Ref i = 0; i < count; ++i) release_handle(ref);
  }
}

void refuse(std::uint32_t of, const char* call) {
  if (of == 0) throw Error(call, "a Value", "one that was moved from", "assign to it before you use it again");
  const Header& header = header_of(of);
  if (header.copy != &this_copy)
    throw Error(call, "a Value of this copy of the library", "one of another copy in the same process",
                "link everything in the process to one shared libgradwalk");
  throw Error(call, "a Value of this thread",
              header.store->has_ended ? "one whose thread has ended" : "one of another thread", handover_advice);
}

}  // namespace detail

using namespace detail;

Tape::Tape() : store_(make_tape()) {}

Tape::Tape(Store* store) : store_(store) { add_owner(*store_); }

Tape::Tape(const Tape& other) noexcept : store_(other.store_) { add_owner(*store_); }

Tape& Tape::operator=(const Tape& other) noexcept {
  Tape taken(other);
  std::swap(store_, taken.store_);
  return *this;
}

Tape::~Tape() { remove_owner(*store_); }

Tape Tape::current() {
  if (tape.store == nullptr) start_tape();
  return Tape(tape.store);
}

Tape Tape::of(const Value& value) {
  const std::uint32_t id = Handle::tape_of(value, "Tape::of");
  const Header& header = header_of(id);
  if (header.copy != &this_copy) refuse(id, "Tape::of");
  return Tape(header.store);
}

std::uint32_t Tape::id() const { return id_of(store_->memory.base); }

UseTape::UseTape(const Tape& used) : used_(used) {
  if (tape.store == used_.store_) return;
  if (used_.store_->in_use.exchange(true))
    throw Error("UseTape", "a tape in nobody's use", "one that is in use", "end its use there first");
  before_ = tape.store;
  changes_ = true;
  mount(used_.store_);
}

UseTape::~UseTape() {
  if (!changes_) return;
  mount(before_);
  used_.store_->in_use = false;
}

namespace {
HotTape being_moved;  // Its address in user_ means that a thread is moving the tape.
}

SharedTape::SharedTape() { tape_.store_->in_use = true; }

SharedTape::~SharedTape() {
  leave();
  tape_.store_->in_use = false;
}

// Returns where the tape is mounted, and keeps other threads away until user_ is set again. With `wanted`, returns
// nullptr if it is mounted elsewhere. A thread that ends does not hold the lock, so two threads may call this at once.
HotTape* SharedTape::take_from_user(HotTape* wanted) noexcept {
  for (;;) {
    HotTape* user = __atomic_load_n(&user_, __ATOMIC_SEQ_CST);
    if (user == &being_moved) continue;  // Wait: the other thread needs only a few instructions.
    if (wanted != nullptr && user != wanted) return nullptr;
    if (__atomic_compare_exchange_n(&user_, &user, &being_moved, true, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) return user;
  }
}

void SharedTape::move_here() {
  if (!leaves_shared_tape_at_end) {
    platform::at_thread_end([](void*) noexcept { leave_shared_tape(); }, nullptr);
    leaves_shared_tape_at_end = true;
  }
  if (shared_here != nullptr && shared_here != this) shared_here->leave();
  HotTape* const user = take_from_user(nullptr);
  if (user != nullptr && user->store == tape_.store_) {
    tape_.store_->parked = *user;
    *user = before_ != nullptr ? before_->parked : HotTape{};
  }
  before_ = tape.store;
  mount(tape_.store_);
  shared_here = this;
  __atomic_store_n(&user_, &tape, __ATOMIC_SEQ_CST);
}

void SharedTape::leave() noexcept {
  if (shared_here == this) shared_here = nullptr;
  if (take_from_user(&tape) == nullptr) return;
  if (is_here()) mount(before_);
  before_ = nullptr;
  __atomic_store_n(&user_, nullptr, __ATOMIC_SEQ_CST);
}

}  // namespace gradwalk
