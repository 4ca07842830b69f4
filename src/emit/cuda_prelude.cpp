// SPDX-License-Identifier: MIT
#include "cuda_prelude.hpp"

namespace gradwalk::emit {
namespace {

constexpr const char* common = R"cuda(
__device__ static inline real gw_infinity() { return gw_from_bits(gw_infinity_bits); }
__device__ static inline real gw_nan() { return gw_from_bits(gw_infinity_bits | 1); }
__device__ static inline real gw_load(const real* from) { return __ldcs(from); }
// The sum over the 32 threads of a warp, in the first of them, always in the same order.
__device__ static inline real gw_warp_sum(real x) {
  for (int offset = 16; offset > 0; offset >>= 1) x += __shfl_down_sync(0xffffffffu, x, offset);
  return x;
}
// Adds the sum over a warp to a number of this warp.
__device__ static inline void gw_add(real* to, real x) {
  x = gw_warp_sum(x);
  if ((threadIdx.x & 31) == 0) *to += x;
}
)cuda";

// exp: x = k ln 2 + f, and a polynomial for e^f. log: x = m 2^e, and a series in (m - 1) / (m + 1).
constexpr const char* of_float = R"cuda(typedef float real;
typedef unsigned gw_bits;
#define gw_infinity_bits 0x7f800000u
__device__ static inline real gw_from_bits(gw_bits bits) { return __uint_as_float(bits); }
__device__ static inline float gw_exp(float x) {
  if (!(x > -104.0f)) return x != x ? x : 0.0f;
  if (x > 89.0f) return __uint_as_float(0x7f800000u);
  const float k = rintf(x * 1.44269502f);
  const float f = fmaf(k, 1.90465421e-9f, fmaf(k, -0.693147182f, x));
  float p = 1.37805939e-3f;
  p = fmaf(p, f, 8.37312452e-3f);
  p = fmaf(p, f, 4.16695364e-2f);
  p = fmaf(p, f, 1.66664720e-1f);
  p = fmaf(p, f, 4.99999851e-1f);
  p = fmaf(p, f, 1.0f);
  p = fmaf(p, f, 1.0f);
  const int i = (int)k, half = i / 2;
  return p * __uint_as_float((unsigned)(half + 127) << 23) * __uint_as_float((unsigned)(i - half + 127) << 23);
}
__device__ static inline float gw_log(float x) {
  if (!(x > 0.0f)) return x == 0.0f ? -__uint_as_float(0x7f800000u) : __uint_as_float(0x7fc00000u);
  if (x == __uint_as_float(0x7f800000u)) return x;
  float e = 0.0f;
  if (x < 1.17549435e-38f) x *= 16777216.0f, e = -24.0f;
  const unsigned bits = __float_as_uint(x), top = bits - 0x3f3504f3u;
  e += (float)((int)top >> 23);
  const float m = __uint_as_float((top & 0x007fffffu) + 0x3f3504f3u);
  const float d = m - 1.0f, s = d / (2.0f + d), z = s * s, h = 0.5f * d * d;
  float p = 0.222222222f;
  p = fmaf(p, z, 0.285714286f);
  p = fmaf(p, z, 0.4f);
  p = fmaf(p, z, 0.666666667f);
  // log(1 + d) = d - h + s (h + z p), in which the rounding of s matters little.
  return fmaf(e, 0.693147182f, d - (h - fmaf(s, fmaf(z, p, h), e * -1.90465421e-9f)));
}
)cuda";

constexpr const char* of_double = R"cuda(typedef double real;
typedef unsigned long long gw_bits;
#define gw_infinity_bits 0x7ff0000000000000ull
__device__ static inline real gw_from_bits(gw_bits bits) { return __longlong_as_double((long long)bits); }
__device__ static inline double gw_exp(double x) {
  if (!(x > -746.0)) return x != x ? x : 0.0;
  if (x > 710.0) return __longlong_as_double(0x7ff0000000000000ll);
  const double k = rint(x * 1.4426950408889634);
  const double f = fma(k, -2.3190468138462996e-17, fma(k, -0.6931471805599453, x));
  double p = 1.6059043836821613e-10;
  p = fma(p, f, 2.08767569878681e-9);
  p = fma(p, f, 2.505210838544172e-8);
  p = fma(p, f, 2.755731922398589e-7);
  p = fma(p, f, 2.7557319223985893e-6);
  p = fma(p, f, 2.48015873015873e-5);
  p = fma(p, f, 1.984126984126984e-4);
  p = fma(p, f, 1.388888888888889e-3);
  p = fma(p, f, 8.333333333333333e-3);
  p = fma(p, f, 4.1666666666666664e-2);
  p = fma(p, f, 1.6666666666666666e-1);
  p = fma(p, f, 0.5);
  p = fma(p, f * f, f) + 1.0;
  const int i = (int)k, half = i / 2;
  return p * __longlong_as_double((long long)(half + 1023) << 52) *
         __longlong_as_double((long long)(i - half + 1023) << 52);
}
__device__ static inline double gw_log(double x) {
  if (!(x > 0.0)) return x == 0.0 ? -__longlong_as_double(0x7ff0000000000000ll) : __longlong_as_double(0x7ff8000000000000ll);
  if (x == __longlong_as_double(0x7ff0000000000000ll)) return x;
  double e = 0.0;
  if (x < 2.2250738585072014e-308) x *= 18014398509481984.0, e = -54.0;
  const long long top = __double_as_longlong(x) - 0x3fe6a09e667f3bcdll;
  e += (double)(int)(top >> 52);
  const double m = __longlong_as_double((top & 0x000fffffffffffffll) + 0x3fe6a09e667f3bcdll);
  const double d = m - 1.0, s = d / (2.0 + d), z = s * s, h = 0.5 * d * d;
  double p = 0.10526315789473684;
  p = fma(p, z, 0.11764705882352941);
  p = fma(p, z, 0.13333333333333333);
  p = fma(p, z, 0.15384615384615385);
  p = fma(p, z, 0.18181818181818182);
  p = fma(p, z, 0.22222222222222221);
  p = fma(p, z, 0.2857142857142857);
  p = fma(p, z, 0.4);
  p = fma(p, z, 0.66666666666666663);
  return fma(e, 0.6931471805599453, d - (h - fma(s, fma(z, p, h), e * 2.3190468138462996e-17)));
}
)cuda";

// Each lane adds up a tile of the products over some rows. Lanes with the same tile and other rows are added to it.
constexpr const char* outer = R"cuda(
struct __align__(16) gw_four {
  real at[4];
};
// Adds the sums over the 32 rows of a warp of a * b to own, for A numbers a and B numbers b of each row, and of a to
// own_bias. Number f of row r is staged[f * 36 + r]; the numbers a come first.
template <int A, int B, int width, bool has_bias>
__device__ static inline void gw_outer(const real* staged, real* own, real* own_bias) {
  constexpr int TA = A < 4 ? A : 4, TB = B < 4 ? B : 4, NA = (A + TA - 1) / TA, NB = (B + TB - 1) / TB;
  constexpr int lanes = NA * NB > 16 ? 32 : NA * NB > 8 ? 16 : NA * NB > 4 ? 8 : 4, span = lanes;
  const int lane = (int)(threadIdx.x & 31u), tile = lane % lanes, first = lane / lanes * span;
  const int ta = tile % NA, tb = tile / NA;
  real sum[TA][TB] = {};
#pragma unroll
  for (int r = 0; r < span; r += 4) {
    gw_four a[TA], b[TB];
#pragma unroll
    for (int i = 0; i < TA; ++i)
      a[i] = *(const gw_four*)(staged + (ta + i * NA < A ? ta + i * NA : A - 1) * 36 + first + r);
#pragma unroll
    for (int j = 0; j < TB; ++j)
      b[j] = *(const gw_four*)(staged + (A + (tb + j * NB < B ? tb + j * NB : B - 1)) * 36 + first + r);
#pragma unroll
    for (int q = 0; q < 4; ++q)
#pragma unroll
      for (int i = 0; i < TA; ++i)
#pragma unroll
        for (int j = 0; j < TB; ++j) sum[i][j] = gw_fma(a[i].at[q], b[j].at[q], sum[i][j]);
  }
#pragma unroll
  for (int i = 0; i < TA; ++i)
#pragma unroll
    for (int j = 0; j < TB; ++j) {
#pragma unroll
      for (int offset = 16; offset >= lanes; offset /= 2)
        sum[i][j] += __shfl_down_sync(0xffffffffu, sum[i][j], offset);
      if (lane < NA * NB && ta + i * NA < A && tb + j * NB < B) own[(ta + i * NA) * width + tb + j * NB] += sum[i][j];
    }
  if (has_bias && lane < A) {
    real all = own_bias[lane];
#pragma unroll
    for (int r = 0; r < 32; r += 4) {
      const gw_four a = *(const gw_four*)(staged + lane * 36 + r);
      all += (a.at[0] + a.at[1]) + (a.at[2] + a.at[3]);
    }
    own_bias[lane] = all;
  }
}
)cuda";

}  // namespace

std::string cuda_outer(bool is_float) {
  const std::string fused = is_float ? "fmaf" : "fma";
  return "__device__ static inline real gw_fma(real x, real y, real z) { return " + fused + "(x, y, z); }" + outer;
}
std::string cuda_prelude(bool is_float) { return std::string(is_float ? of_float : of_double) + common; }

}  // namespace gradwalk::emit
