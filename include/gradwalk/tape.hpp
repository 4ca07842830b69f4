// SPDX-License-Identifier: MIT
// The tape: where nodes lie. One a thread; what costs time per operation is in this file, inline.
//
// Nodes lie in creation order, so their order on the tape is a topological order and backward() is one loop from the
// newest down. A Value counts the handles of its node and nothing else: nodes without handles at the top are popped at
// once; dead stretches in the middle are found when the tape has doubled (collect.cpp). Nodes never move while a handle
// lives. Leaves lie apart, so a long-lived parameter pins nothing; fresh ones lie in order of creation.
//
// docs/architecture.md draws the layout and says why each part is as it is.
#pragma once

#include <cstdint>

#include "gradwalk/export.hpp"
#include "gradwalk/node.hpp"

#ifdef GRADWALK_POISON
#include <sanitizer/asan_interface.h>
#endif

namespace gradwalk::detail {

inline constexpr Ref first_leaf = sizeof(void*) == 8 ? 1u << 31 : 1u << 21;  // Refs from here on lie apart
inline constexpr std::uint32_t no_tape = 0x7fffffff, is_number = 1u << 31;   // in the place of a tape's number

struct Store;  // what is seldom needed: chunks, waiting leaves, labels, ... (store.hpp)

struct OpenTape {
  Word* base = nullptr;        // Ref 0
  std::uint32_t id = no_tape;  // its number, below 2^31, of no other in the process; no_tape before the first Value
  Ref top = 0;                 // the first free word
  Ref limit = 0;               // the end of the chunk
  Ref start = 0;               // top of the empty tape
  Ref clean_from = 0;          // from here to top nodes lie without a gap, and no pass has written a gradient
  Ref free_leaf = 0;           // a list through `operands`; 0 ends it
  Store* store = nullptr;

  Node* node(Ref ref) const { return reinterpret_cast<Node*>(base + ref); }
  Word& word(Ref ref) const { return base[ref]; }
  double& number(Ref ref) const { return *reinterpret_cast<double*>(base + ref); }
};

// Constant-initialised and trivially destructible, so that an access costs no guard; initial-exec, so that it costs no
// call in a shared library.
extern GRADWALK_EXPORT constinit thread_local OpenTape tape __attribute__((tls_model("initial-exec")));

GRADWALK_EXPORT void start_tape();
GRADWALK_EXPORT void make_room(Ref words);
GRADWALK_EXPORT void make_leaves();
GRADWALK_EXPORT void let_go_slowly(Ref ref) noexcept;
GRADWALK_EXPORT void expose_gradient(Ref ref);
GRADWALK_EXPORT void let_go_elsewhere(std::uint32_t tape, Ref ref) noexcept;
GRADWALK_EXPORT void spill_handles(Ref ref);
GRADWALK_EXPORT double number_of(std::uint32_t bits, std::uint32_t tape, const char* call);  // of a handle that has one
GRADWALK_EXPORT Ref become_leaf(std::uint32_t bits, std::uint32_t tape, const char* call);   // or refuse
[[noreturn]] GRADWALK_EXPORT void refuse(std::uint32_t tape, const char* call);

// Built with the address sanitizer and GRADWALK_POISON, whoever reads a node that is gone is told so.
#ifdef GRADWALK_POISON
inline void poison(Ref ref, Ref words) { ASAN_POISON_MEMORY_REGION(tape.base + ref, words * sizeof(Word)); }
inline void unpoison(Ref ref, Ref words) { ASAN_UNPOISON_MEMORY_REGION(tape.base + ref, words * sizeof(Word)); }
#else
constexpr void poison(Ref, Ref) {}
constexpr void unpoison(Ref, Ref) {}
#endif

GRADWALK_INLINE void write_node(Ref ref, Word operands, Word head, double data) {
  Node* node = tape.node(ref);
  node->operands = operands;
  node->head = head;
  node->data = data;
  node->grad = 0;
}

// Called before a record is computed: whatever follows is one stretch of code without a call, in which the compiler
// knows what it has just written.
GRADWALK_INLINE void need_room(Ref words) {
  if (tape.top + words > tape.limit) [[unlikely]]
    make_room(words);
  unpoison(tape.top, words);
}

GRADWALK_INLINE Ref record(Word operands, Op op, double data) {
  const Ref ref = tape.top;
  tape.top = ref + 4;
  write_node(ref, operands, fresh(op), data);
  return ref;
}

GRADWALK_INLINE Ref record(Word operands, Op op, double data, double number) {
  const Ref ref = tape.top + 1;
  tape.top = ref + 4;
  tape.number(ref - 1) = number;
  write_node(ref, operands, fresh(op, 1), data);
  return ref;
}

GRADWALK_INLINE Ref make_leaf(double data) {
  if (tape.free_leaf == 0) [[unlikely]]
    make_leaves();
  const Ref ref = tape.free_leaf;
  Node* leaf = tape.node(ref);
  unpoison(ref, 4);
  tape.free_leaf = static_cast<Ref>(leaf->operands);
  leaf->data = data;
  leaf->head = fresh(Op::leaf);
  leaf->grad = 0;
  return ref;
}

inline void take_handle(Ref ref) {
  Node* node = tape.node(ref);
  if (without_extra(node->head) >= most_handles) [[unlikely]]
    spill_handles(ref);
  node->head += one_handle;
}

GRADWALK_INLINE void let_go(Ref ref) {
  Node* node = tape.node(ref);
  if (node->head == fresh(Op::leaf) && tape.top == tape.start) {
    node->operands = tape.free_leaf;
    tape.free_leaf = ref;
    poison(ref + 1, 3);
    return;
  }
  node->head -= one_handle;
  if (is_held(*node)) return;
  if (ref + 4 == tape.top || ref >= first_leaf || (node->head & spilled) != 0) let_go_slowly(ref);
}

// A handle ends in an operation that has just recorded a newer node, so there is nothing to pop.
GRADWALK_INLINE void consume(Ref ref) {
  Node* node = tape.node(ref);
  const Word head = node->head - one_handle;
  node->head = head;
  if (ref >= first_leaf || (head & spilled) != 0) [[unlikely]]
    if (!is_held(*node)) let_go_slowly(ref);
}

// The nodes of operations; a handle that ends is let go.
template <Op op, bool x_ends> GRADWALK_INLINE Ref unary(Ref x) {
  need_room(4);
  const Ref made = record(pair(x, nothing), op, rules::Rule<op>::value(tape.node(x)->data));
  if constexpr (x_ends) consume(x);
  return made;
}
template <Op op, bool x_ends, bool y_ends> GRADWALK_INLINE Ref binary(Ref x, Ref y) {
  need_room(4);
  const Ref made = record(pair(x, y), op, rules::Rule<op>::value(tape.node(x)->data, tape.node(y)->data));
  if constexpr (x_ends) consume(x);
  if constexpr (y_ends) consume(y);
  return made;
}
template <Op op, bool x_ends> GRADWALK_INLINE Ref with_number(Ref x, double y) {
  need_room(5);
  const Ref made = record(pair(x, literal), op, rules::Rule<op>::value(tape.node(x)->data, y), y);
  if constexpr (x_ends) consume(x);
  return made;
}
template <Op op, bool y_ends> GRADWALK_INLINE Ref with_number(double x, Ref y) {
  need_room(5);
  const Ref made = record(pair(literal, y), op, rules::Rule<op>::value(x, tape.node(y)->data), x);
  if constexpr (y_ends) consume(y);
  return made;
}

}  // namespace gradwalk::detail
