// SPDX-License-Identifier: MIT
// The functions that the rules of ops.def call, for Lanes.
//
// Included once for each instruction set. Functions are Highway's where it has good ones, and otherwise those of
// approximations-inl.hpp or short formulas; fmod, and every function of the plain scalar set, is the C++ library's.
//
// Largest errors measured against long double, in ulp, over 2 million numbers per function, on the worst set of x86:
//
//            float  double  where              |         float  double  where
//   exp       0.98    1.01  x <= 88, 709       |  sin     2.48    2.69  |x| <= 39000
//   expm1     3.41    3.94  x <= 88, 709       |  cos     2.38    2.79  |x| <= 39000
//   exp2      0.51    1.46  |x| <= 1021        |  tan     0.51    1.81  |x| <= 39000
//   log       0.94    0.91  x > 0              |  asin    2.48    2.35  |x| <= 1
//   log1p     2.39    2.35  x > -1             |  acos    1.26    1.22  |x| <= 1
//   log2      1.85    1.77  x > 0              |  atan    2.53    1.93  all
//   log10     2.09    1.93  x > 0              |  atan2   3.20    2.37  normal x / y
//   pow       0.51    1.37  normal x and r     |  asinh   2.88    2.77  all
//   tanh      2.78    3.06  all                |  acosh   3.43    3.48  x >= 1
//   sinh      3.08    3.50  |x| <= 88, 709     |  atanh   2.96    2.93  |x| < 1
//   cosh      1.41    1.40  |x| <= 88, 709     |  cbrt    0.51    0.67  normal x
//   hypot     1.17    1.17  r to 1e18, 1e150   |  erf     0.51    1.15  all
//                                              |  erfc    0.52    3.76  all, x <= 26.5
//
// Where there are two ranges, they are for float and double. Out of its range (r is the result), for NaN, and for 0
// where a method would lose its sign, a number is done again by the C++ library. So is pow of doubles on instruction
// sets without fused multiplication. tests/functions_test.cpp has the same figures.
#if defined(GRADWALK_COMPILE_FUNCTIONS_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef GRADWALK_COMPILE_FUNCTIONS_INL_HPP
#undef GRADWALK_COMPILE_FUNCTIONS_INL_HPP
#else
#define GRADWALK_COMPILE_FUNCTIONS_INL_HPP
#endif

#include <hwy/contrib/math/math-inl.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <type_traits>

#include "compile/approximations-inl.hpp"
#include "compile/lanes-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace gradwalk::detail::HWY_NAMESPACE {

template <class T> HWY_INLINE Choice<T> nowhere() { return {hn::MaskFromVec(hn::Zero(Tag<T>()))}; }

// r, but f(x) where r is not good.
template <class T> HWY_NOINLINE Lanes<T> redo(Lanes<T> x, Lanes<T> r, Choice<T> good, T (*f)(T)) {
  const Tag<T> d;
  HWY_ALIGN T xs[lanes<T>], rs[lanes<T>], goods[lanes<T>];
  hn::Store(x.v, d, xs);
  hn::Store(r.v, d, rs);
  hn::Store(select(good, 1, 0).v, d, goods);
  for (std::size_t i = 0; i < lanes<T>; ++i)
    if (goods[i] == 0) rs[i] = f(xs[i]);
  return hn::Load(d, rs);
}
template <class T> HWY_NOINLINE Lanes<T> redo(Lanes<T> x, Lanes<T> y, Lanes<T> r, Choice<T> good, T (*f)(T, T)) {
  const Tag<T> d;
  HWY_ALIGN T xs[lanes<T>], ys[lanes<T>], rs[lanes<T>], goods[lanes<T>];
  hn::Store(x.v, d, xs);
  hn::Store(y.v, d, ys);
  hn::Store(r.v, d, rs);
  hn::Store(select(good, 1, 0).v, d, goods);
  // Lanes that do not matter repeat the number before, so a pair that is not 0 is not done twice.
  const auto again = [&](std::size_t i) {
    return i > 0 && goods[i - 1] == 0 && xs[i] == xs[i - 1] && ys[i] == ys[i - 1] && xs[i] != 0 && ys[i] != 0;
  };
  for (std::size_t i = 0; i < lanes<T>; ++i)
    if (goods[i] == 0) rs[i] = again(i) ? rs[i - 1] : f(xs[i], ys[i]);
  return hn::Load(d, rs);
}

// A function of approximations-inl.hpp: floats are done in doubles, half a vector at a time. Where there are no vectors
// of doubles, it gives NaN, and the C++ library does the numbers again.
#if HWY_HAVE_FLOAT64
template <class Function, class... X> HWY_INLINE Lanes<double> in_doubles(Lanes<double> x, X... y) {
  return Function::template of<double>(x, y...);
}
#if HWY_TARGET != HWY_SCALAR  // which has no halves, and calls the C++ library
template <class Function, class... X> HWY_INLINE Lanes<float> in_doubles(Lanes<float> x, X... y) {
  const Tag<double> d;
  const hn::Half<Tag<float>> half;
  const Doubles lower = Function::template of<float>(Doubles(hn::PromoteTo(d, hn::LowerHalf(half, x.v))),
                                                     Doubles(hn::PromoteTo(d, hn::LowerHalf(half, y.v)))...);
  const Doubles upper = Function::template of<float>(Doubles(hn::PromoteTo(d, hn::UpperHalf(half, x.v))),
                                                     Doubles(hn::PromoteTo(d, hn::UpperHalf(half, y.v)))...);
  return hn::Combine(Tag<float>(), hn::DemoteTo(half, upper.v), hn::DemoteTo(half, lower.v));
}
#endif
#else
struct Exp2;
struct Cbrt;
struct Tan;
struct Erf;
struct Erfc;
struct Pow;
template <class Function, class T, class... X> HWY_INLINE Lanes<T> in_doubles(Lanes<T>, X...) {
  return std::numeric_limits<double>::quiet_NaN();
}
#endif

template <class T> inline constexpr T largest_exponent = sizeof(T) == 4 ? 88 : 709;  // of e, about
template <class T> inline constexpr T largest_angle = 39000;                         // whose rest Highway finds
template <class T> inline constexpr T largest_number = std::numeric_limits<T>::max();
template <class T> inline constexpr T smallest_number = 4 * std::numeric_limits<T>::min();      // that can be halved
template <class T> inline constexpr T largest_square = sizeof(T) == 4 ? T(1e18) : T(1e150);     // of a root, about
template <class T> inline constexpr T smallest_square = sizeof(T) == 4 ? T(1e-15) : T(1e-140);  // whose ulp is normal

template <class T> HWY_INLINE Lanes<T> mean_of_exponentials(Lanes<T> x) {
  const Lanes<T> half = 0.5 * Lanes<T>(hn::Exp(Tag<T>(), x.v));
  return half + 0.25 / half;
}
template <class T> HWY_INLINE Lanes<T> root_of_squares(Lanes<T> x, Lanes<T> y) {
  return sqrt(Lanes<T>(hn::MulAdd(x.v, x.v, (y * y).v)));
}
// The angle of the point (x, y); NaN if x / y is, or if y / x is too small for all its digits.
template <class T> HWY_INLINE Lanes<T> angle(Lanes<T> y, Lanes<T> x) {
  constexpr double pi = sizeof(T) == 4 ? 3.14159274101257324 : 3.141592653589793;
  constexpr double pi_low = sizeof(T) == 4 ? -8.74227765734758577e-8 : 1.2246467991473532e-16;
  const Lanes<T> quotient = abs(y / x), turn = hn::Atan(Tag<T>(), quotient.v);
  const Lanes<T> r = copysign(select(x < 0, pi - (turn - pi_low), turn), y);
  return select(quotient >= smallest_number<T>, r, std::numeric_limits<double>::quiet_NaN());
}

// A function: its name, its formula r for the vector x, and whether r is good.
#define GRADWALK_LANES_FUNCTION(name, formula, good)                                    \
  template <class T> HWY_NOINLINE Lanes<T> name(Lanes<T> x) {                           \
    constexpr auto plain = +[](T number) { return std::name(number); };                 \
    const Tag<T> d;                                                                     \
    if constexpr (is_scalar) {                                                          \
      return redo<T>(x, x, nowhere<T>(), plain);                                        \
    } else {                                                                            \
      const Lanes<T> r = formula;                                                       \
      const Choice<T> is_good = good;                                                   \
      return HWY_LIKELY(hn::AllTrue(d, is_good.m)) ? r : redo<T>(x, r, is_good, plain); \
    }                                                                                   \
  }
GRADWALK_LANES_FUNCTION(exp, hn::Exp(d, x.v), x <= largest_exponent<T>)
GRADWALK_LANES_FUNCTION(expm1, hn::Expm1(d, x.v), x <= largest_exponent<T> && x != 0)
GRADWALK_LANES_FUNCTION(exp2, in_doubles<Exp2>(x), r == r)
GRADWALK_LANES_FUNCTION(log, hn::Log(d, x.v), x > 0 && x <= largest_number<T>)
GRADWALK_LANES_FUNCTION(log1p, hn::Log1p(d, x.v), x > -1 && x <= largest_number<T>)
GRADWALK_LANES_FUNCTION(log2, hn::Log2(d, x.v), x > 0 && x <= largest_number<T>)
GRADWALK_LANES_FUNCTION(log10, hn::Log10(d, x.v), x > 0 && x <= largest_number<T>)
GRADWALK_LANES_FUNCTION(cbrt, in_doubles<Cbrt>(x), r == r)
GRADWALK_LANES_FUNCTION(tanh, hn::Tanh(d, x.v), x == x)
GRADWALK_LANES_FUNCTION(sinh, hn::Sinh(d, x.v), abs(x) <= largest_exponent<T> && abs(x) >= smallest_number<T>)
GRADWALK_LANES_FUNCTION(cosh, mean_of_exponentials(abs(x)), abs(x) <= largest_exponent<T>)
GRADWALK_LANES_FUNCTION(sin, hn::Sin(d, x.v), abs(x) <= largest_angle<T> && x != 0)
GRADWALK_LANES_FUNCTION(cos, hn::Cos(d, x.v), abs(x) <= largest_angle<T>)
GRADWALK_LANES_FUNCTION(tan, in_doubles<Tan>(x), r == r)
GRADWALK_LANES_FUNCTION(asin, hn::Asin(d, x.v), abs(x) <= 1)
GRADWALK_LANES_FUNCTION(acos, hn::Acos(d, x.v), abs(x) <= 1)
GRADWALK_LANES_FUNCTION(atan, hn::Atan(d, x.v), x == x)
GRADWALK_LANES_FUNCTION(asinh, hn::Asinh(d, x.v), abs(x) <= largest_number<T> && x != 0)
GRADWALK_LANES_FUNCTION(acosh, hn::Acosh(d, x.v), x >= 1 && x <= largest_number<T>)
GRADWALK_LANES_FUNCTION(atanh, hn::Atanh(d, x.v), abs(x) < 1 && x != 0)
GRADWALK_LANES_FUNCTION(erf, in_doubles<Erf>(x), r == r)
GRADWALK_LANES_FUNCTION(erfc, in_doubles<Erfc>(x), r == r)
#undef GRADWALK_LANES_FUNCTION

#define GRADWALK_LANES_FUNCTION(inlined, name, plain_name, formula, good)                  \
  template <class T> inlined Lanes<T> name(Lanes<T> x, std::type_identity_t<Lanes<T>> y) { \
    constexpr auto plain = +[](T a, T b) { return static_cast<T>(plain_name(a, b)); };     \
    const Tag<T> d;                                                                        \
    if constexpr (is_scalar) {                                                             \
      return redo<T>(x, y, x, nowhere<T>(), plain);                                        \
    } else {                                                                               \
      const Lanes<T> r = formula;                                                          \
      const Choice<T> is_good = good;                                                      \
      return HWY_LIKELY(hn::AllTrue(d, is_good.m)) ? r : redo<T>(x, y, r, is_good, plain); \
    }                                                                                      \
  }
GRADWALK_LANES_FUNCTION(HWY_NOINLINE, pow, rules::pow, in_doubles<Pow>(x, y), r == r)
GRADWALK_LANES_FUNCTION(HWY_NOINLINE, atan2, std::atan2, angle(x, y), r == r)
// Inlined, because the rules of atan2 name it three times.
GRADWALK_LANES_FUNCTION(HWY_INLINE, hypot, std::hypot, root_of_squares(x, y),
                        (r >= smallest_square<T> && r <= largest_square<T>) || (x == 0 && y == 0))
#undef GRADWALK_LANES_FUNCTION

template <class T> Lanes<T> lgamma(Lanes<T> x) {
  return redo<T>(x, x, nowhere<T>(), [](T number) { return static_cast<T>(rules::lgamma(number)); });
}
template <class T> Lanes<T> digamma(Lanes<T> x) {
  return redo<T>(x, x, nowhere<T>(), [](T number) { return static_cast<T>(rules::digamma(number)); });
}
template <class T> Lanes<T> trigamma(Lanes<T> x) {
  return redo<T>(x, x, nowhere<T>(), [](T number) { return static_cast<T>(rules::trigamma<double>(number)); });
}
template <class T> Lanes<T> fmod(Lanes<T> x, Lanes<T> y) {
  return redo<T>(x, y, x, nowhere<T>(), [](T a, T b) { return std::fmod(a, b); });
}

}  // namespace gradwalk::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
