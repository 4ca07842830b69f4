// SPDX-License-Identifier: MIT
// The kernels that make a step of an optimizer on a device, as text.
#pragma once

#include <cstddef>
#include <string>

#include "gradwalk/compile.hpp"
#include "optim/update_rules.hpp"

namespace gradwalk::gpu {

// The threads of a block, and the most blocks of gradwalk_check and of gradwalk_right.
inline constexpr unsigned update_threads = 256, most_check_blocks = 64, most_right_blocks = 64;

// A plan is what differs from step to step, and the figures that come back: an array of doubles on the device. It
// begins with the figures, in this order; then there are `plan_step` numbers per step, which are StepNumbers and the
// number of the first row. Kernels read the plan by the number of steps begun, so that one CUDA graph can make any
// step.
enum PlanFigure : std::size_t {
  plan_sum,      // of the first output, in the last step that was made
  plan_made,     // how many steps were made; as soon as a step cannot be made, it and those after it change nothing
  plan_begun,    // how many steps were begun
  plan_penalty,  // the penalties of the parameters before the last step that was made
  plan_squares,  // the square of the norm of the gradient in the last step that was made
  plan_right,    // what the blocks of gradwalk_right have added up
  plan_figures = plan_right + most_right_blocks
};
inline constexpr std::size_t plan_step = 10;

// Returns the text of these kernels for one rule and a number type:
//
//   gradwalk_check    writes to `seen` the number of the step, then three numbers per block: 1 if the step cannot be
//                     made, a sum of squares of the gradient, and a part of the penalties
//   gradwalk_update   updates a parameter per thread; it has at least one thread
//   gradwalk_batch    copies numbers of rows, beginning with the first row of the step
//   gradwalk_gather   copies the rows of these numbers to tiles of 32
//   gradwalk_right    adds up what rows contribute to BatchSums::right(), to plan_right
//
// The arguments are:
//
//   count       how many parameters there are; for the last three, how many numbers or rows
//   is_checked  whether to do nothing if a result is not finite
//   share       what each result is multiplied by: 1, or 1 over the number of rows
//   l1, l2      the penalties (Recipe); 0 if there are none
//   most        the largest norm of the gradient, or infinity
//   results     the sum, then the gradient
//   parameters, first, second    what the rule changes; moments that it does not keep can be 0
//   inputs      of each row
//   target, kind, scores    the number of the input that is the target, its Target, and how many outputs of the program
//                           follow the first, which is the loss
std::string update_text(detail::UpdateRule rule, Precision precision);

// How a row says which class it has, or which number.
enum class Target : unsigned { number, sign, label, one_hot };

// Returns whether the rule keeps a first or a second moment of each parameter.
bool has_first(detail::UpdateRule rule);
bool has_second(detail::UpdateRule rule);

}  // namespace gradwalk::gpu
