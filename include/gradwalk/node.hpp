// SPDX-License-Identifier: MIT
// A node on a tape: four words of 8 bytes, and what their bits mean.
#pragma once

#include <cstdint>

#include "gradwalk/ops.hpp"

namespace gradwalk::detail {

using Word = std::uint64_t;
using Ref = std::uint32_t;  // a position on the tape: the distance from its base, in words

// A record is a Node and the words below it, if it has any: a constant operand, or the earlier terms of a sum. The
// field `extra` of the head is the number of these words. In multiply_add, minus_product and product_minus it is the
// third operand instead.
//
//   op                operands                           words below
//   any operation     (x, y); a unary one (x, nothing)
//   constant operand  (x, literal) or (literal, y)       the number
//   multiply_add      (x, y), extra = z                  none; it is x * y + z, or z + x * y if z_first is set
//   minus_product     (x, y), extra = z                  none; it is z - x * y
//   product_minus     (x, y), extra = z                  none; it is x * y - z
//   sum_of_products   the last term                      the earlier terms
//                     A term is (x, y) for x * y, or (x, nothing) for x. A literal in it is in the word below the term.
//   custom            (nothing, nothing)                 for each input its local derivative and its Ref
//   select            (x, y), either may be literal      the condition's Ref, on top; below it the literals
//   pick              (the chosen value, the index)      the values to choose from: pick.cpp
inline constexpr Op multiply_add = static_cast<Op>(static_cast<int>(Op::pick) + 1);
inline constexpr Op minus_product = static_cast<Op>(static_cast<int>(Op::pick) + 2);
inline constexpr Op product_minus = static_cast<Op>(static_cast<int>(Op::pick) + 3);
inline constexpr Op sum_of_products = static_cast<Op>(static_cast<int>(Op::pick) + 4);
inline constexpr Op chunk_start = static_cast<Op>(static_cast<int>(Op::pick) + 5);  // the first node of a chunk
constexpr unsigned code(Op op) { return static_cast<unsigned>(op); }                // for switch statements
constexpr bool has_third(Op op) { return op >= multiply_add && op <= product_minus; }

struct Node {
  Word operands;  // two Refs
  double data;
  Word head;  // from the lowest bit: op (8 bits), flags (8), number of handles (16), extra (32)
  double grad;
};
static_assert(sizeof(Node) == 32);

// Operands that are not nodes.
inline constexpr Ref literal = 0xffffffff;  // a number in the word below
inline constexpr Ref nothing = 0xfffffffe;  // no operand
inline constexpr Ref last_ref = 0xfffffff0;

// Flags. Two of them mean one thing for records and another for leaves.
inline constexpr Word labelled = 1u << 8;  // the store has a label or a custom node's name
inline constexpr Word touched = 1u << 9;   // it must stay a node: its data or grad was handed out, or a pass reached it
inline constexpr Word expanded = 1u << 10;    // record: it was fused, and the store has its parts (graph.cpp)
inline constexpr Word z_first = 1u << 11;     // multiply_add: it is z + x * y
inline constexpr Word unrecorded = 1u << 11;  // leaf: made under NoGrad; extra is the number of the guard (no_grad.cpp)
inline constexpr Word exposed = 1u << 12;     // record: the user may write its gradient; the store has that of the pass
inline constexpr Word waiting = 1u << 12;     // leaf: dead, and in the list of waiting leaves
inline constexpr Word spilled = 1u << 13;     // more handles than the head can count are in the store
inline constexpr Word entered = 1u << 14;     // marks of a search, clear between searches
inline constexpr Word finished = 1u << 15;
inline constexpr Word one_handle = 1u << 16;
inline constexpr Word most_handles = 0xffffu << 16;

constexpr Op op_of(const Node& node) { return static_cast<Op>(node.head & 0xff); }
constexpr std::uint32_t without_extra(Word head) { return static_cast<std::uint32_t>(head); }
constexpr bool is_held(const Node& node) { return without_extra(node.head) >= one_handle; }
constexpr Ref extra_of(const Node& node) { return static_cast<Ref>(node.head >> 32); }
constexpr Word unheld(Op op, Ref extra = 0) { return static_cast<Word>(op) | static_cast<Word>(extra) << 32; }
constexpr Word fresh(Op op, Ref extra = 0) { return unheld(op, extra) | one_handle; }  // no flags, one handle
constexpr Word pair(Ref x, Ref y) { return static_cast<Word>(y) << 32 | x; }
constexpr Ref first(Word operands) { return static_cast<Ref>(operands); }
constexpr Ref second(Word operands) { return static_cast<Ref>(operands >> 32); }

}  // namespace gradwalk::detail
