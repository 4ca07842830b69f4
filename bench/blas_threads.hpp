// SPDX-License-Identifier: MIT
// The number of threads of OpenBLAS. Variants take turns, so each sets it before it runs.
#pragma once

namespace bench {

void set_blas_threads(int count);

// Waits until OpenBLAS's threads sleep. They stay awake for a tenth of a second after their last work, on cores that
// the threads of another variant need.
void wait_until_blas_rests();

}  // namespace bench
