// SPDX-License-Identifier: MIT
// What the engine's own files share and its users never see: the part of a tape that is seldom needed, and walks over
// the words of a record.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "gradwalk/graph.hpp"
#include "memory.hpp"
#include "text/numbers.hpp"

namespace gradwalk::detail {

inline constexpr Ref chunk_words = 8192;  // 64 KiB: nodes of one chunk die together, so small ones are reused sooner
inline constexpr std::size_t least_to_collect = 32;
inline constexpr std::uint32_t no_chunk = ~0u;

// Half a page off the records: loads from addresses that end as those of recent stores do are held up.
inline constexpr Ref leaves_begin = first_leaf + 256;

constexpr Ref chunk_at(std::uint32_t place) { return place * chunk_words; }

struct Callback {
  StepBack step_back;
  Callback* next = nullptr;  // of those whose nodes are gone
};

struct Chunk {
  std::uint32_t previous = no_chunk;  // the chunk filled before this one
  Ref end = 0;                        // where that one's records ended when this one was opened
  bool used = false;
};

struct Store {
  OpenTape parked = {};  // the tape itself, while no thread has it before it
  Memory memory = {};
  std::atomic<bool> in_use = false;       // by a thread, be it parked there for another
  std::atomic<bool> has_ended = false;    // its thread has
  std::atomic<int> owners = 1;            // the thread that made it, and Tapes
  std::atomic<std::int64_t> balance = 0;  // without owners: handles left; with them: far above 0 (handover.cpp)
  std::int64_t handles_left = 0;          // when its last owner went
  std::atomic<Ref> lost = 0;              // the list of nodes of which handles ended elsewhere
  std::vector<Chunk> chunks;              // by place; creation order goes through `previous`
  std::uint32_t current = no_chunk;
  std::size_t chunks_used = 0;
  bool went_round = false;                    // since the tape was last empty: older records may lie above newer ones
  std::size_t collect_at = least_to_collect;  // chunks in use at which dead ones are looked for
  std::size_t peak = 0;                       // chunks used at most since the tape was last empty
  // What the last sweep passed over, if only its root has handles: it goes at once. 0 as soon as that may have changed:
  // a new handle or label, a node opened, anything popped or collected.
  Ref swept_begin = 0, swept_end = 0;
  Ref next_leaf = 0;       // leaf memory never used before
  Ref waiting_leaves = 0;  // dead, but a node may still read them: a list through `operands`
  std::size_t leaves_waiting = 0;
  std::size_t freed_unordered = 0;  // waiting leaves that went to the list since it was last put in order
  std::size_t steps_to_census = 0;  // until leaves are looked through for what can go back; 0: not needed
  std::size_t collect_leaves_at = 16384;
  int no_grad = 0;                                       // guards alive; while there are any, see no_grad.cpp:
  Ref recorded_top = 0, recorded_limit = 0;              // what tape.top and tape.limit stand for
  Ref guard = 0;                                         // the number of the outermost guard
  Ref free_cell = 0;                                     // where results may lie: a list through `operands`
  std::vector<bool> has_cells;                           // by batch of leaves: whether cells lie there instead
  std::unordered_map<Ref, std::vector<Ref>> kept_apart;  // an opened node's own nodes; with any, backward() searches
  std::unordered_map<Ref, double> exposed_gradients;     // of exposed records: the gradient that the last pass left
  std::vector<Ref> exposed_clean;                        // those that no pass had reached; some may be gone
  std::unordered_map<Ref, std::string> labels;
  std::unordered_map<Ref, std::size_t> spilled_handles;
  std::unordered_map<Ref, std::string> custom_names;
  std::unordered_map<Ref, std::unique_ptr<Callback>> callbacks;  // of custom nodes; with any, backward() searches
  Callback* dropped_callbacks = nullptr;                         // to be destroyed where nothing is half done
  bool is_dropping_callbacks = false;
  std::vector<Ref> order, stack;  // room for searches, kept between them
};

struct Handle {
  static Value adopt(Ref ref) { return Value::adopt(ref); }
  static Value share(Ref ref);                                          // one more handle
  static std::uint32_t tape_of(const Value& value, const char* call) {  // of a node; a number becomes one here
    return value.tape_ == 0 || value.holds_number() ? (value.node_ref(call), value.tape_) : value.tape_;
  }
  static Ref ref(const Value& value, const char* call);  // for a function that looks at graphs
};

inline bool apart(Ref ref) { return ref >= first_leaf; }
inline bool is_leaf(Ref ref) { return op_of(*tape.node(ref)) == Op::leaf; }
inline bool is_constant(Ref ref) { return op_of(*tape.node(ref)) == Op::constant; }
inline std::uint32_t words_below(const Node& node) { return has_third(op_of(node)) ? 0 : extra_of(node); }
inline Ref older(Ref ref) { return ref - words_below(*tape.node(ref)) - 4; }  // the record before, in the same run
inline double value_of(Ref operand, Ref at) {  // of an operand that stands in the word at `at`
  return operand == literal ? tape.number(at - 1) : tape.node(operand)->data;
}

constexpr bool is_node(Ref operand) { return operand < last_ref; }
constexpr bool are_nodes(Word operands) { return is_node(first(operands)) && is_node(second(operands)); }
constexpr bool has_literal(Word operands) { return first(operands) == literal || second(operands) == literal; }

// Calls term(operands, at) for each term of a sum_of_products, last to first; `at` is where the operands stand.
template <class Term> void each_term(Ref sum, Term term) {
  const Ref begin = sum - extra_of(*tape.node(sum));
  for (Ref at = sum; at >= begin; --at) {
    const Word operands = tape.word(at);
    term(operands, at);
    if (!are_nodes(operands)) at -= has_literal(operands);
  }
}

// Of a choice: the condition, and its numbers.
inline Ref condition_of(Ref ref) { return static_cast<Ref>(tape.word(ref - 1)); }
inline std::pair<double, double> values_of_choice(Ref ref) {
  const Word operands = tape.node(ref)->operands;
  const double y = second(operands) == literal ? tape.number(ref - 2) : tape.node(second(operands))->data;
  if (first(operands) != literal) return {tape.node(first(operands))->data, y};
  return {tape.number(second(operands) == literal ? ref - 3 : ref - 2), y};
}

// The op of a record that stands for several: that of its root.
inline Op shown_op(Op op) {
  if (op == multiply_add || op == sum_of_products) return Op::add;
  return op == minus_product || op == product_minus ? Op::sub : op;
}

inline bool is_third_first(const Node& node) {
  return op_of(node) == minus_product || (op_of(node) == multiply_add && (node.head & z_first) != 0);
}

// Calls visit(operand) for each operand that is a node, last to first.
template <class Visit> void each_operand(Ref ref, Visit visit) {
  const Node& node = *tape.node(ref);
  const auto both = [&](Word operands) {
    if (is_node(second(operands))) visit(second(operands));
    if (is_node(first(operands))) visit(first(operands));
  };
  switch (code(op_of(node))) {
    case code(Op::leaf): break;
    case code(Op::select):
      both(node.operands);
      visit(condition_of(ref));
      break;
    case code(sum_of_products): each_term(ref, [&](Word operands, Ref) { both(operands); }); break;
    case code(Op::custom):
      for (Ref at = ref; at > ref - extra_of(node); at -= 2) visit(static_cast<Ref>(tape.word(at - 1)));
      break;
    case code(multiply_add):
    case code(minus_product):
    case code(product_minus): {
      const bool first = is_third_first(node);
      if (!first) visit(extra_of(node));
      both(node.operands);
      if (first) visit(extra_of(node));
      break;
    }
    default: both(node.operands);
  }
}

inline Value Handle::share(Ref ref) {
  tape.store->swept_end = 0;
  const Node& node = *tape.node(ref);
  const bool pins_owner = !is_held(node) && apart(ref) && op_of(node) != Op::leaf;
  if (pins_owner) take_handle(extra_of(node));
  take_handle(ref);
  return adopt(ref);
}

inline constexpr const char* handover_advice =
    "build and use a graph on one thread, hand numbers between threads, or hand its Tape over";

// The gradients of a root by inputs, all of whose records lie on the tape from `bottom` on; or nothing. It leaves no
// deposit but in those records and in the inputs.
std::optional<std::vector<double>> gradients_of_newest(const Value& root, Ref bottom, std::span<const Value> inputs);

// The gradient that the last pass left in a record, also if its user has written another one since.
double pass_gradient(Ref ref);
void open(Ref ref);                                   // makes the parts of a record nodes of their own
Ref look_into(const Value& value, const char* call);  // the node, its parts made nodes of their own
const std::string& custom_name(Ref ref);
inline Callback* callback_of(Ref ref) {
  if (tape.store->callbacks.empty()) return nullptr;
  const auto found = tape.store->callbacks.find(ref);
  return found == tape.store->callbacks.end() ? nullptr : found->second.get();
}
void need_derivatives(const char* call, Ref ref);  // refuses a node that has a step back instead
// Of a node that is kept apart as a part of another: that one's id, and which of its own it is, from 1; of others 0.
// `known` remembers the numbers of parts, for who asks for many.
std::pair<std::uint64_t, std::size_t> written_id(const Value& value, std::unordered_map<Ref, std::size_t>& known);

void enter_chunk(std::uint32_t place);
void leave_chunk();
std::uint32_t next_place();  // for a chunk
void begin_again();          // on a tape that has become empty
void trim();                 // pops the newest nodes as long as no handle holds them
void finish_result();        // makes the newest result under NoGrad a leaf
void make_cell_the_top(Ref words);
Value no_grad_result(double data);
void report_left(const Value& value);  // to the hook, if there is one
void drop_callbacks() noexcept;        // of nodes that are gone
void forget(Ref ref);                  // drops what the store keeps about a node that is going
void free_leaf(Ref ref);
void wait_as_leaf(Ref ref);        // dead, but records may read it
void free_waiting_leaves();        // all but those that collect() has marked
void give_back_leaves() noexcept;  // to the system
void collect();                    // finds what live handles still need, gives whole dead chunks and dead leaves back

void release_lost_now();
inline void release_lost() {  // handles that ended on other threads
  if (tape.store->lost.load(std::memory_order_relaxed) != 0) release_lost_now();
}

// Before anything that looks at the tape.
inline void settle() {
  if (apart(tape.top)) finish_result();
}
// The newest record must not become part of a sum: one that is not recorded, or one that would lose its gradient.
inline void keep_newest() { tape.node(tape.top - 4)->head |= touched; }
inline void set_limit(Ref limit) { (tape.store->no_grad > 0 ? tape.store->recorded_limit : tape.limit) = limit; }

inline Ref Handle::ref(const Value& value, const char* call) {
  value.node_ref(call);
  settle();
  return value.ref_;
}

// Leaves and results of NoGrad come in batches of one size.
inline constexpr std::uint32_t leaf_batch = 1024, cell_words = 5, cells_in_batch = 4 * leaf_batch / cell_words;
inline constexpr Ref batch_words = 4 * leaf_batch;
inline bool has_cells(Ref batch) {
  const std::size_t number = (batch - leaves_begin) / batch_words;
  return number < tape.store->has_cells.size() && tape.store->has_cells[number];
}
Ref take_batch(const Ref& free_ones);
inline void free_head(Ref ref) {  // so that free ones are told from those in use
  unpoison(ref, 4);
  tape.node(ref)->head = 0;
}

// Calls visit(ref) for each place in the batch where a leaf or a result may lie.
template <class Visit> void each_place(Ref batch, Visit visit) {
  if (has_cells(batch))
    for (std::uint32_t i = 0; i < cells_in_batch; ++i) visit(batch + i * cell_words + 1);
  else
    for (std::uint32_t i = 0; i < leaf_batch; ++i) visit(batch + i * 4);
}
template <class Visit> void each_in_list(Ref list, Visit visit) {
  for (Ref next = 0; list != 0; list = next) {
    next = static_cast<Ref>(tape.node(list)->operands);
    visit(list);
  }
}

}  // namespace gradwalk::detail
