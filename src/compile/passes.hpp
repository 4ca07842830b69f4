// SPDX-License-Identifier: MIT
// The passes of compile(), in order.
#pragma once

#include <span>
#include <string>

#include "ir.hpp"

namespace gradwalk::compiler {

struct Recorded {
  Scalars scalars;
  std::vector<Frozen> frozen;
};
Recorded record(std::span<const Value> outputs, std::span<const Value> inputs, std::span<const Value> parameters);
Terms simplify(const Scalars& scalars);
Groups lift(const Terms& terms);
Instructions schedule(const Terms& terms, const Groups& groups);

// An Error that says what is wrong, where a pass has left something no later one may meet.
void verify(const Scalars& scalars);
void verify(const Terms& terms);
void verify(const Terms& terms, const Groups& groups);
void verify(const Instructions& instructions);

std::string dump(const Scalars& scalars);
std::string dump(const Terms& terms);
std::string dump(const Terms& terms, const Groups& groups);
std::string dump(const Instructions& instructions);

}  // namespace gradwalk::compiler
