// SPDX-License-Identifier: MIT
// The kernel that makes a step of an optimizer on a device, as text.
#pragma once

#include <string>

#include "gradwalk/compile.hpp"
#include "optim/update_rules.hpp"

namespace gradwalk::gpu {

// The threads of the kernel, which is one block.
inline constexpr unsigned update_threads = 256;

// Returns the text of gradwalk_update for one rule and a number type. Its arguments:
//
//   count       how many parameters there are
//   step        how many steps must have been made before this one; if there are others, it does nothing
//   is_checked  whether to do nothing if a result is not finite
//   share       what each result is multiplied by: 1, or 1 over the number of rows
//   most        the largest norm of the gradient, or infinity
//   numbers     StepNumbers
//   results     the sum, then the gradient
//   parameters, first, second    what the rule changes; moments that it does not keep can be 0
//   outcome     two numbers: the sum in the last step, and how many steps were made
std::string update_text(detail::UpdateRule rule, Precision precision);

// Returns whether the rule keeps a first or a second moment of each parameter.
bool has_first(detail::UpdateRule rule);
bool has_second(detail::UpdateRule rule);

}  // namespace gradwalk::gpu
