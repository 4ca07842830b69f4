// SPDX-License-Identifier: MIT
// What the engine's own files share and its users never see: the part of a tape that is seldom needed, and walks over
// the words of a record.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <unordered_map>
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
  std::size_t collect_at = least_to_collect;  // chunks in use at which dead ones are looked for
  std::size_t peak = 0;                       // chunks used at most since the tape was last empty
  // What the last sweep passed over, if only its root has handles: it goes at once. 0 as soon as that may have changed:
  // a new handle or label, a node opened, anything popped or collected.
  Ref swept_begin = 0, swept_end = 0;
  Ref next_leaf = 0;       // leaf memory never used before
  Ref waiting_leaves = 0;  // dead, but a node may still read them: a list through `operands`
  std::size_t leaves_waiting = 0;
  std::size_t steps_to_census = 0;  // until leaves are looked through for what can go back; 0: not needed
  std::size_t collect_leaves_at = 16384;
  int no_grad = 0;                                       // guards alive
  std::uint32_t no_grad_chunk = no_chunk;                // what they make lies from this chunk on
  std::unordered_map<Ref, std::vector<Ref>> kept_apart;  // an opened node's own nodes; with any, backward() searches
  std::unordered_map<Ref, std::string> labels;
  std::unordered_map<Ref, std::size_t> spilled_handles;
  std::unordered_map<Ref, std::string> custom_names;
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

// Calls visit(operand, local derivative) for each operand of a sum's term that is a node.
template <class Visit> void each_local_of_term(Word term, Ref at, Visit visit, double times = 1) {
  using rules::Rule;
  const Ref p = first(term), q = second(term);
  if (q == nothing) {
    if (p != literal) visit(p, times * Rule<Op::add>::dx(0.0, 0.0, 0.0));
    return;
  }
  const double x = value_of(p, at), y = value_of(q, at);
  if (p != literal) visit(p, times * Rule<Op::mul>::dx(x, y, 0.0));
  if (q != literal) visit(q, times * Rule<Op::mul>::dy(x, y, 0.0));
}

// Calls visit(operand, local derivative) for each operand that is a node. Here rules meet records; the sweep has the
// same for the rules that call no function (backward.cpp).
template <class Visit> void each_local(Ref ref, Visit visit) {
  using rules::Rule;
  const Node& node = *tape.node(ref);
  const Ref a = first(node.operands), b = second(node.operands);
  switch (code(op_of(node))) {
#define GRADWALK_UNARY(name, ...) \
  case code(Op::name): visit(a, Rule<Op::name>::dx(tape.node(a)->data, node.data)); break;
#define GRADWALK_BINARY(name, ...)                                   \
  case code(Op::name): {                                             \
    const double x = value_of(a, ref), y = value_of(b, ref);         \
    if (a != literal) visit(a, Rule<Op::name>::dx(x, y, node.data)); \
    if (b != literal) visit(b, Rule<Op::name>::dy(x, y, node.data)); \
    break;                                                           \
  }
#include "gradwalk/ops.def"
#undef GRADWALK_UNARY
#undef GRADWALK_BINARY
    case code(multiply_add):
      visit(extra_of(node), Rule<Op::add>::dx(0.0, 0.0, 0.0));
      each_local_of_term(node.operands, ref, visit);
      break;
    case code(minus_product):
      visit(extra_of(node), Rule<Op::sub>::dx(0.0, 0.0, 0.0));
      each_local_of_term(node.operands, ref, visit, Rule<Op::sub>::dy(0.0, 0.0, 0.0));
      break;
    case code(product_minus):
      visit(extra_of(node), Rule<Op::sub>::dy(0.0, 0.0, 0.0));
      each_local_of_term(node.operands, ref, visit);
      break;
    case code(sum_of_products): each_term(ref, [&](Word term, Ref at) { each_local_of_term(term, at, visit); }); break;
    case code(Op::custom):
      for (Ref at = ref - extra_of(node); at < ref; at += 2)
        visit(static_cast<Ref>(tape.word(at + 1)), tape.number(at));
      break;
    default: break;
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

Ref look_into(const Value& value, const char* call);  // the node, its parts made nodes of their own
const std::string& custom_name(Ref ref);

void enter_chunk(std::uint32_t place);
std::uint32_t next_place();  // for a chunk
void trim();                 // pops the newest nodes as long as no handle holds them
void freeze();               // makes what was recorded under NoGrad numbers
void forget(Ref ref);        // drops what the store keeps about a node that is going
void free_leaf(Ref ref);
void wait_as_leaf(Ref ref);        // dead, but records may read it
void free_waiting_leaves();        // all but those that collect() has marked
void give_back_leaves() noexcept;  // to the system
void collect();                    // finds what live handles still need, gives whole dead chunks and dead leaves back

void release_lost_now();
inline void release_lost() {  // handles that ended on other threads
  if (tape.store->lost.load(std::memory_order_relaxed) != 0) release_lost_now();
}

inline Ref Handle::ref(const Value& value, const char* call) {
  value.node_ref(call);
  if (tape.store->no_grad > 0) freeze();
  return value.ref_;
}

}  // namespace gradwalk::detail
