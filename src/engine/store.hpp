// SPDX-License-Identifier: MIT
// What the engine's own files share and its users never see: the part of a tape that is seldom needed, and walks over
// the words of a record.
#pragma once

#include <atomic>
#include <string>
#include <unordered_map>
#include <vector>

#include "gradwalk/graph.hpp"
#include "text/numbers.hpp"

namespace gradwalk::detail {

inline constexpr Ref chunk_words = 8192;  // 64 KiB: nodes of one chunk die together, so small ones are reused sooner
inline constexpr std::size_t least_to_collect = 32;
inline constexpr std::uint32_t no_chunk = ~0u;

constexpr Ref chunk_at(std::uint32_t place) { return place * chunk_words; }

struct Chunk {
  std::uint32_t previous = no_chunk;  // the chunk filled before this one
  Ref end = 0;                        // where that one's records ended when this one was opened
  bool used = false;
};

struct Store {
  std::vector<Chunk> chunks;  // by place; creation order goes through `previous`
  std::uint32_t current = no_chunk;
  std::size_t chunks_used = 0;
  std::size_t collect_at = least_to_collect;  // chunks in use at which dead ones are looked for
  std::size_t peak = 0;                       // chunks used at most since the tape was last empty
  std::size_t reserved_words = 0;
  // What the last sweep passed over, if only its root has handles: it goes at once. 0 as soon as that may have changed:
  // a new handle or label, a node opened, anything popped or collected.
  Ref swept_begin = 0, swept_end = 0;
  Ref next_leaf = 0;                // leaf memory never used before
  std::vector<Ref> waiting_leaves;  // dead, but a node may still read them
  std::size_t collect_leaves_at = 16384;
  int no_grad = 0;                                       // guards alive
  std::uint32_t no_grad_chunk = no_chunk;                // what they make lies from this chunk on
  std::unordered_map<Ref, std::vector<Ref>> kept_apart;  // an opened node's own nodes; with any, backward() searches
  std::unordered_map<Ref, std::string> labels;
  std::unordered_map<Ref, std::size_t> spilled_handles;
  std::unordered_map<Ref, std::string> custom_names;
  std::atomic<bool> has_orphans = false;  // set by other threads: handles of this one died there
  std::vector<Ref> order, stack;          // room for searches, kept between them
};

struct Handle {
  static Value adopt(Ref ref) { return Value::adopt(ref); }
  static Value share(Ref ref);                           // one more handle
  static Ref ref(const Value& value, const char* call);  // for a function that looks at graphs
};

inline bool apart(Ref ref) { return ref >= tape.first_leaf; }
inline bool is_leaf(Ref ref) { return op_of(*tape.node(ref)) == Op::leaf; }
inline bool is_constant(Ref ref) { return op_of(*tape.node(ref)) == Op::constant; }
inline std::uint32_t words_below(const Node& node) { return op_of(node) == Op::multiply_add ? 0 : extra_of(node); }
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

// Calls visit(operand) for each operand that is a node, last to first.
template <class Visit> void each_operand(Ref ref, Visit visit) {
  const Node& node = *tape.node(ref);
  const auto both = [&](Word operands) {
    if (is_node(second(operands))) visit(second(operands));
    if (is_node(first(operands))) visit(first(operands));
  };
  switch (op_of(node)) {
    case Op::leaf: break;
    case Op::sum_of_products: each_term(ref, [&](Word operands, Ref) { both(operands); }); break;
    case Op::custom:
      for (Ref at = ref; at > ref - extra_of(node); at -= 2) visit(static_cast<Ref>(tape.word(at - 1)));
      break;
    case Op::multiply_add:
      if ((node.head & z_first) == 0) visit(extra_of(node));
      both(node.operands);
      if ((node.head & z_first) != 0) visit(extra_of(node));
      break;
    default: both(node.operands);
  }
}

// Calls visit(operand, local derivative) for each operand that is a node. The one place where rules meet records.
template <class Visit> void each_local(Ref ref, Visit visit) {
  using rules::Rule;
  const Node& node = *tape.node(ref);
  const Ref a = first(node.operands), b = second(node.operands);
  const double share = Rule<Op::add>::dx(0.0, 0.0, 0.0);  // of a term in its sum
  const auto product = [&](Word operands, Ref at) {
    const Ref p = first(operands), q = second(operands);
    if (are_nodes(operands)) [[likely]] {
      const double x = tape.node(p)->data, y = tape.node(q)->data;
      visit(p, Rule<Op::mul>::dx(x, y, 0.0));
      visit(q, Rule<Op::mul>::dy(x, y, 0.0));
    } else if (q == nothing) {
      visit(p, share);
    } else if (p == literal) {
      visit(q, Rule<Op::mul>::dy(tape.number(at - 1), 0.0, 0.0));
    } else {
      visit(p, Rule<Op::mul>::dx(0.0, tape.number(at - 1), 0.0));
    }
  };
  switch (op_of(node)) {
#define UNARY(name, ...) \
  case Op::name: visit(a, Rule<Op::name>::dx(tape.node(a)->data, node.data)); break;
#define BINARY(name, ...)                                            \
  case Op::name: {                                                   \
    const double x = value_of(a, ref), y = value_of(b, ref);         \
    if (a != literal) visit(a, Rule<Op::name>::dx(x, y, node.data)); \
    if (b != literal) visit(b, Rule<Op::name>::dy(x, y, node.data)); \
    break;                                                           \
  }
#include "gradwalk/ops.def"
#undef UNARY
#undef BINARY
    case Op::multiply_add:
      visit(extra_of(node), share);
      product(node.operands, ref);
      break;
    case Op::sum_of_products: each_term(ref, product); break;
    case Op::custom:
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

Ref look_into(const Value& value, const char* call);  // the node, its parts made nodes of their own
const std::string& custom_name(Ref ref);

void start_tape();
void enter_chunk(std::uint32_t place);
std::uint32_t next_place();  // for a chunk
void trim();                 // pops the newest nodes as long as no handle holds them
void freeze();               // makes what was recorded under NoGrad numbers
void forget(Ref ref);        // drops what the store keeps about a node that is going
void free_leaf(Ref ref);

void release_orphans_now();
inline void release_orphans() {  // handles that died on other threads
  if (tape.store->has_orphans.load(std::memory_order_relaxed)) release_orphans_now();
}

inline Ref Handle::ref(const Value& value, const char* call) {
  value.node(call);
  if (tape.store->no_grad > 0) freeze();
  return value.ref_;
}

// The memory under a tape (memory.cpp; memory_wasm.cpp where there is no address space to spare).
extern const std::size_t largest_tape;  // words
Word* reserve(std::size_t words);
void unreserve(Word* base, std::size_t words);
void discard(Word* begin, std::size_t words);

}  // namespace gradwalk::detail
