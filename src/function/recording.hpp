// SPDX-License-Identifier: MIT
// One call of a Function's function, and what must not change from one call to the next.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gradwalk/compile.hpp"

namespace gradwalk::paths {

// The graph that a call recorded.
struct Recording {
  std::vector<Value> inputs, outputs;
  std::vector<Condition> decided;  // the comparisons that became bools, in order
  std::vector<Value> compared;     // the same as Values, each recorded where it became a bool

  std::vector<bool> outcomes() const;
};

// Whether operations are recorded: whether no NoGrad lives on this thread.
bool is_recording();

// Calls the function on a row and keeps what it recorded. Throws an Error if a number that depends on an input or a
// parameter left the graph.
Recording record(const RowOutputs& function, std::span<const double> row, std::span<const Value> parameters);

// The first difference between the graphs of two calls, as "exp where the other call has sin"; or nothing. The numbers
// of inputs and parameters do not count.
std::optional<std::string> difference(const Recording& first, const Recording& second,
                                      std::span<const Value> parameters);

// A comparison as text, such as "x < 0.5", with labels where there are some.
std::string to_text(const Condition& condition, std::span<const Value> inputs, std::span<const Value> parameters);

}  // namespace gradwalk::paths
