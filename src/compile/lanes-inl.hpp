// SPDX-License-Identifier: MIT
// A vector of numbers that the rules of ops.def can be applied to, and the rules applied to it.
//
// Included once for each instruction set. ops.def is expanded here again, though ops.hpp has done so, because a
// function that uses an instruction set's vectors must be compiled for that set. The functions that the rules call are
// in functions-inl.hpp.
#if defined(GRADWALK_COMPILE_LANES_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef GRADWALK_COMPILE_LANES_INL_HPP
#undef GRADWALK_COMPILE_LANES_INL_HPP
#else
#define GRADWALK_COMPILE_LANES_INL_HPP
#endif

#include <hwy/highway.h>

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
template <class T> HWY_INLINE Choice<T> operator||(Choice<T> a, Choice<T> b) { return {hn::Or(a.m, b.m)}; }

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
