// SPDX-License-Identifier: MIT
// Sets the number of OpenBLAS's threads and waits for them to sleep.
#include "blas_threads.hpp"

#include <cblas.h>

#include <chrono>
#include <ctime>
#include <thread>

namespace bench {

void set_blas_threads(int count) { openblas_set_num_threads(count); }

void wait_until_blas_rests() {
  std::clock_t before = 0, after = std::clock();  // the CPU time of all threads; this thread sleeps
  do {
    before = after;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    after = std::clock();
  } while (after - before > CLOCKS_PER_SEC / 1000);
}

}  // namespace bench
