// SPDX-License-Identifier: MIT
// lower: the terms of compile() as statements. Rules of ops.def become expressions; the functions that they call are
// computed once for equal operands, in the forward and the backward pass together.
#pragma once

#include <span>

#include "code.hpp"
#include "compile/ir.hpp"
#include "dialect.hpp"

namespace gradwalk::emit {

// A number that a function writes. The node `none` stands for 0.
struct Store {
  Operand target;
  compiler::Id node;
};

struct LowerOptions {
  std::size_t parameters = 0;  // the first parameters of the terms; the others are inputs of the function
  bool is_straight = false;    // whether long sums stay expressions
  bool has_seeds = false;      // whether the gradients of the outputs are operands (Array::seed) rather than 1
  bool is_careful = false;     // whether a gradient of 0 passes nothing on, not even 0 times infinity
};

// Lowers what the stores need, and the stores in their order. Nodes from `terms.backward` on compute gradients.
Code lower(const compiler::Terms& terms, std::span<const Store> stores, const Dialect& dialect,
           const LowerOptions& options);

// The number of nodes and products that the stores need.
std::size_t size_of(const compiler::Terms& terms, std::span<const Store> stores);

// Whether the backward pass can multiply by a derivative that is not finite, although no operand is infinite.
bool has_singular_rules(const compiler::Terms& terms);

}  // namespace gradwalk::emit
