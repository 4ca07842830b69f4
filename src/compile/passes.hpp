// SPDX-License-Identifier: MIT
// The passes of compile(), in order.
#pragma once

#include <span>
#include <string>

#include "gradwalk/compile.hpp"
#include "gradwalk/reading.hpp"
#include "ir.hpp"

namespace gradwalk::compiler {

struct Recorded {
  Scalars scalars;
  std::vector<Frozen> frozen;
  std::vector<Decision> decisions;  // comparisons that became bools meanwhile
};
Recorded record(std::span<const Value> outputs, std::span<const Value> inputs, std::span<const Value> parameters);
// The comparisons that a graph was recorded by, as text. They are not part of it: an Error, unless they are ignored.
std::vector<std::string> check_comparisons(const char* call, std::span<const Decision> decisions, bool ignore);

// The same by calling a function on several rows, which must give the same graph; the comparisons it went by are the
// last outputs.
struct Watched {
  Recorded recorded;
  std::vector<bool> guards;
};
Watched record(const RowOutputs& function, const std::vector<std::vector<double>>& rows, const CompileOptions& options);

Terms simplify(const Scalars& scalars);
// Equal weights, inputs and packs are found by their hashes, and compared. A test gives a mask that lets hashes
// collide.
inline constexpr std::uint64_t whole_hash = ~std::uint64_t{0};
Groups lift(const Terms& terms, std::uint64_t hash_mask = whole_hash);  // of the forward pass
// Adds the backward pass: the gradients of the outputs with respect to parameters and inputs.
void differentiate(Terms& terms, Groups& groups);
void differentiate(Terms& terms);  // of terms without inputs, which have no layers
void lift_backward(const Terms& terms, Groups& groups, std::uint64_t hash_mask = whole_hash);
Instructions schedule(const Terms& terms, const Groups& groups, std::uint64_t hash_mask = whole_hash);

// In our own builds with assertions, the result of each pass is verified before the next one reads it. That takes a few
// passes over the graph, which users need not wait for.
#ifdef NDEBUG
inline constexpr bool verifies = false;
#else
inline constexpr bool verifies = true;
#endif
// An Error that says what is wrong, where a pass has left something no later one may meet.
void verify(const Scalars& scalars);
void verify(const Terms& terms);
void verify(const Terms& terms, const Groups& groups);
void verify(const Instructions& instructions);

std::string dump(const Scalars& scalars);
std::string dump(const Terms& terms);                                 // the forward pass
std::string dump_backward(const Terms& terms, const Groups& groups);  // what differentiate has added
std::string dump(const Terms& terms, const Groups& groups);
std::string dump(const Instructions& instructions);

}  // namespace gradwalk::compiler
