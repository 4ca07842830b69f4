// SPDX-License-Identifier: MIT
// The tape: the memory of one thread's nodes. The code that runs once per operation is here and in sums.hpp, inline.
//
// Records of operations are appended in creation order. Operands exist before their users, so creation order is a
// topological order, and backward() is usually one loop from the root down, without a search. (A second pass over the
// same nodes searches: src/engine/backward.cpp.) Leaves are stored in a region of their own: only the newest records
// can be popped, so a long-lived parameter among the records would keep all older ones from being popped.
//
// Each node counts the Values that refer to it (its handles), not the nodes that use it. When the newest records have
// no handles, they are popped at once. Dead records in the middle are found and freed when the tape has doubled since
// the last search (src/engine/collect.cpp). A node never moves while it has a handle.
//
// docs/tape.md builds a small engine and goes from there to this one, step by step.
#pragma once

#include <cstdint>

#include "gradwalk/export.hpp"
#include "gradwalk/node.hpp"

#ifdef GRADWALK_POISON
#include <sanitizer/asan_interface.h>
#endif

namespace gradwalk::detail {

// The first Ref of the leaf region, which is the upper half of the tape.
inline constexpr Ref first_leaf = sizeof(void*) == 8 ? 1u << 31 : 1u << 21;
// Special tape ids. A thread has no_tape before its first Value. In a Value that holds a number instead of a node, the
// id of the tape has the bit is_number set.
inline constexpr std::uint32_t no_tape = 0x7fffffff, is_number = 1u << 31;

struct Store;  // the rest of a tape's state: chunks, labels, lists of leaves (src/engine/store.hpp)

// The part of a tape that every operation uses. A thread uses one tape at a time: that tape is mounted, which means
// that its HotTape is in the variable `tape` below.
struct HotTape {
  Word* base = nullptr;        // the word at Ref 0
  std::uint32_t id = no_tape;  // the id of the tape, below 2^31 and unique in the process
  Ref top = 0;                 // the first free word: the next record starts here
  Ref limit = 0;               // the end of the current chunk; 0 under NoGrad, so that the tape looks full
  Ref start = 0;               // the value of `top` when the tape is empty
  Ref clean_from = 0;          // from here to `top`, records have no gaps and no pass has written a gradient
  Ref free_leaf = 0;           // list of free leaves, linked through `operands`; 0 ends it
  Store* store = nullptr;
  Ref noted = 0;  // where the last comparison that became a bool is listed, or 0 (choice.cpp)

  Node* node(Ref ref) const { return reinterpret_cast<Node*>(base + ref); }
  Word& word(Ref ref) const { return base[ref]; }
  double& number(Ref ref) const { return *reinterpret_cast<double*>(base + ref); }
};

// The tape mounted on this thread. It is constant-initialised and trivially destructible, so the compiler need not
// check at each access whether it is initialised.
extern GRADWALK_EXPORT GRADWALK_TLS constinit thread_local HotTape tape;

// The rare cases, out of line.
GRADWALK_EXPORT void start_tape();  // makes the thread's tape and mounts it
// Provides `words` free words at `top`: in a new chunk (64 KiB of the tape) or, under NoGrad, in a cell of the leaf
// region (space for one result).
GRADWALK_EXPORT void make_room(Ref words);
GRADWALK_EXPORT void make_leaves();  // fills the list of free leaves
// The cases of release_handle() that take handles back from the store (see spill_handles()), pop records
// or free leaves.
GRADWALK_EXPORT void release_handle_slow_path(Ref ref) noexcept;
// release_handle() for a node whose tape is not mounted on this thread.
GRADWALK_EXPORT void release_handle_of_other_tape(std::uint32_t tape, Ref ref) noexcept;
GRADWALK_EXPORT void spill_handles(Ref ref);    // moves half of a full handle count into the store
GRADWALK_EXPORT void expose_gradient(Ref ref);  // notes that the user may write the gradient of a record
// For a Value that holds a number, number_of() returns the number and become_leaf() a new leaf with it. Both throw an
// Error if the Value is empty or belongs to another thread; `call` is the name in the message.
GRADWALK_EXPORT double number_of(std::uint32_t bits, std::uint32_t tape, const char* call);
GRADWALK_EXPORT Ref become_leaf(std::uint32_t bits, std::uint32_t tape, const char* call);
[[noreturn]] GRADWALK_EXPORT void refuse(std::uint32_t tape, const char* call);  // throws that Error

// With the address sanitizer and GRADWALK_POISON, reading a node that was freed is reported.
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

// Makes sure that `words` words fit. An operation calls this before it computes anything, so the code that follows
// contains no call, and the compiler can keep the numbers that it has just written in registers.
GRADWALK_INLINE void need_room(Ref words) {
  if (tape.top + words > tape.limit) [[unlikely]]
    make_room(words);
  unpoison(tape.top, words);
}

// Appends the record of an operation, with one handle. In the second overload, `number` is the constant operand; it is
// stored in the word before the node.
GRADWALK_INLINE Ref append_record(Word operands, Op op, double data) {
  const Ref ref = tape.top;
  tape.top = ref + 4;
  write_node(ref, operands, fresh(op), data);
  return ref;
}
GRADWALK_INLINE Ref append_record(Word operands, Op op, double data, double number) {
  const Ref ref = tape.top + 1;
  tape.top = ref + 4;
  tape.number(ref - 1) = number;
  write_node(ref, operands, fresh(op, 1), data);
  return ref;
}

// Returns a new leaf with one handle.
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

// Adds one handle of a node.
inline void add_handle(Ref ref) {
  Node* node = tape.node(ref);
  if (without_extra(node->head) >= most_handles) [[unlikely]]
    spill_handles(ref);
  node->head += one_handle;
}

// Removes one handle of a node. If it was the last one, the node is freed if possible: a leaf if the tape has no
// records that could read it, a record if it is the newest.
GRADWALK_INLINE void release_handle(Ref ref) {
  Node* node = tape.node(ref);
  if (node->head == fresh(Op::leaf) && tape.top == tape.start) {
    node->operands = tape.free_leaf;
    tape.free_leaf = ref;
    poison(ref + 1, 3);
    return;
  }
  node->head -= one_handle;
  if (is_held(*node)) return;
  if (ref + 4 == tape.top || ref >= first_leaf || (node->head & spilled) != 0) release_handle_slow_path(ref);
}

// Removes one handle of an operand, for an operation that has just appended a record. The operand is then not the
// newest record, so nothing is popped.
GRADWALK_INLINE void consume(Ref ref) {
  Node* node = tape.node(ref);
  const Word head = node->head - one_handle;
  node->head = head;
  if (ref >= first_leaf || (head & spilled) != 0) [[unlikely]]
    if (!is_held(*node)) release_handle_slow_path(ref);
}

// These functions append the record of an operation with one operand, with two, or with a number as one of the two.
// They release the handles of consumed operands.
template <Op op, bool x_consumed> GRADWALK_INLINE Ref unary(Ref x) {
  need_room(4);
  const Ref made = append_record(pair(x, nothing), op, rules::Rule<op>::value(tape.node(x)->data));
  if constexpr (x_consumed) consume(x);
  return made;
}
template <Op op, bool x_consumed, bool y_consumed> GRADWALK_INLINE Ref binary(Ref x, Ref y) {
  need_room(4);
  const Ref made = append_record(pair(x, y), op, rules::Rule<op>::value(tape.node(x)->data, tape.node(y)->data));
  if constexpr (x_consumed) consume(x);
  if constexpr (y_consumed) consume(y);
  return made;
}
template <Op op, bool x_consumed> GRADWALK_INLINE Ref with_number(Ref x, double y) {
  need_room(5);
  const Ref made = append_record(pair(x, literal), op, rules::Rule<op>::value(tape.node(x)->data, y), y);
  if constexpr (x_consumed) consume(x);
  return made;
}
template <Op op, bool y_consumed> GRADWALK_INLINE Ref with_number(double x, Ref y) {
  need_room(5);
  const Ref made = append_record(pair(literal, y), op, rules::Rule<op>::value(x, tape.node(y)->data), x);
  if constexpr (y_consumed) consume(y);
  return made;
}

}  // namespace gradwalk::detail
