// SPDX-License-Identifier: MIT
#include "cuda_products.hpp"

#include "cuda_prelude.hpp"

namespace gradwalk::emit {
namespace {

constexpr const char* product_helpers = R"cuda(
#ifndef gw_shared  // shared memory whose size the launch determines
#define gw_shared(name) extern __shared__ __align__(16) real name[]
#endif
template <int N>
struct __align__(N * sizeof(real) < 16 ? N * sizeof(real) : 16) gw_some {
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

// Products of float32 on tensor cores, which multiply numbers of 11 bits. Each number is the sum of one of 11 bits and
// the rest; the product of the rests is left out. GPUs before sm_80 have none.
constexpr const char* tensor_products = R"cuda(
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
constexpr bool gw_tensors = false;
#else
constexpr bool gw_tensors = true;
#endif
#ifndef gw_mma
// sum += a * b for a of 16 x 8 and b of 8 x 8 numbers, of which each thread of a warp has some.
__device__ static inline void gw_mma(float (&sum)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
#endif
__device__ static inline void gw_split(float number, unsigned& upper, unsigned& rest) {
  upper = __float_as_uint(number) & 0xffffe000u;
  rest = __float_as_uint(number - __uint_as_float(upper));
}
// Adds the products over 8 numbers k to the sums of 16 x 8 N. Row g + 8 i of the first factor is at a[i], and column
// g + 8 n of the second one at b[n], where g is the number of this thread in its warp over 4; the steps are those of k.
template <int N>
__device__ static inline void gw_tensor(float (&sum)[N][4], const float* const (&a)[2], unsigned a_step,
                                        const float* const (&b)[N], unsigned b_step) {
  const unsigned k = threadIdx.x & 3u;
  unsigned upper[4], rest[4];
#pragma unroll
  for (int e = 0; e < 4; ++e) gw_split(a[e & 1][(k + 4u * (e >> 1)) * a_step], upper[e], rest[e]);
#pragma unroll
  for (int n = 0; n < N; ++n) {
    unsigned b_upper[2], b_rest[2];
#pragma unroll
    for (int e = 0; e < 2; ++e) gw_split(b[n][(k + 4u * e) * b_step], b_upper[e], b_rest[e]);
    gw_mma(sum[n], rest, b_upper);
    gw_mma(sum[n], upper, b_rest);
    gw_mma(sum[n], upper, b_upper);
  }
}
)cuda";
// In its place where tensor cores are not used.
constexpr const char* no_tensor_products = R"cuda(
template <int N>
__device__ static inline void gw_tensor(real (&)[N][4], const real* const (&)[2], unsigned, const real* const (&)[N],
                                        unsigned) {}
)cuda";
// The numbers of a product of 64 x 8 N that a thread has: sum[n][q] is in this row and column.
constexpr const char* tensor_places = R"cuda(
__device__ static inline unsigned gw_tensor_row(int q) {
  return (threadIdx.x >> 5) * 16u + ((threadIdx.x & 31u) >> 2) + 8u * (q >> 1);
}
__device__ static inline unsigned gw_tensor_column(int n, int q) { return n * 8u + 2u * (threadIdx.x & 3u) + (q & 1u); }
)cuda";

// Each thread computes `each` outputs of four rows. The order of the sums is that of the inputs.
constexpr const char* layer_product = R"cuda(
// Outputs first ... end of a layer for a tile of rows: y = bias + weights * x. Weight (o, t) is w[o * row + t * column].
// Input t of row r is x[places[t] * x_pitch + r]; rows after `last` repeat that one. `staged` is shared memory.
template <int each, unsigned count, unsigned depth, bool is_relu, bool is_careful, bool has_tensors>
__device__ static __forceinline__ void gw_layer(unsigned first, unsigned end, const real* w, unsigned row, unsigned column,
                                       const real* bias, unsigned bias_step, const real* x, unsigned x_pitch,
                                       gw_places places, unsigned last, real* y, unsigned y_pitch, real* staged) {
  constexpr unsigned width = 16 * each, w_pitch = width + 8u;
  real *const ws = staged, *const xs = staged + 16 * w_pitch;
  const unsigned own = (threadIdx.x >> 3) * each, r = (threadIdx.x & 7u) * 4u;
  for (unsigned o = first; o < end; o += width) {
    real sum[each][4];
#pragma unroll
    for (int k = 0; k < each; ++k)
#pragma unroll
      for (int q = 0; q < 4; ++q) {
        const unsigned at = o + (has_tensors ? gw_tensor_row(q) : own + k);
        sum[k][q] = bias != 0 && at < count ? bias[at * bias_step] : 0;
      }
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
        ws[(column == 1u ? i % 16u : i / width) * w_pitch + (column == 1u ? i / 16u : i % width)] = next_w[k];
      }
#pragma unroll
      for (int k = 0; k < 4; ++k) xs[((threadIdx.x >> 5) + 4u * k) * 40u + (threadIdx.x & 31u)] = next_x[k];
      __syncthreads();
      if (t + 16u < depth) read(t + 16u);
      if (has_tensors) {
#pragma unroll
        for (unsigned k = 0; k < 16u; k += 8u) {
          const real *const a[2] = {ws + k * w_pitch + gw_tensor_row(0), ws + k * w_pitch + gw_tensor_row(2)}, *b[each];
#pragma unroll
          for (int n = 0; n < each; ++n) b[n] = xs + k * 40u + n * 8u + ((threadIdx.x & 31u) >> 2);
          gw_tensor<each>(sum, a, w_pitch, b, 40u);
        }
        continue;
      }
      const unsigned here = depth - t < 16u ? depth - t : 16u;
#pragma unroll 4
      for (unsigned at = 0; at < here; ++at) {
        const gw_some<each> a = *(const gw_some<each>*)(ws + at * w_pitch + own);
        const gw_some<4> b = *(const gw_some<4>*)(xs + at * 40u + r);
#pragma unroll
        for (int k = 0; k < each; ++k)
#pragma unroll
          for (int q = 0; q < 4; ++q) sum[k][q] = gw_more<is_careful>(b.at[q], a.at[k], sum[k][q]);
      }
    }
    if (has_tensors) {
#pragma unroll
      for (int k = 0; k < each; ++k)
#pragma unroll
        for (int q = 0; q < 4; ++q) {
          const unsigned at = o + gw_tensor_row(q);
          if (at < count)
            y[(unsigned long long)at * y_pitch + gw_tensor_column(k, q)] = is_relu ? gw_relu(sum[k][q]) : sum[k][q];
        }
      continue;
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
template <unsigned count, unsigned depth, unsigned copies, bool has_bias, bool is_careful, bool has_tensors>
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
    if (has_tensors) {
      const unsigned g = (threadIdx.x & 31u) >> 2;
#pragma unroll 1
      for (unsigned r = 0; r < 32u; r += 8u) {
        const real *const a[2] = {gs + gw_tensor_row(0) * 36u + r, gs + gw_tensor_row(2) * 36u + r}, *b[8];
#pragma unroll
        for (int k = 0; k < 8; ++k) b[k] = xs + (k * 8u + g) * 36u + r;
        gw_tensor<8>(sum, a, 1u, b, 1u);
      }
      continue;
    }
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
      const unsigned at_o = o + (has_tensors ? gw_tensor_row(k) : own_o + 8u * i);
      const unsigned at_t = t + (has_tensors ? gw_tensor_column(i, k) : own_t + 16u * k);
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
template <int A, int B, unsigned count, unsigned depth, bool has_tensors, bool is_careful, int times>
__device__ static __forceinline__ void gw_add_outer(const real* g, unsigned g_step, const real* x, gw_places places,
                                           real (&sum)[times][A][B]) {
  constexpr unsigned down = (count + A - 1) / A, across = (depth + B - 1) / B;
  if constexpr (has_tensors) {
    const real *a_at[2], *b_at[A];
#pragma unroll
    for (int i = 0; i < 2; ++i) a_at[i] = g + gw_least(gw_tensor_row(2 * i), count - 1u) * g_step;
#pragma unroll
    for (int i = 0; i < A; ++i)
      b_at[i] = x + places[gw_least(i * 8u + ((threadIdx.x & 31u) >> 2), depth - 1u)] * 36u;
#pragma unroll 1
    for (unsigned r = 0; r < 32u; r += 8u) {
      const real *const a[2] = {a_at[0] + r, a_at[1] + r}, *b[A];
#pragma unroll
      for (int i = 0; i < A; ++i) b[i] = b_at[i] + r;
      gw_tensor<A>(sum[0], a, 1u, b, 1u);
    }
    return;
  }
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
template <int A, int B, unsigned count, unsigned depth, bool has_tensors, int times>
__device__ static __forceinline__ void gw_write_outer(const real (&sum)[times][A][B], real* to, unsigned row, unsigned column,
                                             bool is_first) {
  constexpr unsigned down = (count + A - 1) / A, across = (depth + B - 1) / B;
#pragma unroll
  for (int n = 0; n < times; ++n)
#pragma unroll
    for (int i = 0; i < A; ++i)
#pragma unroll
      for (int k = 0; k < B; ++k) {
        const unsigned own = threadIdx.x + 128u * n;
        const unsigned o = has_tensors ? gw_tensor_row(k) : own / across + down * i;
        const unsigned t = has_tensors ? gw_tensor_column(i, k) : own % across + across * k;
        if ((!has_tensors && own >= down * across) || o >= count || t >= depth) continue;
        real* const sum_of = to + (unsigned long long)o * row + t * column;
        *sum_of = is_first ? sum[n][i][k] : *sum_of + sum[n][i][k];
      }
}
)cuda";

}  // namespace

std::string cuda_products(bool is_float, bool has_tensors) {
  return cuda_fused(is_float) + product_helpers + (has_tensors ? tensor_products : no_tensor_products) + tensor_places +
         layer_product + sums_of_weights + own_sums_of_weights;
}

}  // namespace gradwalk::emit
