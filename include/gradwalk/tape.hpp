// SPDX-License-Identifier: MIT
// The tape: where nodes lie. One a thread; everything that costs time per operation is in this file, inline.
//
// Nodes lie in creation order, so their order on the tape is a topological order and backward() is one loop from the
// newest down. A Value counts the handles of its node and nothing else: nodes without handles at the top are popped at
// once; dead stretches in the middle are found when the tape has doubled (tape.cpp). Nodes never move while a handle
// lives. Leaves lie apart, in order of creation, so a long-lived parameter pins nothing.
//
// docs/architecture.md draws the layout and says why each part is as it is.
#pragma once

#include <cstdint>
#include <cstring>

#include "gradwalk/export.hpp"
#include "gradwalk/ops.hpp"

namespace gradwalk::detail {

using Word = std::uint64_t;
using Ref = std::uint32_t;  // a node's distance from the tape's base, in words

// A record is a Node and, below it, `third` more words: a constant operand, or the earlier terms of a sum.
//
//   any op            operands (x, y); a unary op has (x, nothing)
//   constant operand  operands (x, literal) or (literal, y), the number in the word below
//   multiply_add      operands (x, y) and third = z, no words below: x * y + z, z first if z_first is set
//   sum_of_products   each word below and `operands` is a term: x * y, or a plain x as (x, nothing); left to right
//   custom            n times two words below: local derivative, operand; operands is the number of its name
struct Node {
  Word operands;
  std::uint32_t meta;  // op, flags, handles
  std::uint32_t third;
  double data;
  double grad;
};
static_assert(sizeof(Node) == 32);

inline constexpr Ref literal = 0xffffffff;  // not a node: a number in the word below
inline constexpr Ref nothing = 0xfffffffe;  // not a node: no operand
inline constexpr Ref last_ref = 0xfffffff0;

inline constexpr std::uint32_t labelled = 1u << 8;   // has a label (in the store)
inline constexpr std::uint32_t touched = 1u << 9;    // its data or grad was handed out: must stay a node of its own
inline constexpr std::uint32_t opened = 1u << 10;    // was looked into: owns nodes kept apart (graph.cpp)
inline constexpr std::uint32_t z_first = 1u << 11;   // multiply_add: the sum was written z + x * y
inline constexpr std::uint32_t waiting = 1u << 12;   // a dead leaf in the store's list
inline constexpr std::uint32_t spilled = 1u << 13;   // more handles than fit are counted in the store
inline constexpr std::uint32_t entered = 1u << 14;   // marks of a search, clear between searches
inline constexpr std::uint32_t finished = 1u << 15;
inline constexpr std::uint32_t one_handle = 1u << 16;
inline constexpr std::uint32_t most_handles = 0xffffu << 16;

constexpr Op op_of(const Node& node) { return static_cast<Op>(node.meta & 0xff); }
constexpr std::uint32_t fresh(Op op) { return static_cast<std::uint32_t>(op) | one_handle; }  // unflagged, one handle
constexpr Word pair(Ref x, Ref y) { return static_cast<Word>(y) << 32 | x; }
constexpr Ref first(Word operands) { return static_cast<Ref>(operands); }
constexpr Ref second(Word operands) { return static_cast<Ref>(operands >> 32); }

struct Store;  // what is seldom needed: chunks, waiting leaves, labels, ... (tape.cpp)

struct Tape {
  Word* base = nullptr;        // Ref 0
  Word thread = ~Word{0} << 32;  // its number, in the upper half; never used twice; all ones before the first Value
  Ref top = 0;                 // the first free word
  Ref limit = 0;               // the end of the chunk; 0 when the next record must take the slow path (NoGrad)
  Ref start = 0;               // top of the empty tape
  Ref clean_from = 0;          // from here to top nodes lie without a gap, and no pass has written a gradient
  Ref first_leaf = 0;          // Refs from here on lie apart
  Ref free_leaf = 0;           // a list through `operands`; 0 ends it
  Store* store = nullptr;

  Node* node(Ref ref) const { return reinterpret_cast<Node*>(base + ref); }
};

// Constant-initialised and trivially destructible, so that an access costs no guard; initial-exec, so that it costs no
// call in a shared library.
extern GRADWALK_EXPORT constinit thread_local Tape tape __attribute__((tls_model("initial-exec")));

GRADWALK_EXPORT Ref record_slowly(Word operands, Op op, double data);
GRADWALK_EXPORT Ref record_slowly(Word operands, Op op, double data, double number);
GRADWALK_EXPORT Ref make_leaf_slowly(double data);
GRADWALK_EXPORT void let_go_slowly(Ref ref);
GRADWALK_EXPORT void let_go_elsewhere(Word handle) noexcept;
GRADWALK_EXPORT void spill_handles(Node* node);
[[noreturn]] GRADWALK_EXPORT void refuse(Word handle, const char* call);

// A word of the tape is a node's part today and a term tomorrow: written through memcpy, it may change its type.
template <class T>
void put(Word* at, T value) {
  static_assert(sizeof(T) == sizeof(Word));
  std::memcpy(at, &value, sizeof(T));
}

inline void write_node(Word* at, Word operands, std::uint32_t meta, std::uint32_t third, double data) {
  put(at, operands);
  put(at + 1, static_cast<Word>(third) << 32 | meta);
  put(at + 2, data);
  put(at + 3, 0.0);
}

inline Ref record(Word operands, Op op, double data) {
  const Ref ref = tape.top;
  if (ref + 4 > tape.limit) [[unlikely]] return record_slowly(operands, op, data);
  tape.top = ref + 4;
  write_node(tape.base + ref, operands, fresh(op), 0, data);
  return ref;
}

inline Ref record(Word operands, Op op, double data, double number) {
  const Ref ref = tape.top + 1;
  if (ref + 4 > tape.limit) [[unlikely]] return record_slowly(operands, op, data, number);
  tape.top = ref + 4;
  put(tape.base + ref - 1, number);
  write_node(tape.base + ref, operands, fresh(op), 1, data);
  return ref;
}

inline Ref make_leaf(double data) {
  const Ref ref = tape.free_leaf;
  if (ref == 0) [[unlikely]] return make_leaf_slowly(data);
  Node* leaf = tape.node(ref);
  tape.free_leaf = static_cast<Ref>(leaf->operands);
  write_node(&leaf->operands, pair(nothing, nothing), fresh(Op::leaf), 0, data);
  return ref;
}

inline void take_handle(Node* node) {
  if (node->meta >= most_handles) [[unlikely]] spill_handles(node);
  node->meta += one_handle;
}

inline void let_go(Ref ref) {
  Node* node = tape.node(ref);
  const std::uint32_t left = node->meta -= one_handle;
  if (left >= one_handle) return;
  if ((left & ~touched) == static_cast<std::uint32_t>(Op::leaf) && tape.top == tape.start) {
    node->operands = tape.free_leaf;
    tape.free_leaf = ref;
  } else if (ref + 4 == tape.top || left < static_cast<std::uint32_t>(Op::add) || left > 0xff) {
    let_go_slowly(ref);
  }
}

// The record `sum` (a product, a multiply_add or a sum_of_products) with one term more, in its own place.
// `number` is the term's constant operand, if `has_number`. The caller has seen to it that there is room.
inline Ref extend_sum(Ref sum, Word term, bool has_number, double number, double data) {
  Word* const base = tape.base;
  const Node& node = *tape.node(sum);
  Ref at = sum;
  std::uint32_t below = node.third;
  if (op_of(node) == Op::multiply_add) {
    const Word factors = node.operands, addend = pair(node.third, nothing);
    const bool addend_first = (node.meta & z_first) != 0;
    put(base + at++, addend_first ? addend : factors);
    put(base + at, addend_first ? factors : addend);
    below = 1;
  }
  ++at, ++below;
  if (has_number) put(base + at++, number), ++below;
  tape.top = at + 4;
  write_node(base + at, term, fresh(Op::sum_of_products), below, data);
  return at;
}

inline bool is_sum(std::uint32_t meta) {
  return meta == fresh(Op::sum_of_products) || (meta & ~z_first) == fresh(Op::multiply_add);
}

}  // namespace gradwalk::detail
