// SPDX-License-Identifier: MIT
// A node as it lies on a tape: four words, and what they mean.
#pragma once

#include <cstdint>

#include "gradwalk/ops.hpp"

namespace gradwalk::detail {

using Word = std::uint64_t;
using Ref = std::uint32_t;  // a node's distance from the tape's base, in words

// A record is a Node and, below it, so many more words: a constant operand, or the earlier terms of a sum.
//
//   any op            operands (x, y); a unary op has (x, nothing); extra = the number of words below
//   constant operand  operands (x, literal) or (literal, y), the number in the word below
//   multiply_add      operands (x, y) and extra = z, no words below: x * y + z, z first if z_first is set
//   minus_product     the same for z - x * y
//   product_minus     the same for x * y - z
//   sum_of_products   each word below and `operands` is a term: x * y, or a plain x as (x, nothing); left to right
//   custom            n times two words below: local derivative, operand; its name is in the store
//   select            (x, y), a number where either is a literal, and in the word below the condition (choice.cpp)
inline constexpr Op multiply_add = static_cast<Op>(static_cast<int>(Op::custom) + 1);
inline constexpr Op minus_product = static_cast<Op>(static_cast<int>(Op::custom) + 2);
inline constexpr Op product_minus = static_cast<Op>(static_cast<int>(Op::custom) + 3);
inline constexpr Op sum_of_products = static_cast<Op>(static_cast<int>(Op::custom) + 4);
inline constexpr Op chunk_start = static_cast<Op>(static_cast<int>(Op::custom) + 5);
constexpr unsigned code(Op op) { return static_cast<unsigned>(op); }  // to be switched over
constexpr bool has_third(Op op) { return op >= multiply_add && op <= product_minus; }

struct Node {
  Word operands;
  double data;
  Word head;  // from below: op (8 bits), flags (8), handles (16), extra (32)
  double grad;
};
static_assert(sizeof(Node) == 32);

inline constexpr Ref literal = 0xffffffff;  // not a node: a number in the word below
inline constexpr Ref nothing = 0xfffffffe;  // not a node: no operand
inline constexpr Ref last_ref = 0xfffffff0;

inline constexpr Word labelled = 1u << 8;     // has a label (in the store)
inline constexpr Word touched = 1u << 9;      // its data or grad was handed out, or is a pass's: stays a node
inline constexpr Word opened = 1u << 10;      // was looked into: owns nodes kept apart (graph.cpp)
inline constexpr Word z_first = 1u << 11;     // multiply_add: the sum was written z + x * y
inline constexpr Word unrecorded = 1u << 11;  // leaf: made under NoGrad; extra is the number of the guard (no_grad.cpp)
inline constexpr Word waiting = 1u << 12;     // leaf: it is dead, and in the store's list of waiting leaves
inline constexpr Word exposed = 1u << 12;     // record: its user may write its gradient, and the store has the pass's
inline constexpr Word spilled = 1u << 13;     // more handles than fit are counted in the store
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
