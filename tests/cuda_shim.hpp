// SPDX-License-Identifier: MIT
// Runs emitted CUDA text on the CPU: a C++ compiler compiles this header and then the text. The threads of a block are
// contexts that take turns; at a barrier or a shuffle, each waits until all others have reached it. Operations round as
// on a GPU if the compiler fuses none (-ffp-contract=off).
#pragma once

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include <functional>
#include <vector>

#define __global__
#define __device__
#define __forceinline__ inline
#define __shared__ static
#define __launch_bounds__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))
#define gw_shared(name) real* const name = (real*)shim::dynamic_memory

struct ShimIndex {
  unsigned x, y;
};
inline ShimIndex threadIdx, blockIdx, blockDim, gridDim;

namespace shim {

constexpr unsigned most_threads = 256;
constexpr size_t stack_bytes = 256 * 1024;

inline ucontext_t scheduler, contexts[most_threads];
inline std::vector<char> stacks;
inline bool is_done[most_threads];
inline const std::function<void()>* kernel;
inline double lanes[most_threads];
alignas(16) inline char dynamic_memory[256 * 1024];

inline unsigned tensor_a[most_threads][4], tensor_b[most_threads][2];

inline void run_thread() {
  (*kernel)();
  is_done[threadIdx.x] = true;
}
// Lets all other threads of the block come this far.
inline void wait() { swapcontext(&contexts[threadIdx.x], &scheduler); }

inline void run_block() {
  for (unsigned i = 0; i < blockDim.x; ++i) {
    getcontext(&contexts[i]);
    contexts[i].uc_stack.ss_sp = stacks.data() + i * stack_bytes;
    contexts[i].uc_stack.ss_size = stack_bytes;
    contexts[i].uc_link = &scheduler;
    makecontext(&contexts[i], run_thread, 0);
    is_done[i] = false;
  }
  for (bool is_running = true; is_running;) {
    is_running = false;
    for (unsigned i = 0; i < blockDim.x; ++i) {
      if (is_done[i]) continue;
      is_running = true;
      threadIdx.x = i;
      swapcontext(&scheduler, &contexts[i]);
    }
  }
}
// The second dimension of the grid is `parts`.
inline void launch(unsigned blocks, unsigned parts, unsigned threads, const std::function<void()>& function) {
  stacks.resize(most_threads * stack_bytes);
  kernel = &function;
  gridDim = {blocks, parts};
  blockDim = {threads, 1};
  // A GPU runs blocks in any order: SHIM_LAST_BLOCK_FIRST asks for another one.
  const bool is_reversed = getenv("SHIM_LAST_BLOCK_FIRST") != nullptr;
  for (unsigned y = 0; y < parts; ++y)
    for (unsigned x = 0; x < blocks; ++x) {
      blockIdx = is_reversed ? ShimIndex{blocks - 1 - x, parts - 1 - y} : ShimIndex{x, y};
      run_block();
    }
}
inline void launch(unsigned blocks, unsigned threads, const std::function<void()>& function) {
  launch(blocks, 1, threads, function);
}

// Rows, one after another, in tiles of 32: in a tile, the first input of all rows comes first.
template <class Real> std::vector<Real> tiles(const std::vector<Real>& rows, size_t count, size_t inputs) {
  std::vector<Real> made((count + 31) / 32 * 32 * inputs);
  for (size_t r = 0; r < count; ++r)
    for (size_t i = 0; i < inputs; ++i) made[(r / 32 * inputs + i) * 32 + r % 32] = rows[r * inputs + i];
  return made;
}
template <class Real> void print(const Real* numbers, size_t count) {
  for (size_t i = 0; i < count; ++i) printf("%a\n", (double)numbers[i]);
}

}  // namespace shim

inline void __syncthreads() { shim::wait(); }
inline void __syncwarp() { shim::wait(); }
template <class T> T __shfl_down_sync(unsigned, T x, int offset) {
  const unsigned own = threadIdx.x;
  shim::lanes[own] = (double)x;
  shim::wait();
  const T found = own % 32 + (unsigned)offset < 32 ? (T)shim::lanes[own + (unsigned)offset] : x;
  shim::wait();
  return found;
}
// Tensor cores read the upper 19 bits of a float, and add up with more of them.
#define gw_mma gw_mma
inline void gw_mma(float (&sum)[4], const unsigned (&a)[4], const unsigned (&b)[2]);
template <class T> T __ldcs(const T* from) { return *from; }
template <class To, class From> To shim_bits(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  memcpy(&to, &from, sizeof to);
  return to;
}
inline float __uint_as_float(unsigned bits) { return shim_bits<float>(bits); }
inline void gw_mma(float (&sum)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  const unsigned own = threadIdx.x, warp = own / 32 * 32, lane = own % 32;
  for (unsigned i = 0; i < 4; ++i) shim::tensor_a[own][i] = a[i] & 0xffffe000u;
  for (unsigned i = 0; i < 2; ++i) shim::tensor_b[own][i] = b[i] & 0xffffe000u;
  shim::wait();
  for (unsigned e = 0; e < 4; ++e) {
    const unsigned row = lane / 4 + 8 * (e / 2), column = lane % 4 * 2 + e % 2;
    double all = sum[e];
    for (unsigned k = 0; k < 8; ++k)
      all += (double)__uint_as_float(shim::tensor_a[warp + row % 8 * 4 + k % 4][row / 8 + k / 4 * 2]) *
             __uint_as_float(shim::tensor_b[warp + column * 4 + k % 4][k / 4]);
    sum[e] = (float)all;
  }
  shim::wait();
}
inline unsigned __float_as_uint(float number) { return shim_bits<unsigned>(number); }
inline double __longlong_as_double(long long bits) { return shim_bits<double>(bits); }
inline long long __double_as_longlong(double number) { return shim_bits<long long>(number); }
