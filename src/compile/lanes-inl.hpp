// SPDX-License-Identifier: MIT
// A vector of numbers that the rules of ops.def can be applied to, and the rules applied to it.
//
// Included once for each instruction set. ops.def is expanded here again, though ops.hpp has done so, because a
// function that uses an instruction set's vectors must be compiled for that set. Functions are Highway's where they are
// good and the C++ library's, number by number, elsewhere; the plain scalar set uses the C++ library's alone.
//
// Largest errors measured against long double, in ulp, over 2 million numbers a function, on the worst set of x86:
//
//            float  double  where           |         float  double  where
//   exp       0.97    0.98  x <= 88, 709    |  sin     2.31    2.58  |x| <= 39000
//   expm1     3.36    3.94  x <= 88, 709    |  cos     2.38    2.74  |x| <= 39000
//   log       0.94    0.91  x > 0           |  asin    2.43    2.29  |x| <= 1
//   log1p     2.39    2.35  x > -1          |  acos    1.26    1.20  |x| <= 1
//   tanh      2.78    3.06  all             |  atan    2.53    1.93  all
//   sinh      3.08    3.50  |x| <= 88, 709  |  asinh   2.87    2.77  all
//   log2      1.85    1.77  x > 0           |  acosh   3.43    3.48  x >= 1
//   log10     2.09    1.93  x > 0           |  atanh   2.89    2.82  |x| < 1
//
// Out of these ranges, for NaN, and for 0 where Highway would lose its sign, numbers are done again by the C++ library.
#if defined(GRADWALK_COMPILE_LANES_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef GRADWALK_COMPILE_LANES_INL_HPP
#undef GRADWALK_COMPILE_LANES_INL_HPP
#else
#define GRADWALK_COMPILE_LANES_INL_HPP
#endif

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <type_traits>

#include "gradwalk/ops.hpp"

HWY_BEFORE_NAMESPACE();
namespace gradwalk::detail::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class T> using Tag = hn::ScalableTag<T>;
template <class T> using Vector = hn::Vec<Tag<T>>;
template <class T> inline constexpr std::size_t lanes = hn::MaxLanes(Tag<T>());
// Whether parts of a vector can be loaded and stored without touching the rest.
inline constexpr bool has_masks = HWY_TARGET <= HWY_AVX2;
inline constexpr bool is_scalar = HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128;

// Out of line where they are loops.
#if HWY_TARGET <= HWY_AVX2
#define GRADWALK_PARTLY HWY_INLINE
#else
#define GRADWALK_PARTLY HWY_NOINLINE
#endif

// A part of a vector: its first n numbers, 0 < n < lanes.
template <class T> struct FirstLanes {
  std::size_t n;
  hn::Mask<Tag<T>> mask;

  HWY_INLINE explicit FirstLanes(std::size_t count) : n(count), mask(hn::FirstN(Tag<T>(), count)) {}
};

// The part's numbers, and 0 in the other lanes.
template <class T> GRADWALK_PARTLY Vector<T> load_or_zero(const T* from, FirstLanes<T> part) {
  const Tag<T> d;
  if constexpr (has_masks) {
    return hn::MaskedLoad(part.mask, d, from);
  } else {
    HWY_ALIGN T all[lanes<T>] = {};
    for (std::size_t i = 0; i < part.n; ++i) all[i] = from[i];
    return hn::Load(d, all);
  }
}

// The same, with the first again in the other lanes: numbers that do not matter, but are as usual as those that do.
template <class T> GRADWALK_PARTLY Vector<T> load_some(const T* from, FirstLanes<T> part) {
  const Tag<T> d;
  if constexpr (has_masks) {
    return hn::IfThenElse(part.mask, hn::MaskedLoad(part.mask, d, from), hn::Set(d, *from));
  } else {
    HWY_ALIGN T all[lanes<T>];
    for (std::size_t i = 0; i < lanes<T>; ++i) all[i] = from[i < part.n ? i : 0];
    return hn::Load(d, all);
  }
}

template <class T> GRADWALK_PARTLY void store_some(Vector<T> v, T* to, FirstLanes<T> part) {
  const Tag<T> d;
  if constexpr (has_masks) {
    hn::BlendedStore(v, part.mask, d, to);
  } else {
    HWY_ALIGN T all[lanes<T>];
    hn::Store(v, d, all);
    for (std::size_t i = 0; i < part.n; ++i) to[i] = all[i];
  }
}
#undef GRADWALK_PARTLY

template <class T> struct Choice {
  hn::Mask<Tag<T>> m;
};

template <class T> struct Lanes {
  Vector<T> v;

  Lanes() = default;
  HWY_INLINE Lanes(Vector<T> vector) : v(vector) {}
  HWY_INLINE Lanes(double all) : v(hn::Set(Tag<T>(), static_cast<T>(all))) {}

  friend HWY_INLINE Lanes operator+(Lanes x, Lanes y) { return hn::Add(x.v, y.v); }
  friend HWY_INLINE Lanes operator-(Lanes x, Lanes y) { return hn::Sub(x.v, y.v); }
  friend HWY_INLINE Lanes operator*(Lanes x, Lanes y) { return hn::Mul(x.v, y.v); }
  friend HWY_INLINE Lanes operator/(Lanes x, Lanes y) { return hn::Div(x.v, y.v); }
  friend HWY_INLINE Lanes operator-(Lanes x) { return hn::Neg(x.v); }
  friend HWY_INLINE Choice<T> operator==(Lanes x, Lanes y) { return {hn::Eq(x.v, y.v)}; }
  friend HWY_INLINE Choice<T> operator!=(Lanes x, Lanes y) {
    return {hn::Not((x == y).m)};
  }  // NaN != NaN: Ne is not so
  friend HWY_INLINE Choice<T> operator<(Lanes x, Lanes y) { return {hn::Lt(x.v, y.v)}; }
  friend HWY_INLINE Choice<T> operator<=(Lanes x, Lanes y) { return {hn::Le(x.v, y.v)}; }
  friend HWY_INLINE Choice<T> operator>(Lanes x, Lanes y) { return {hn::Gt(x.v, y.v)}; }
  friend HWY_INLINE Choice<T> operator>=(Lanes x, Lanes y) { return {hn::Ge(x.v, y.v)}; }
  friend HWY_INLINE Lanes abs(Lanes x) { return hn::Abs(x.v); }
  friend HWY_INLINE Lanes sqrt(Lanes x) { return hn::Sqrt(x.v); }
  // With the sign of x, which Highway's own loses for -0 where the machine has no instruction for it (before SSE4).
  friend HWY_INLINE Lanes floor(Lanes x) { return hn::CopySign(hn::Floor(x.v), x.v); }
  friend HWY_INLINE Lanes ceil(Lanes x) { return hn::CopySign(hn::Ceil(x.v), x.v); }
  friend HWY_INLINE Lanes trunc(Lanes x) { return hn::CopySign(hn::Trunc(x.v), x.v); }
  friend HWY_INLINE Lanes copysign(Lanes x, Lanes y) { return hn::CopySign(x.v, y.v); }
  // Halves go away from 0, by the largest number below a half: with a half itself 0.49999999999999994 would become 1.
  friend HWY_INLINE Lanes round(Lanes x) {
    constexpr T almost_half = T{0.5} - std::numeric_limits<T>::epsilon() / 4;
    return trunc(x + copysign(Lanes(almost_half), x));
  }
};

// Takes its constants as Lanes too: select(x == y, 0.5, 0) is found by the type of its condition.
template <class T>
HWY_INLINE Lanes<T> select(Choice<T> condition, std::type_identity_t<Lanes<T>> x, std::type_identity_t<Lanes<T>> y) {
  return hn::IfThenElse(condition.m, x.v, y.v);
}
template <class T> HWY_INLINE Choice<T> operator&&(Choice<T> a, Choice<T> b) { return {hn::And(a.m, b.m)}; }

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

// f(x), number by number; not again for the number before, which the lanes that do not matter repeat.
template <class T> HWY_NOINLINE Lanes<T> one_by_one(Lanes<T> x, T (*f)(T)) {
  const Tag<T> d;
  HWY_ALIGN T xs[lanes<T>], rs[lanes<T>];
  hn::Store(x.v, d, xs);
  for (std::size_t i = 0; i < lanes<T>; ++i) rs[i] = i > 0 && xs[i] == xs[i - 1] && xs[i] != 0 ? rs[i - 1] : f(xs[i]);
  return hn::Load(d, rs);
}
template <class T> HWY_NOINLINE Lanes<T> one_by_one(Lanes<T> x, Lanes<T> y, T (*f)(T, T)) {
  const Tag<T> d;
  HWY_ALIGN T xs[lanes<T>], ys[lanes<T>], rs[lanes<T>];
  hn::Store(x.v, d, xs);
  hn::Store(y.v, d, ys);
  const auto again = [&](std::size_t i) {
    return i > 0 && xs[i] == xs[i - 1] && ys[i] == ys[i - 1] && xs[i] != 0 && ys[i] != 0;
  };
  for (std::size_t i = 0; i < lanes<T>; ++i) rs[i] = again(i) ? rs[i - 1] : f(xs[i], ys[i]);
  return hn::Load(d, rs);
}

template <class T> inline constexpr T largest_exponent = sizeof(T) == 4 ? 88 : 709;  // of e, about
template <class T> inline constexpr T largest_angle = 39000;                         // whose rest Highway finds
template <class T> inline constexpr T largest_number = std::numeric_limits<T>::max();
template <class T> inline constexpr T smallest_number = 4 * std::numeric_limits<T>::min();  // that can be halved

#define GRADWALK_LANES_FUNCTION(name, Name, good)                                           \
  template <class T> HWY_NOINLINE Lanes<T> name(Lanes<T> x) {                               \
    constexpr auto plain = +[](T number) { return std::name(number); };                     \
    if constexpr (is_scalar) {                                                              \
      return one_by_one<T>(x, plain);                                                       \
    } else {                                                                                \
      const Choice<T> is_good = good;                                                       \
      const Lanes<T> r = hn::Name(Tag<T>(), x.v);                                           \
      return HWY_LIKELY(hn::AllTrue(Tag<T>(), is_good.m)) ? r : redo(x, r, is_good, plain); \
    }                                                                                       \
  }
GRADWALK_LANES_FUNCTION(exp, Exp, x <= largest_exponent<T>)
GRADWALK_LANES_FUNCTION(expm1, Expm1, x <= largest_exponent<T> && x != 0)
GRADWALK_LANES_FUNCTION(log, Log, x > 0 && x <= largest_number<T>)
GRADWALK_LANES_FUNCTION(log1p, Log1p, x > -1 && x <= largest_number<T>)
GRADWALK_LANES_FUNCTION(log2, Log2, x > 0 && x <= largest_number<T>)
GRADWALK_LANES_FUNCTION(log10, Log10, x > 0 && x <= largest_number<T>)
GRADWALK_LANES_FUNCTION(tanh, Tanh, x == x)
GRADWALK_LANES_FUNCTION(sinh, Sinh, abs(x) <= largest_exponent<T> && abs(x) >= smallest_number<T>)
GRADWALK_LANES_FUNCTION(sin, Sin, abs(x) <= largest_angle<T> && x != 0)
GRADWALK_LANES_FUNCTION(cos, Cos, abs(x) <= largest_angle<T>)
GRADWALK_LANES_FUNCTION(asin, Asin, abs(x) <= 1)
GRADWALK_LANES_FUNCTION(acos, Acos, abs(x) <= 1)
GRADWALK_LANES_FUNCTION(atan, Atan, x == x)
GRADWALK_LANES_FUNCTION(asinh, Asinh, abs(x) <= largest_number<T> && x != 0)
GRADWALK_LANES_FUNCTION(acosh, Acosh, x >= 1 && x <= largest_number<T>)
GRADWALK_LANES_FUNCTION(atanh, Atanh, abs(x) < 1 && x != 0)
#undef GRADWALK_LANES_FUNCTION

#define GRADWALK_LANES_FUNCTION(name)                                    \
  template <class T> Lanes<T> name(Lanes<T> x) {                         \
    return one_by_one<T>(x, [](T number) { return std::name(number); }); \
  }
GRADWALK_LANES_FUNCTION(tan)
GRADWALK_LANES_FUNCTION(cosh)
GRADWALK_LANES_FUNCTION(erf)
GRADWALK_LANES_FUNCTION(erfc)
GRADWALK_LANES_FUNCTION(exp2)
GRADWALK_LANES_FUNCTION(cbrt)
#undef GRADWALK_LANES_FUNCTION

template <class T> Lanes<T> pow(Lanes<T> x, std::type_identity_t<Lanes<T>> y) {
  return one_by_one<T>(x, y, [](T a, T b) { return static_cast<T>(rules::pow(a, b)); });
}
template <class T> Lanes<T> atan2(Lanes<T> x, Lanes<T> y) {
  return one_by_one<T>(x, y, [](T a, T b) { return std::atan2(a, b); });
}
template <class T> Lanes<T> hypot(Lanes<T> x, Lanes<T> y) {
  return one_by_one<T>(x, y, [](T a, T b) { return std::hypot(a, b); });
}
template <class T> Lanes<T> fmod(Lanes<T> x, Lanes<T> y) {
  return one_by_one<T>(x, y, [](T a, T b) { return std::fmod(a, b); });
}

template <class T> HWY_INLINE Lanes<T> max(Lanes<T> x, std::type_identity_t<Lanes<T>> y);

// LaneRule<op>::value(operands), ::dx(operands, r) and ::dy(operands, r), always with three operands: those that an op
// does not have are ignored.
template <Op op> struct LaneRule;

#define GRADWALK_UNARY(name, symbol, domain, value_, dx_)                                          \
  template <> struct LaneRule<Op::name> {                                                          \
    template <class N> static HWY_INLINE N value(N x, N, N) { return N(value_); }                  \
    template <class N> static HWY_INLINE N dx(N x, N, N, N r) { return (void)x, (void)r, N(dx_); } \
  };
#define GRADWALK_BINARY(name, symbol, domain, value_, dx_, dy_)                                               \
  template <> struct LaneRule<Op::name> {                                                                     \
    template <class N> static HWY_INLINE N value(N x, N y, N) { return N(value_); }                           \
    template <class N> static HWY_INLINE N dx(N x, N y, N, N r) { return (void)x, (void)y, (void)r, N(dx_); } \
    template <class N> static HWY_INLINE N dy(N x, N y, N, N r) { return (void)x, (void)y, (void)r, N(dy_); } \
  };
#define GRADWALK_TERNARY(name, symbol, domain, value_, dx_, dy_)                      \
  template <> struct LaneRule<Op::name> {                                             \
    template <class N> static HWY_INLINE N value(N c, N x, N y) { return N(value_); } \
    template <class N> static HWY_INLINE N dx(N c, N, N, N) { return N(dx_); }        \
    template <class N> static HWY_INLINE N dy(N c, N, N, N) { return N(dy_); }        \
  };
#include "gradwalk/ops.def"
#undef GRADWALK_UNARY
#undef GRADWALK_BINARY
#undef GRADWALK_TERNARY

template <class T> HWY_INLINE Lanes<T> max(Lanes<T> x, std::type_identity_t<Lanes<T>> y) {
  return LaneRule<Op::max>::value<Lanes<T>>(x, y, y);
}

}  // namespace gradwalk::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
