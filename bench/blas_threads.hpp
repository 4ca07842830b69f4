// SPDX-License-Identifier: MIT
// How many threads OpenBLAS works on: to be set before each run that uses it, since variants take turns.
#pragma once

namespace bench {

void set_blas_threads(int count);

// OpenBLAS's threads stay awake for a tenth of a second after their last work, on cores that another variant's threads
// need. Gives back when none does.
void wait_until_blas_rests();

}  // namespace bench
