// SPDX-License-Identifier: MIT
// The kernel that runs steps (steps.hpp).
//
// Included once for each instruction set. Sums are rounded as those of vectors are: term by term, in order, with a
// fused multiply-add where the instruction set has one. So a row has the same products, whether it is run alone or with
// others.
#if defined(GRADWALK_COMPILE_STEPS_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef GRADWALK_COMPILE_STEPS_INL_HPP
#undef GRADWALK_COMPILE_STEPS_INL_HPP
#else
#define GRADWALK_COMPILE_STEPS_INL_HPP
#endif

#include <hwy/highway.h>

#include <cstdint>
#include <span>

#include "compile/steps.hpp"
#include "gradwalk/ops.hpp"

HWY_BEFORE_NAMESPACE();
namespace gradwalk::detail::HWY_NAMESPACE {

template <class T, bool skip_zeros> struct StepAt {
  const std::uint32_t* at;  // the address of the result, then those of the operands
  T* values;

  HWY_INLINE T in(std::size_t k) const { return values[at[k]]; }
  // sum + a * b, where a may be a gradient that passes nothing on.
  static HWY_INLINE T plus(T sum, T a, T b) {
    if (skip_zeros && a == 0) return sum;
#if HWY_NATIVE_FMA
    if constexpr (sizeof(T) == sizeof(double))
      return __builtin_fma(a, b, sum);
    else
      return __builtin_fmaf(a, b, sum);
#else
    return sum + a * b;
#endif
  }
  static HWY_INLINE T times(T a, T b) { return skip_zeros && a == 0 ? T(0) : a * b; }
  // A gradient of 0 passes nothing on, and of a choice neither does an operand that was not chosen.
  static HWY_INLINE T pass(T gradient, T local) { return gradient == 0 ? T(0) : gradient * local; }
  static HWY_INLINE T pass_chosen(T gradient, T local) { return local == 0 ? T(0) : pass(gradient, local); }
  HWY_INLINE T sum(T start, std::size_t k, std::size_t end) const {
    for (; k < end; k += 2) start = plus(start, in(k), in(k + 1));
    return start;
  }
  HWY_INLINE T scaled_sum(T start, std::size_t k, std::size_t end) const {
    for (; k < end; k += 3) start = plus(start, in(k)*in(k + 1), in(k + 2));
    return start;
  }
  HWY_INLINE T run(compiler::StepHead head) const {
    using compiler::StepHead;
    using rules::Rule;
    constexpr T nothing = -T(0);  // which changes no number that is added to it
    switch (head.code()) {
      case StepHead::product: return times(in(1), in(2));
      case StepHead::product_more: return plus(in(1), in(2), in(3));
      case StepHead::two_products: return plus(times(in(1), in(2)), in(3), in(4));
      case StepHead::sum: return sum(nothing, 1, head.words());
      case StepHead::sum_more: return sum(in(1), 2, head.words());
      case StepHead::scaled: return scaled_sum(nothing, 1, head.words());
      case StepHead::scaled_more: return scaled_sum(in(1), 2, head.words());
#define GRADWALK_UNARY(name, ...)                                      \
  case StepHead::value(Op::name): return Rule<Op::name>::value(in(1)); \
  case StepHead::local(Op::name, 0): return pass(in(3), T(Rule<Op::name>::dx(in(1), in(2))));
#define GRADWALK_BINARY(name, ...)                                                                   \
  case StepHead::value(Op::name): return Rule<Op::name>::value(in(1), in(2));                        \
  case StepHead::local(Op::name, 0): return pass(in(4), T(Rule<Op::name>::dx(in(1), in(2), in(3)))); \
  case StepHead::local(Op::name, 1): return pass(in(4), T(Rule<Op::name>::dy(in(1), in(2), in(3))));
#define GRADWALK_TERNARY(name, ...)                                                           \
  case StepHead::value(Op::name): return Rule<Op::name>::value(in(1), in(2), in(3));          \
  case StepHead::local(Op::name, 1): return pass_chosen(in(2), T(Rule<Op::name>::dx(in(1)))); \
  case StepHead::local(Op::name, 2): return pass_chosen(in(2), T(Rule<Op::name>::dy(in(1))));
#include "gradwalk/ops.def"
#undef GRADWALK_UNARY
#undef GRADWALK_BINARY
#undef GRADWALK_TERNARY
      default: return in(1);
    }
  }
};

// The rules are inlined: a call would take as long as most of them.
template <class T, bool skip_zeros> [[gnu::flatten]] void run_steps(std::span<const std::uint32_t> words, T* values) {
  const std::uint32_t* at = words.data();
  const std::uint32_t* const end = at + words.size();
  while (at != end) {
    const compiler::StepHead head(*at++);
    values[*at] = StepAt<T, skip_zeros>{at, values}.run(head);
    at += head.words();
  }
}

}  // namespace gradwalk::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
