// SPDX-License-Identifier: MIT
// The table of kernels, made once for each instruction set, and the list of the tables for GRADWALK_NUMBER.
//
// A file that defines GRADWALK_NUMBER has included each_target.hpp, so that it is itself included for each set.
// Floats and doubles have a file each because compiling them takes long. A file that does not define it gets no list.
#if defined(GRADWALK_COMPILE_TABLES_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef GRADWALK_COMPILE_TABLES_INL_HPP
#undef GRADWALK_COMPILE_TABLES_INL_HPP
#else
#define GRADWALK_COMPILE_TABLES_INL_HPP
#endif

#include "compile/elementwise-inl.hpp"
#include "compile/products-inl.hpp"
#include "compile/steps-inl.hpp"
#include "compile/tables.hpp"

HWY_BEFORE_NAMESPACE();
namespace gradwalk::detail::HWY_NAMESPACE {

template <class T> Kernels<T> table() {
  Kernels<T> all;
  all.name = hwy::TargetName(HWY_TARGET);
  all.lanes = lanes<T>;
  all.value = &value_of<T>;
  all.local = &local_of<T>;
  all.sums = &sums<T>;
  all.sums_without_zeros = &sums_without_zeros<T>;
  all.sums_in_steps = &sums_in_steps<T, false>;
  all.sums_in_steps_without_zeros = &sums_in_steps<T, true>;
  all.row_sum = &row_sum<T>;
  all.pass_sum = &pass_sum<T>;
  all.dot = &dot<T>;
  all.largest = &most<T, Op::max>;
  all.smallest = &most<T, Op::min>;
  all.extremes = &extremes_of<T>;
  all.shares = &shares_of<T>;
  all.has_nan = &has_nan<T>;
  all.gather = &gather<T>;
  all.add = &add<T>;
  all.product = &product<T>;
  all.outer = &outer<T>;
  all.transpose = &transpose<T>;
  all.steps = &run_steps<T, false>;
  all.steps_without_zeros = &run_steps<T, true>;
  return all;
}

}  // namespace gradwalk::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE && defined(GRADWALK_NUMBER)
namespace gradwalk::detail {

// The instruction sets of this processor, as bits of Highway.
inline std::int64_t supported_targets() {
#ifndef GRADWALK_HIGHWAY_HEADERS_ONLY
  return hwy::SupportedTargets();
#elif HWY_ARCH_X86
  // Without Highway's library, we look ourselves for what it asks of each set.
#define GRADWALK_HAS(part) (__builtin_cpu_supports(part) != 0)
  const bool has_ssse3 = GRADWALK_HAS("ssse3");
  const bool has_sse4 = has_ssse3 && GRADWALK_HAS("sse4.2") && GRADWALK_HAS("aes") && GRADWALK_HAS("pclmul");
  const bool has_avx2 = has_sse4 && GRADWALK_HAS("avx2") && GRADWALK_HAS("fma") && GRADWALK_HAS("bmi") &&
                        GRADWALK_HAS("bmi2") && GRADWALK_HAS("lzcnt") && GRADWALK_HAS("f16c");
  const bool has_avx3 = has_avx2 && GRADWALK_HAS("avx512f") && GRADWALK_HAS("avx512vl") && GRADWALK_HAS("avx512dq") &&
                        GRADWALK_HAS("avx512bw") && GRADWALK_HAS("avx512cd");
#undef GRADWALK_HAS
  return (has_ssse3 ? HWY_SSSE3 : 0) | (has_sse4 ? HWY_SSE4 : 0) | (has_avx2 ? HWY_AVX2 : 0) |
         (has_avx3 ? HWY_AVX3 : 0);
#else
  return 0;
#endif
}

// NOLINTNEXTLINE(misc-definitions-in-headers): HWY_ONCE
template <> std::vector<Kernels<GRADWALK_NUMBER>> tables_of_this_machine() {
  [[maybe_unused]] const std::int64_t has = supported_targets();
  std::vector<Kernels<GRADWALK_NUMBER>> tables;
#if HWY_TARGETS & HWY_AVX3
  if (has & HWY_AVX3) tables.push_back(N_AVX3::table<GRADWALK_NUMBER>());
#endif
#if HWY_TARGETS & HWY_AVX2
  if (has & HWY_AVX2) tables.push_back(N_AVX2::table<GRADWALK_NUMBER>());
#endif
#if HWY_TARGETS & HWY_SSE4
  if (has & HWY_SSE4) tables.push_back(N_SSE4::table<GRADWALK_NUMBER>());
#endif
#if HWY_TARGETS & HWY_SSSE3
  if (has & HWY_SSSE3) tables.push_back(N_SSSE3::table<GRADWALK_NUMBER>());
#endif
#if HWY_STATIC_TARGET < HWY_EMU128 || defined(HWY_COMPILE_ONLY_STATIC)
  // The set that the compiler may use everywhere, which is compiled last. It may be one of the above.
  const Kernels<GRADWALK_NUMBER> least = HWY_NAMESPACE::table<GRADWALK_NUMBER>();
  if (tables.empty() || tables.back().name != least.name) tables.push_back(least);
#endif
#ifndef HWY_COMPILE_ONLY_STATIC
  tables.push_back(scalar_table<GRADWALK_NUMBER>());
#endif
  return tables;
}

}  // namespace gradwalk::detail
#endif

#endif
