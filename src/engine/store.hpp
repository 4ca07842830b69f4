// SPDX-License-Identifier: MIT
// The state of a tape that operations seldom need (Store), how a Value is made from a Ref (Handle), and the functions
// that the engine's files share. Users never see this file.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "gradwalk/graph.hpp"
#include "gradwalk/reading.hpp"
#include "memory.hpp"
#include "records.hpp"
#include "text/numbers.hpp"  // IWYU pragma: export

namespace gradwalk::detail {

inline constexpr Ref chunk_words =
    8192;  // 64 KiB: the nodes of a chunk die together, so small chunks are reused sooner
inline constexpr std::size_t least_to_collect = 32;
inline constexpr std::uint32_t no_chunk = ~0u;

constexpr Ref chunk_at(std::uint32_t index) { return index * chunk_words; }

// The function of a custom node. If its node has died, it waits in a list until it can be destroyed.
struct Callback {
  StepBack step_back;
  Callback* next = nullptr;
};

struct Chunk {
  std::uint32_t previous = no_chunk;  // the chunk that was filled before this one
  Ref end = 0;                        // where the records of that chunk end
  bool used = false;
};

struct SharedTable;

struct Store {
  HotTape parked = {};  // the hot part of the tape, while the tape is not mounted on a thread
  Memory memory = {};

  // Owners and threads (handover.cpp).
  // Whether a thread uses the tape; another tape may be mounted there for a while. An int, as g++ 12 for RISC-V would
  // exchange a bool by a function of libatomic.
  std::atomic<int> in_use = false;
  std::atomic<bool> has_ended = false;    // the thread that made the tape has ended
  std::atomic<int> owners = 1;            // the thread that made it, and Tape objects
  std::atomic<std::int64_t> balance = 0;  // far above 0 while there are owners; afterwards the number of handles left
  std::int64_t handles_left = 0;          // the number of handles when the last owner went
  std::atomic<Ref> lost = 0;              // list of nodes whose handles died while the tape was not mounted

  // Chunks (tape.cpp, collect.cpp). Creation order follows `previous`, not the index.
  std::vector<Chunk> chunks;
  std::uint32_t current = no_chunk;
  std::size_t chunks_used = 0;
  bool went_round = false;                    // since the tape was last empty: older records may lie above newer ones
  std::size_t collect_at = least_to_collect;  // number of used chunks at which dead ones are searched for
  std::size_t peak = 0;                       // most chunks used since the tape was last empty

  // The records of the last sweep, if only its root has handles: they are freed at once. swept_end becomes 0 as soon as
  // that may have changed: a new handle or label, an expanded record, anything popped or collected.
  Ref swept_begin = 0, swept_end = 0;

  // Leaves (leaves.cpp). Lists of leaves run through `operands`.
  Ref next_leaf = 0;                // the first leaf that was never used
  Ref waiting_leaves = 0;           // list of dead leaves that a record may still read
  std::size_t leaves_waiting = 0;   // its length
  std::size_t freed_unordered = 0;  // leaves freed since the list of free leaves was last sorted
  std::size_t steps_to_census = 0;  // empty tapes until unused leaves are given back to the system; 0: not needed
  std::size_t collect_leaves_at = 16384;

  // NoGrad (no_grad.cpp).
  int no_grad = 0;                           // number of guards alive
  Ref recorded_top = 0, recorded_limit = 0;  // tape.top and tape.limit without the guards
  Ref guard = 0;                             // number of the outermost guard
  Ref free_cell = 0;                         // list of free cells for results
  std::vector<bool> has_cells;               // whether a batch of the leaf region holds cells instead of leaves

  // Comparisons that became bools while no WatchRecording was notified (choice.cpp), until what was recorded after them
  // is gone.
  struct NotedDecision {
    Ref at, top;  // the end of the tape, without what only the comparison needs and with it
    Decision decision;
  };
  std::vector<NotedDecision> decisions;

  // Nodes that need more than their four words, by Ref.
  std::unordered_map<Ref, std::vector<Ref>> expanded_parts;  // parts of an expanded record; with any, passes search
  std::unordered_map<Ref, double> exposed_gradients;         // gradient that the last pass left in an exposed record
  std::vector<Ref> exposed_clean;  // exposed records that no pass had reached yet; some may have died
  std::unordered_map<Ref, std::string> labels;
  std::unordered_map<Ref, std::size_t> spilled_handles;
  std::unordered_map<Ref, std::string> custom_names;
  std::unordered_map<Ref, std::unique_ptr<Callback>> callbacks;  // functions of custom nodes; with any, passes search
  Callback* dropped_callbacks = nullptr;                         // list of callbacks to destroy
  bool is_dropping_callbacks = false;

  // LookupTables by their numbers (pick.cpp). Entries of tables that were destroyed are erased now and then.
  std::unordered_map<Word, std::weak_ptr<const SharedTable>> tables;
  Word last_table = 0;
  std::size_t clear_tables_at = 64;

  std::vector<Ref> order, stack;  // memory of searches, kept between them
};

// Makes Values from Refs and back.
struct Handle {
  static Value adopt(Ref ref) { return Value::adopt(ref); }  // takes over a handle that was counted already
  static Value share(Ref ref);                               // counts one more handle
  // The Ref of a Value, for a function that looks at its graph. `call` is the name in its Errors.
  static Ref ref(const Value& value, const char* call);
  // The tape of a Value. If the Value holds a number, it first becomes a leaf on the thread's tape.
  static std::uint32_t tape_of(const Value& value, const char* call) {
    return value.tape_ == 0 || value.holds_number() ? (value.node_ref(call), value.tape_) : value.tape_;
  }
};

inline Value Handle::share(Ref ref) {
  tape.store->swept_end = 0;
  const Node& node = *tape.node(ref);
  const bool pins_owner = !is_held(node) && in_leaf_region(ref) && op_of(node) != Op::leaf;
  if (pins_owner) add_handle(extra_of(node));
  add_handle(ref);
  return adopt(ref);
}

inline constexpr const char* handover_advice =
    "build and use a graph on one thread, hand numbers between threads, or hand its Tape over";

// backward.cpp: the gradients of a root with respect to the inputs, if all records of its graph lie on the tape from
// `bottom` on; otherwise nothing. Gradients of other nodes stay as they were.
std::optional<std::vector<double>> gradients_of_newest(const Value& root, Ref bottom, std::span<const Value> inputs);

// graph.cpp
void expand(Ref ref);  // turns the parts of a fused record into nodes of their own; does nothing to other records
Ref look_into(const Value& value, const char* call);  // expands the record of a Value and returns its Ref
double pass_gradient(Ref ref);  // the gradient that the last pass left, also if the user has written another one since
// The id under which a snapshot knows a node: for a part of an expanded record the id of that record and the number of
// the part, counted from 1; for any other node its id and 0. `known` caches the numbers between calls.
std::pair<std::uint64_t, std::size_t> written_id(const Value& value, std::unordered_map<Ref, std::size_t>& known);

// custom.cpp
const std::string& custom_name(Ref ref);
void need_derivatives(const char* call, Ref ref);  // throws an Error for a node whose derivatives are a function
void drop_callbacks() noexcept;                    // destroys the callbacks of nodes that have died
inline Callback* callback_of(Ref ref) {
  if (tape.store->callbacks.empty()) return nullptr;
  const auto found = tape.store->callbacks.find(ref);
  return found == tape.store->callbacks.end() ? nullptr : found->second.get();
}

// choice.cpp
void report_left(const Value& value);  // reports to a WatchRecording, if there is one

// tape.cpp and collect.cpp
void enter_chunk(std::uint32_t index);
void leave_chunk();
std::uint32_t next_chunk();  // index of a free chunk
void begin_again();          // called when the tape has become empty
void collect();              // finds what live handles need; frees whole dead chunks and dead leaves

// handles.cpp
void trim();           // pops the newest records that no handle holds
void forget(Ref ref);  // drops what the store knows about a node that dies

// no_grad.cpp
void finish_result();               // turns the newest result under NoGrad into a leaf
void make_cell_the_top(Ref words);  // lets the next record be written into a cell of the leaf region
Value no_grad_result(double data);

// handover.cpp
void release_lost_now();
inline void release_lost() {  // lets go of handles that died while the tape was not mounted
  if (tape.store->lost.load(std::memory_order_relaxed) != 0) release_lost_now();
}

// Finishes a result of NoGrad that is still being written. Called before anything looks at the tape.
inline void settle() {
  if (in_leaf_region(tape.top)) finish_result();
}
// Keeps the newest record from becoming part of a sum, which would lose its gradient or would not be recorded.
inline void keep_newest() { tape.node(tape.top - 4)->head |= touched; }
inline void set_limit(Ref limit) { (tape.store->no_grad > 0 ? tape.store->recorded_limit : tape.limit) = limit; }

inline Ref Handle::ref(const Value& value, const char* call) {
  value.node_ref(call);
  settle();
  return value.ref_;
}

}  // namespace gradwalk::detail
