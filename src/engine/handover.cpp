// SPDX-License-Identifier: MIT
// Tapes and threads: a tape for each thread, made with its first Value; tapes handed from thread to thread; handles
// that end where their tape is not; and the error for a Value that is used where it does not live.
//
// A tape outlives its owners (its thread, and Tapes) as long as a handle to one of its nodes is left. While it has
// owners, `balance` is far above 0 and falls with every handle that ends elsewhere; when the last owner goes, it
// becomes the number of handles left, and who takes it to 0 frees the tape. Nothing here locks or, when a handle ends,
// allocates: it may be done in any destructor, and while another thread forks.
#include <memory>

#include "gradwalk/tapes.hpp"
#include "store.hpp"

namespace gradwalk {
namespace detail {

constinit thread_local OpenTape tape;

namespace {

constexpr std::int64_t owned = std::int64_t{1} << 40;
const char this_copy = 0;  // its address tells the copies of the library in a process apart

constinit thread_local bool thread_has_ended = false;
constinit thread_local SharedTape* shared_here = nullptr;  // the one this thread used last

void leave_shared_tape() noexcept {
  if (SharedTape* const shared = std::exchange(shared_here, nullptr)) shared->leave();
}

struct EndOfUse {
  ~EndOfUse() { leave_shared_tape(); }
};

void free_tape(Store& store) noexcept {
  const Memory memory = store.memory;
#ifdef GRADWALK_POISON
  ASAN_UNPOISON_MEMORY_REGION(memory.base, memory.records * sizeof(Word));
  ASAN_UNPOISON_MEMORY_REGION(memory.base + first_leaf, memory.leaves * sizeof(Word));
#endif
  delete &store;
  unreserve(memory);
}

// The handle is noted beside its node, and its node listed, for whoever has the tape next.
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

  const OpenTape before = std::exchange(tape, OpenTape{});
  tape.base = memory.base;
  tape.id = id_of(memory.base);
  tape.store = store.get();
  store->next_leaf = leaves_begin;
  enter_chunk(0);
  tape.start = tape.clean_from = tape.top;
  store->parked = std::exchange(tape, before);
  return store.release();
}

// Puts the tape before this thread; what was there is parked.
void open(Store* store) {
  if (tape.store != nullptr) {
    settle();
    tape.store->parked = tape;
  }
  tape = store != nullptr ? store->parked : OpenTape{};
}

std::int64_t handles_of(Ref ref) {
  const Node& node = *tape.node(ref);
  const auto spilled_too = tape.store->spilled_handles.find(ref);
  const std::size_t more = spilled_too == tape.store->spilled_handles.end() ? 0 : spilled_too->second;
  return static_cast<std::int64_t>((without_extra(node.head) / one_handle) + more);
}

// Of the open tape: how many handles its users have.
std::int64_t count_handles() {
  release_lost();
  for (const Ref list : {tape.free_leaf, tape.store->free_cell}) each_in_list(list, free_head);
  std::int64_t count = 0;
  Ref top = tape.top;
  for (std::uint32_t place = tape.store->current; place != no_chunk; place = tape.store->chunks[place].previous) {
    for (Ref ref = top - 4; ref > chunk_at(place); ref = older(ref)) count += handles_of(ref);
    top = tape.store->chunks[place].end;
  }
  for (Ref batch = leaves_begin; batch < tape.store->next_leaf; batch += batch_words) {
    each_place(batch, [&](Ref ref) {
      count += handles_of(ref);
      if (op_of(*tape.node(ref)) != Op::leaf && is_held(*tape.node(ref))) --count;  // it holds its owner
    });
  }
  return count;
}

void add_owner(Store& store) {
  if (store.owners.fetch_add(1) == 0) store.balance.fetch_add(owned - store.handles_left);
}

// Of a tape that no thread has before it. Nobody has a way to it but through its owners, or a handle.
void remove_owner(Store& store) noexcept {
  if (store.owners.fetch_sub(1) != 1) return;
  Store* const before = tape.store;
  open(&store);
  if (!store.callbacks.empty()) collect();  // those of dead nodes hold handles
  const std::int64_t left = store.handles_left = count_handles();
  open(before);
  if (store.balance.fetch_sub(owned - left) == owned - left) free_tape(store);
}

struct EndOfThread {
  Store* store;
  ~EndOfThread() {
    leave_shared_tape();
    thread_has_ended = true;
    if (tape.store == store) open(nullptr);
    store->in_use = false;  // NOLINT(clang-analyzer-core.CallAndMessage): it was set when the thread began
    store->has_ended = true;
    remove_owner(*store);
  }
};

}  // namespace

void start_tape() {
  Store* const store = make_tape();
  store->in_use = true;
  open(store);
  if (thread_has_ended) return;  // made by the destructor of a thread_local or static object: it is never freed
  thread_local const EndOfThread end{store};
  static_cast<void>(end);
}

void let_go_elsewhere(std::uint32_t of, Ref ref) noexcept {
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
    for (Ref i = 0; i < count; ++i) let_go(ref);
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
  open(used_.store_);
}

UseTape::~UseTape() {
  if (!changes_) return;
  open(before_);
  used_.store_->in_use = false;
}

namespace {
OpenTape being_moved;  // its address stands for a tape that is on its way
}

SharedTape::SharedTape() { tape_.store_->in_use = true; }

SharedTape::~SharedTape() {
  leave();
  tape_.store_->in_use = false;
}

// The place where the tape is open, which nobody else touches until user_ is set again: that of `wanted`, or of
// whoever it is. A thread that ends has no lock, so two may come at once.
OpenTape* SharedTape::take_from_user(OpenTape* wanted) noexcept {
  for (;;) {
    OpenTape* user = user_.load();
    if (user == &being_moved) continue;  // perhaps from here: this thread must not end meanwhile. It takes no time
    if (wanted != nullptr && user != wanted) return nullptr;
    if (user_.compare_exchange_weak(user, &being_moved)) return user;
  }
}

void SharedTape::move_here() {
  thread_local const EndOfUse end;
  static_cast<void>(end);
  if (shared_here != nullptr && shared_here != this) shared_here->leave();
  OpenTape* const user = take_from_user(nullptr);
  if (user != nullptr && user->store == tape_.store_) {
    tape_.store_->parked = *user;
    *user = before_ != nullptr ? before_->parked : OpenTape{};
  }
  before_ = tape.store;
  open(tape_.store_);
  shared_here = this;
  user_ = &tape;
}

void SharedTape::leave() noexcept {
  if (shared_here == this) shared_here = nullptr;
  if (take_from_user(&tape) == nullptr) return;
  if (is_here()) open(before_);
  before_ = nullptr;
  user_ = nullptr;
}

}  // namespace gradwalk
