// SPDX-License-Identifier: MIT
#include "cuda_products.hpp"

namespace gradwalk::emit {
namespace {

constexpr const char* product_helpers = R"cuda(
#ifndef gw_shared  // shared memory whose size the launch determines
#define gw_shared(name) extern __shared__ __align__(16) real name[]
#endif
template <int N>
struct __align__(N * sizeof(real)) gw_some {
  real at[N];
};
// Where some numbers of a row are: evenly spaced places, or those of a table.
struct gw_places {
  const unsigned* table;
  unsigned first, step;
  __device__ inline unsigned operator[](unsigned i) const { return table != 0 ? table[i] : first + step * i; }
};
__device__ static inline unsigned gw_least(unsigned x, unsigned y) { return x < y ? x : y; }
// sum + gradient * y. A gradient of 0 passes nothing on if the kernel is careful.
template <bool is_careful> __device__ static inline real gw_more(real gradient, real y, real sum) {
  return is_careful && gradient == 0 ? sum : gw_fma(gradient, y, sum);
}
)cuda";

// Each thread computes `each` outputs of four rows. The order of the sums is that of the inputs.
constexpr const char* layer_product = R"cuda(
// Outputs first ... end of a layer for a tile of rows: y = bias + weights * x. Weight (o, t) is w[o * row + t * column].
// Input t of row r is x[places[t] * x_pitch + r]; rows after `last` repeat that one. `staged` is shared memory.
template <int each, unsigned count, unsigned depth, bool is_relu, bool is_careful>
__device__ static __forceinline__ void gw_layer(unsigned first, unsigned end, const real* w, unsigned row, unsigned column,
                                       const real* bias, unsigned bias_step, const real* x, unsigned x_pitch,
                                       gw_places places, unsigned last, real* y, unsigned y_pitch, real* staged) {
  constexpr unsigned width = 16 * each;
  real *const ws = staged, *const xs = staged + 16 * (width + 4);
  const unsigned own = (threadIdx.x >> 3) * each, r = (threadIdx.x & 7u) * 4u;
  for (unsigned o = first; o < end; o += width) {
    real sum[each][4];
#pragma unroll
    for (int k = 0; k < each; ++k)
#pragma unroll
      for (int q = 0; q < 4; ++q) sum[k][q] = bias != 0 && o + own + k < count ? bias[(o + own + k) * bias_step] : 0;
    // The next numbers are read while products of those in shared memory are added up.
    real next_w[2 * each], next_x[4];
    const auto read = [&](unsigned t) {
#pragma unroll
      for (int k = 0; k < 2 * each; ++k) {
        const unsigned i = threadIdx.x + 128u * k, at = t + (column == 1u ? i % 16u : i / width),
                       to = o + (column == 1u ? i / 16u : i % width);
        next_w[k] = at < depth && to < count ? w[(unsigned long long)to * row + at * column] : 0;
      }
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        const unsigned at = t + (threadIdx.x >> 5) + 4u * k;
        next_x[k] =
            at < depth ? x[(unsigned long long)places[at] * x_pitch + gw_least(threadIdx.x & 31u, last)] : 0;
      }
    };
    __syncthreads();
    read(0);
#pragma unroll 1
    for (unsigned t = 0; t < depth; t += 16u) {
      __syncthreads();
#pragma unroll
      for (int k = 0; k < 2 * each; ++k) {
        const unsigned i = threadIdx.x + 128u * k;
        ws[(column == 1u ? i % 16u : i / width) * (width + 4u) + (column == 1u ? i / 16u : i % width)] = next_w[k];
      }
#pragma unroll
      for (int k = 0; k < 4; ++k) xs[((threadIdx.x >> 5) + 4u * k) * 36u + (threadIdx.x & 31u)] = next_x[k];
      __syncthreads();
      if (t + 16u < depth) read(t + 16u);
      const unsigned here = depth - t < 16u ? depth - t : 16u;
#pragma unroll 4
      for (unsigned at = 0; at < here; ++at) {
        const gw_some<each> a = *(const gw_some<each>*)(ws + at * (width + 4u) + own);
        const gw_some<4> b = *(const gw_some<4>*)(xs + at * 36u + r);
#pragma unroll
        for (int k = 0; k < each; ++k)
#pragma unroll
          for (int q = 0; q < 4; ++q) sum[k][q] = gw_more<is_careful>(b.at[q], a.at[k], sum[k][q]);
      }
    }
#pragma unroll
    for (int k = 0; k < each; ++k)
      if (o + own + k < count) {
        gw_some<4> made;
#pragma unroll
        for (int q = 0; q < 4; ++q) made.at[q] = is_relu ? gw_relu(sum[k][q]) : sum[k][q];
        *(gw_some<4>*)(y + (unsigned long long)(o + own + k) * y_pitch + r) = made;
      }
  }
}
)cuda";

// Gradients of weights whose sums over rows are divided among blocks.
constexpr const char* sums_of_weights = R"cuda(
// The numbers of some rows: those of each tile of 32 follow those of the tile before.
struct gw_rows {
  const real* numbers;
  unsigned per_row;
  __device__ inline const real* tile(unsigned t) const { return numbers + (unsigned long long)t * per_row * 32u; }
};
// Adds up gradients of outputs times inputs over tiles begin ... end, for 64 outputs and 64 inputs from (o, t) on, and
// writes or adds the sums to `to`: that of weight (o, t) is at o * row + t * column. With a bias, input `depth` is 1,
// and its sums are at bias + o * bias_step. Gradient o is at place g + o * g_step of the values; there are `copies` of
// the layer, each with the next gradients and the next `copy_step` inputs. `rows` is how many there are.
template <unsigned count, unsigned depth, unsigned copies, bool has_bias, bool is_careful>
__device__ static __forceinline__ void gw_weights(unsigned part, unsigned begin, unsigned end, unsigned rows, gw_rows values,
                                         unsigned g, unsigned g_step, gw_rows inputs, gw_places places, unsigned copy_step, real* to,
                                         unsigned row, unsigned column, real* bias, unsigned bias_step, bool is_first,
                                         real* staged) {
  constexpr unsigned all = depth + (has_bias ? 1u : 0u), across = (all + 63u) / 64u;
  const unsigned o = part / across * 64u, t = part % across * 64u;
  const unsigned own_o = threadIdx.x >> 4, own_t = threadIdx.x & 15u;
  real *const gs = staged, *const xs = staged + 64 * 36;
  real sum[8][4] = {};
#pragma unroll 1
  for (unsigned n = begin * copies; n < end * copies; ++n) {
    const unsigned tile = n / copies, copy = n % copies, here = gw_least(32u, rows - tile * 32u);
    const real *const from = values.tile(tile), *const x = inputs.tile(tile);
    __syncthreads();
    for (unsigned i = threadIdx.x; i < 64u * 32u; i += 128u) {
      const unsigned k = i >> 5, r = i & 31u;
      gs[k * 36u + r] = o + k < count && r < here ? from[(g + (o + k) * g_step + copy) * 32u + r] : 0;
      real number = has_bias && t + k == depth ? 1 : 0;
      if (t + k < depth && r < here) number = x[places[copy * copy_step + t + k] * 32u + r];
      xs[k * 36u + r] = number;
    }
    __syncthreads();
#pragma unroll 1
    for (unsigned r = 0; r < 32u; r += 4u) {
      gw_some<4> a[8], b[4];
#pragma unroll
      for (int k = 0; k < 8; ++k) a[k] = *(const gw_some<4>*)(gs + (own_o + 8u * k) * 36u + r);
#pragma unroll
      for (int k = 0; k < 4; ++k) b[k] = *(const gw_some<4>*)(xs + (own_t + 16u * k) * 36u + r);
#pragma unroll
      for (int q = 0; q < 4; ++q)
#pragma unroll
        for (int i = 0; i < 8; ++i)
#pragma unroll
          for (int k = 0; k < 4; ++k) sum[i][k] = gw_more<is_careful>(a[i].at[q], b[k].at[q], sum[i][k]);
    }
  }
#pragma unroll
  for (int i = 0; i < 8; ++i)
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const unsigned at_o = o + own_o + 8u * i, at_t = t + own_t + 16u * k;
      if (at_o >= count || at_t >= all) continue;
      real* const sum_of = at_t < depth ? to + (unsigned long long)at_o * row + at_t * column : bias + at_o * bias_step;
      *sum_of = is_first ? sum[i][k] : *sum_of + sum[i][k];
    }
}
)cuda";

// Gradients of small layers, whose sums stay in registers while a block goes from tile to tile.
constexpr const char* own_sums_of_weights = R"cuda(
// Adds the products of gradients and inputs of a tile in shared memory to the sums of this thread: A x B
// of them, for each of the `times`.
template <int A, int B, unsigned count, unsigned depth, bool is_careful, int times>
__device__ static __forceinline__ void gw_add_outer(const real* g, unsigned g_step, const real* x, gw_places places,
                                           real (&sum)[times][A][B]) {
  constexpr unsigned down = (count + A - 1) / A, across = (depth + B - 1) / B;
#pragma unroll
  for (int n = 0; n < times; ++n) {
    const unsigned own = threadIdx.x + 128u * n;
    if (own >= down * across) continue;
    const real *a_at[A], *b_at[B];
#pragma unroll
    for (int i = 0; i < A; ++i) a_at[i] = g + gw_least(own / across + down * i, count - 1u) * g_step;
#pragma unroll
    for (int k = 0; k < B; ++k) b_at[k] = x + places[gw_least(own % across + across * k, depth - 1u)] * 36u;
#pragma unroll 1
    for (unsigned r = 0; r < 32u; r += 4u) {
      gw_some<4> a[A], b[B];
#pragma unroll
      for (int i = 0; i < A; ++i) a[i] = *(const gw_some<4>*)(a_at[i] + r);
#pragma unroll
      for (int k = 0; k < B; ++k) b[k] = *(const gw_some<4>*)(b_at[k] + r);
#pragma unroll
      for (int q = 0; q < 4; ++q)
#pragma unroll
        for (int i = 0; i < A; ++i)
#pragma unroll
          for (int k = 0; k < B; ++k) sum[n][i][k] = gw_more<is_careful>(a[i].at[q], b[k].at[q], sum[n][i][k]);
    }
  }
}
// Writes or adds these sums: that of output o and input t to to[o * row + t * column].
template <int A, int B, unsigned count, unsigned depth, int times>
__device__ static __forceinline__ void gw_write_outer(const real (&sum)[times][A][B], real* to, unsigned row, unsigned column,
                                             bool is_first) {
  constexpr unsigned down = (count + A - 1) / A, across = (depth + B - 1) / B;
#pragma unroll
  for (int n = 0; n < times; ++n)
#pragma unroll
    for (int i = 0; i < A; ++i)
#pragma unroll
      for (int k = 0; k < B; ++k) {
        const unsigned own = threadIdx.x + 128u * n, o = own / across + down * i, t = own % across + across * k;
        if (own >= down * across || o >= count || t >= depth) continue;
        real* const sum_of = to + (unsigned long long)o * row + t * column;
        *sum_of = is_first ? sum[n][i][k] : *sum_of + sum[n][i][k];
      }
}
)cuda";

}  // namespace

std::string cuda_products(bool is_float) {
  const std::string fused = is_float ? "fmaf" : "fma";
  return "__device__ static inline real gw_fma(real x, real y, real z) { return " + fused + "(x, y, z); }" +
         product_helpers + layer_product + sums_of_weights + own_sums_of_weights;
}

}  // namespace gradwalk::emit
