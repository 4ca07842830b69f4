// SPDX-License-Identifier: MIT
// How many blocks of no_grad are entered: what is made there has no step back to be set.
#pragma once

namespace gradwalk::python {

inline int no_grad_blocks = 0;

}  // namespace gradwalk::python
