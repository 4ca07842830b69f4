// SPDX-License-Identifier: MIT
#include "cuda_prelude.hpp"

#include <string_view>

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

// exp: x = k ln 2 + f, and a polynomial for e^f.
constexpr const char* of_float = R"cuda(typedef float real;
typedef unsigned gw_bits;
#define gw_infinity_bits 0x7f800000u
__device__ static inline real gw_from_bits(gw_bits bits) { return __uint_as_float(bits); }
__device__ static inline float gw_float(unsigned bits) { return __uint_as_float(bits); }
__device__ static inline unsigned gw_bits_of(float number) { return __float_as_uint(number); }
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
)cuda";

constexpr const char* of_double = R"cuda(typedef double real;
typedef unsigned long long gw_bits;
#define gw_infinity_bits 0x7ff0000000000000ull
__device__ static inline real gw_from_bits(gw_bits bits) { return __longlong_as_double((long long)bits); }
__device__ static inline double gw_double(long long bits) { return __longlong_as_double(bits); }
__device__ static inline long long gw_bits_of(double number) { return __double_as_longlong(number); }
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

struct SharedFunction {
  enum class For { both, floats, doubles } type;
  const char* text;
};
// #__VA_ARGS__ joins the lines of a macro's argument by spaces.
constexpr SharedFunction shared[] = {
#define GRADWALK_COMMON(...) {SharedFunction::For::both, #__VA_ARGS__},
#define GRADWALK_FLOAT(...) {SharedFunction::For::floats, #__VA_ARGS__},
#define GRADWALK_DOUBLE(...) {SharedFunction::For::doubles, #__VA_ARGS__},
#include "shared_functions.def"
#undef GRADWALK_COMMON
#undef GRADWALK_FLOAT
#undef GRADWALK_DOUBLE
};

// Puts each statement of a function on a line of its own again.
std::string in_lines(std::string_view text) {
  std::string made, line;
  std::size_t depth = 0, parentheses = 0;
  const auto end_line = [&] {
    if (!line.empty()) made += std::string(2 * depth, ' ') + line + "\n";
    line.clear();
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ' ' && line.empty()) continue;
    if (text[i] == '(') ++parentheses;
    if (text[i] == ')') --parentheses;
    if (text.substr(i).starts_with("= {")) {  // an initializer, which is part of a statement
      const std::size_t end = text.find(';', i);
      line += text.substr(i, end - i);
      i = end;
    }
    if (text[i] == '}') {
      end_line();
      --depth;
    }
    line += text[i];
    if (parentheses > 0 || (text[i] == '}' && text.substr(i + 1).starts_with(';'))) continue;
    if (text[i] == '{' || text[i] == '}' || text[i] == ';') end_line();
    if (text[i] == '{') ++depth;
  }
  end_line();
  return made;
}
// Returns the function of this name for one of the types, if it is not for both.
std::string shared_function(std::string_view name, bool is_float) {
  for (const SharedFunction& one : shared) {
    const std::string_view text = one.text;
    const bool is_other = one.type == (is_float ? SharedFunction::For::doubles : SharedFunction::For::floats);
    if (is_other || text.find(name) >= text.find_first_of("({")) continue;
    return (text.starts_with("struct") ? "" : "__device__ ") + in_lines(text);
  }
  return "";
}

}  // namespace

std::string cuda_fused(bool is_float) {
  const std::string fused = is_float ? "fmaf" : "fma";
  return "__device__ static inline real gw_fma(real x, real y, real z) { return " + fused + "(x, y, z); }";
}
std::string cuda_outer(bool is_float) { return cuda_fused(is_float) + outer; }
std::string cuda_prelude(bool is_float) {
  return std::string(is_float ? of_float : of_double) + shared_function("gw_log", is_float) + common;
}
std::string cuda_random(bool is_float) {
  std::string text;
  for (const char* name : {"GwWords", "gw_philox", "gw_uniforms", "gw_normals"})
    text += shared_function(name, is_float);
  return text;
}

}  // namespace gradwalk::emit
