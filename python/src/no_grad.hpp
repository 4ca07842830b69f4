// SPDX-License-Identifier: MIT
// The number of no_grad blocks that are active. A node made inside one has no _backward to set.
#pragma once

namespace gradwalk::python {

inline int no_grad_blocks = 0;

}  // namespace gradwalk::python
