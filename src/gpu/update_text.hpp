// SPDX-License-Identifier: MIT
// The kernels that make a step of an optimizer on a device, as text.
#pragma once

#include <string>

#include "gradwalk/compile.hpp"
#include "optim/update_rules.hpp"

namespace gradwalk::gpu {

// The threads of a block, and the most blocks of gradwalk_check.
inline constexpr unsigned update_threads = 256, most_check_blocks = 64;

// Returns the text of gradwalk_check and gradwalk_update for one rule and a number type. Each block of gradwalk_check
// writes two numbers: 1 if the step cannot be made, and a sum of squares. gradwalk_update has a thread per parameter,
// at least one. The arguments are:
//
//   count       how many parameters there are
//   step        how many steps must have been made before this one; if there are others, it does nothing
//   is_checked  whether to do nothing if a result is not finite
//   share       what each result is multiplied by: 1, or 1 over the number of rows
//   most        the largest norm of the gradient, or infinity
//   numbers     StepNumbers
//   blocks, seen   the blocks of gradwalk_check, and what they have written
//   results     the sum, then the gradient
//   parameters, first, second    what the rule changes; moments that it does not keep can be 0
//   outcome     two numbers: the sum in the last step, and how many steps were made
std::string update_text(detail::UpdateRule rule, Precision precision);

// Returns whether the rule keeps a first or a second moment of each parameter.
bool has_first(detail::UpdateRule rule);
bool has_second(detail::UpdateRule rule);

}  // namespace gradwalk::gpu
