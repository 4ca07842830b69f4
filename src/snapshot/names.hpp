// SPDX-License-Identifier: MIT
// Names for the nodes of a snapshot.
#pragma once

#include "gradwalk/snapshot.hpp"

namespace gradwalk::detail {

// Gives every node its name: its label; else what it computes, as a short expression of names; else t1, t2, ...
// Later nodes that would repeat a name get a number: a, a#2, a#3. A constant is its number.
void name_nodes(std::vector<Snapshot::Node>& nodes);

}  // namespace gradwalk::detail
