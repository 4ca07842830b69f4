// SPDX-License-Identifier: MIT
// Names of nodes, and how operations are written.
#pragma once

#include "gradwalk/snapshot.hpp"

namespace gradwalk::detail {

// Sets the name of every node: its label; or, if it has none, a short expression of names that says what it computes;
// or t1, t2, ... A node that would repeat a name gets a number: a, a#2, a#3. The name of a constant is its number.
void name_nodes(std::vector<Snapshot::Node>& nodes);

// Returns true for an op that is written between its two operands, such as + and <, and not as a call.
inline bool is_infix(Op op) { return info(op).operands == 2 && info(op).symbol != info(op).name; }

}  // namespace gradwalk::detail
