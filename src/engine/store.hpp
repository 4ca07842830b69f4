// SPDX-License-Identifier: MIT
// What the engine's own files share and its users never see: the part of a tape that is seldom needed, and walks over
// the words of a record.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "gradwalk/value.hpp"

namespace gradwalk::detail {

inline constexpr Ref chunk_words = 8192;  // 64 KiB: nodes of one chunk die together, so small ones are reused sooner
inline constexpr std::uint32_t no_chunk = ~0u;

struct Chunk {
  std::uint32_t previous = no_chunk;  // the chunk filled before this one
  Ref end = 0;                        // where that one's records ended when this one was opened
  bool used = false;
};

struct Store {
  std::vector<Chunk> chunks;        // by place; creation order goes through `previous`
  std::uint32_t current = no_chunk;
  std::size_t chunks_used = 0;
  std::size_t collect_at = 16;      // chunks in use at which dead ones are looked for
  std::size_t peak = 0;             // chunks used at most since the tape was last empty
  std::size_t reserved_words = 0;
  Ref next_leaf = 0;                // leaf memory never used before
  std::vector<Ref> waiting_leaves;  // dead, but a node may still read them
  std::size_t collect_leaves_at = 16384;
  int no_grad = 0;
  std::unordered_map<Ref, std::vector<Ref>> kept_apart;  // an opened node's own nodes; with any, backward() searches
  std::unordered_map<Ref, std::string> labels;
  std::unordered_map<Ref, std::size_t> spilled_handles;
  std::vector<std::string> custom_names;
  std::vector<Ref> order, stack;    // room for searches, kept between them
};

struct Handle {
  static Value adopt(Ref ref) { return Value::adopt(ref); }
  static Value share(Ref ref);  // one more handle
  static Ref ref(const Value& value, const char* call) { return value.node(call), value.ref(); }
};

inline bool apart(Ref ref) { return ref >= tape.first_leaf; }
inline std::uint32_t words_below(const Node& node) { return op_of(node) == Op::multiply_add ? 0 : node.third; }
inline Ref older(Ref ref) { return ref - words_below(*tape.node(ref)) - 4; }  // the record before, in the same run
inline double number_below(const Word* at) {
  double number;
  std::memcpy(&number, at - 1, sizeof number);
  return number;
}
inline double value_of(Ref operand, const Word* at) {
  return operand == literal ? number_below(at) : tape.node(operand)->data;
}

// Calls term(operands, at) for each term of a sum_of_products, last to first; `at` is where the operands stand.
template <class Term>
void each_term(const Node& sum, Term term) {
  const Word* at = &sum.operands;
  for (const Word* begin = at - sum.third; at >= begin; --at) {
    const Word operands = *at;
    term(operands, at);
    at -= first(operands) == literal || second(operands) == literal;
  }
}

// Calls visit(operand) for each operand that is a node, in operand order but for sums.
template <class Visit>
void each_operand(const Node& node, Visit visit) {
  const auto visit_node = [&](Ref ref) {
    if (ref < last_ref) visit(ref);
  };
  switch (op_of(node)) {
    case Op::sum_of_products:
      each_term(node, [&](Word operands, const Word*) { visit_node(first(operands)), visit_node(second(operands)); });
      break;
    case Op::custom:
      for (const Word* at = &node.operands - node.third; at < &node.operands; at += 2) visit(static_cast<Ref>(at[1]));
      break;
    case Op::multiply_add: visit(node.third); [[fallthrough]];
    default: visit_node(first(node.operands)), visit_node(second(node.operands));
  }
}

// Calls visit(operand, local derivative) for each operand that is a node. The one place where rules meet records.
template <class Visit>
void each_local(const Node& node, Visit visit) {
  using rules::Rule;
  const Ref a = first(node.operands), b = second(node.operands);
  const auto product = [&](Word operands, const Word* at) {
    const Ref p = first(operands), q = second(operands);
    if (q == nothing) return visit(p, 1.0);
    const double x = value_of(p, at), y = value_of(q, at);
    if (p != literal) visit(p, Rule<Op::mul>::dx(x, y, 0.0));
    if (q != literal) visit(q, Rule<Op::mul>::dy(x, y, 0.0));
  };
  switch (op_of(node)) {
#define UNARY(name, ...) \
  case Op::name: visit(a, Rule<Op::name>::dx(tape.node(a)->data, node.data)); break;
#define BINARY(name, ...)                                                      \
  case Op::name: {                                                             \
    const double x = value_of(a, &node.operands), y = value_of(b, &node.operands); \
    if (a != literal) visit(a, Rule<Op::name>::dx(x, y, node.data));           \
    if (b != literal) visit(b, Rule<Op::name>::dy(x, y, node.data));           \
    break;                                                                     \
  }
#include "gradwalk/ops.def"
#undef UNARY
#undef BINARY
    case Op::multiply_add:
      visit(node.third, 1.0);
      product(node.operands, nullptr);
      break;
    case Op::sum_of_products: each_term(node, product); break;
    case Op::custom:
      for (const Word* at = &node.operands - node.third; at < &node.operands; at += 2)
        visit(static_cast<Ref>(at[1]), number_below(at + 1));
      break;
    default: break;
  }
}

inline Value Handle::share(Ref ref) {
  Node* node = tape.node(ref);
  const bool pins_owner = node->meta < one_handle && apart(ref) && op_of(*node) != Op::leaf;
  if (pins_owner) take_handle(tape.node(node->third));
  take_handle(node);
  return adopt(ref);
}

Ref look_into(const Value& value, const char* call);  // the node, its parts made nodes of their own
const std::string& custom_name(const Node& node);
std::string format_number(double number);             // the shortest text that reads back as the same number

void start_tape();
void forget(Ref ref);      // drops what the store keeps about a node that is going
void free_leaf(Ref ref);
void make_room(Ref words); // for a record of so many words
void release_orphans();    // handles that died on other threads

// The memory under a tape (memory.cpp).
Word* reserve(std::size_t words);
void unreserve(Word* base, std::size_t words);
void discard(Word* begin, std::size_t words);

}  // namespace gradwalk::detail
