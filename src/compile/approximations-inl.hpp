// SPDX-License-Identifier: MIT
// Functions of vectors of doubles that Highway does not have: pow, exp2, erf, erfc, cbrt and tan.
//
// Included once for each instruction set, except the plain scalar one. Function::of<T>(x) returns the function to the
// precision of T, so vectors of floats use shorter polynomials. It returns NaN in the lanes where its method does not
// apply; functions-inl.hpp states these ranges and does such lanes again with the C++ library. The coefficients are our
// own: minimax polynomials by Remez's algorithm, and for tan a fit of a quotient of polynomials.
#if defined(GRADWALK_COMPILE_APPROXIMATIONS_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef GRADWALK_COMPILE_APPROXIMATIONS_INL_HPP
#undef GRADWALK_COMPILE_APPROXIMATIONS_INL_HPP
#else
#define GRADWALK_COMPILE_APPROXIMATIONS_INL_HPP
#endif

#include <hwy/contrib/math/math-inl.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "compile/lanes-inl.hpp"

#if HWY_HAVE_FLOAT64  // vectors of doubles, which WebAssembly has not
HWY_BEFORE_NAMESPACE();
namespace gradwalk::detail::HWY_NAMESPACE {

using Doubles = Lanes<double>;
template <class T> inline constexpr bool is_double = std::is_same_v<T, double>;

HWY_INLINE Doubles mul_add(Doubles x, Doubles y, Doubles z) { return hn::MulAdd(x.v, y.v, z.v); }
// z - x * y.
HWY_INLINE Doubles minus_product(Doubles x, Doubles y, Doubles z) { return hn::NegMulAdd(x.v, y.v, z.v); }
HWY_INLINE bool all(Choice<double> condition) { return hn::AllTrue(Tag<double>(), condition.m); }
HWY_INLINE bool any(Choice<double> condition) { return !hn::AllFalse(Tag<double>(), condition.m); }
HWY_INLINE Doubles nan_unless(Choice<double> good, Doubles x) {
  return select(good, x, std::numeric_limits<double>::quiet_NaN());
}

// c[0] + c[1] x + c[2] x^2 + ..., the even and the odd powers side by side.
template <std::size_t n> HWY_INLINE Doubles polynomial(Doubles x, const double (&c)[n]) {
  static_assert(n >= 3);
  const Doubles square = x * x;
  Doubles last = c[n - 1], other = c[n - 2];
  for (std::size_t i = n - 2; i-- > 0;) {
    const Doubles next = mul_add(last, square, c[i]);
    last = other;
    other = next;
  }
  return mul_add(last, x, other);
}

// A number as the sum of two doubles. The second is small.
struct Pair {
  Doubles high, low;
};
// x * y exactly, by the multiplication of Dekker (1971) where the machine cannot fuse one with an addition.
HWY_INLINE Pair exact_product(Doubles x, Doubles y) {
  const Doubles product = x * y;
#if HWY_NATIVE_FMA
  return {product, hn::MulSub(x.v, y.v, product.v)};
#else
  const Tag<double> d;
  const auto upper_half = hn::BitCast(d, hn::Set(Tag<std::uint64_t>(), ~std::uint64_t{0} << 27));
  const Doubles x1 = hn::And(x.v, upper_half), y1 = hn::And(y.v, upper_half), x2 = x - x1, y2 = y - y1;
  return {product, ((x1 * y1 - product) + x1 * y2 + x2 * y1) + x2 * y2};
#endif
}
// x + y exactly, if |x| >= |y| or x is 0.
HWY_INLINE Pair exact_sum(Doubles x, Doubles y) {
  const Doubles sum = x + y;
  return {sum, y - (sum - x)};
}

// The nearest integer of a number below 2^51 in magnitude. It is held in the low bits of a double, where it can be
// shifted into an exponent.
struct Integer {
  static constexpr double offset = 6755399441055744;  // 1.5 * 2^52
  Doubles shifted;

  HWY_INLINE explicit Integer(Doubles x) : shifted(x + offset) {}
  HWY_INLINE Doubles number() const { return shifted - offset; }
};
// x * 2^n, if this is a normal number.
HWY_INLINE Doubles scale(Doubles x, Integer n) {
  const Tag<double> d;
  const Tag<std::uint64_t> bits;
  return hn::BitCast(d, hn::Add(hn::BitCast(bits, x.v), hn::ShiftLeft<52>(hn::BitCast(bits, n.shifted.v))));
}
HWY_INLINE Choice<double> is_odd(Doubles integer) {
  const Doubles half = 0.5 * integer;
  return {hn::Ne(half.v, hn::Round(half.v))};
}

// x = fraction * 2^exponent with a fraction from `least` to 2 * least, for normal positive x.
struct Parts {
  Doubles fraction, exponent;

  HWY_INLINE Parts(Doubles x, double least) {
    const Tag<double> d;
    const Tag<std::uint64_t> bits;
    const auto one = hn::Set(bits, std::uint64_t{1023} << 52), two_to_52 = hn::Set(bits, std::uint64_t{0x433} << 52);
    const auto start = hn::BitCast(bits, hn::Set(d, least));
    const auto from_start = hn::Add(hn::Sub(hn::BitCast(bits, x.v), start), one);
    const auto in_fraction = hn::Set(bits, (std::uint64_t{1} << 52) - 1);
    fraction = hn::BitCast(d, hn::Add(hn::And(from_start, in_fraction), start));
    exponent = Doubles(hn::BitCast(d, hn::Or(hn::ShiftRight<52>(from_start), two_to_52))) - (0x1p52 + 1023);
  }
};
constexpr double root_of_half = 0.7071067811865476;

constexpr double largest_power = 1021;  // of 2, in both directions: the results are normal numbers

// 2^(n + rest), |rest| <= 0.5.
template <class T> HWY_INLINE Doubles two_to(Integer n, Doubles rest) {
  if constexpr (is_double<T>) {
    constexpr double c[] = {0.6931471805599457,     0.24022650695910097,    0.055504108664790386,
                            0.009618129107607003,   0.0013333558153441334,  0.00015403530441572598,
                            1.5252727383872463e-05, 1.3215442675115585e-06, 1.0180648196555812e-07,
                            7.072570445469294e-09,  4.077993856246354e-10};
    return scale(mul_add(polynomial(rest, c), rest, 1), n);
  } else {
    constexpr double c[] = {0.9999999999616849,   0.6931471807284615,    0.24022651198148692,   0.055504103534175585,
                            0.009618027253953136, 0.0013333922579540419, 0.0001546929117173276, 1.5201919277045193e-05};
    return scale(polynomial(rest, c), n);
  }
}

struct Exp2 {
  template <class T> static HWY_INLINE Doubles of(Doubles x) {
    const Integer n(x);
    return nan_unless(abs(x) <= largest_power, two_to<T>(n, x - n.number()));
  }
};

// log2(x) for a normal positive x, to 12 bits more than T has: log(m) = 2 atanh(s) = 2 s (1 + s^2/3 + s^4/5 + ...) with
// s = (m - 1) / (m + 1), where the terms before s^4 are pairs.
template <class T> HWY_INLINE Pair log2_of(Doubles x) {
  const Parts parts(x, root_of_half);
  const Doubles m = parts.fraction, k = parts.exponent;
  const Pair divisor = exact_sum(1, m);
  const Doubles inverse = 1 / divisor.high, s = (m - 1) * inverse;
  if constexpr (!is_double<T>) {
    constexpr double c[] = {2.88539008177785,   0.9617966941134005,  0.5770779423468428,
                            0.4122092543224666, 0.31990561200677603, 0.282901444932892};
    return {mul_add(s, polynomial(s * s, c), k), 0.0};
  } else {
    constexpr double first = 2.8853900817779268, first_low = 4.0710547481862066e-17;    // 2 / log(2)
    constexpr double second = 0.9617966939259756, second_low = 5.0577616648125907e-17;  // 2 / log(2) / 3
    constexpr double c[] = {0.5770780163555851,  0.41219858311137103, 0.32059889790772395, 0.26230819918544884,
                            0.22195223904018674, 0.19240239006523457, 0.1684320269769759,  0.1729649054587644};
    const Doubles s_low = minus_product(s, divisor.low, minus_product(s, divisor.high, m - 1)) * inverse;
    const Pair z = exact_product(s, s), term = exact_product(z.high, second);
    const Doubles z_low = mul_add(s + s, s_low, z.low);
    const Doubles term_low = mul_add(z.high, second_low, mul_add(z_low, second, term.low));
    const Pair terms = exact_sum(term.high, z.high * z.high * polynomial(z.high, c));
    const Pair series = exact_sum(first, terms.high);
    const Doubles series_low = series.low + (terms.low + (term_low + first_low));
    const Pair product = exact_product(s, series.high);
    const Pair result = exact_sum(k, product.high);
    return {result.high, result.low + mul_add(s, series_low, mul_add(s_low, series.high, product.low))};
  }
}

struct Pow {
  template <class T> static HWY_INLINE Doubles of(Doubles x, Doubles y) {
    if (is_double<T> && HWY_NATIVE_FMA == 0) return std::numeric_limits<double>::quiet_NaN();  // the library is faster
    constexpr double least = std::numeric_limits<double>::min(), most = std::numeric_limits<double>::max();
    const Doubles size = abs(x);
    const Pair log = log2_of<T>(size), product = exact_product(y, log.high);
    const Integer n(product.high);
    const Doubles rest = (product.high - n.number()) + mul_add(y, log.low, product.low);
    const Doubles r =
        nan_unless(size >= least && size <= most && abs(product.high) <= largest_power, two_to<T>(n, rest));
    if (HWY_LIKELY(all(x > 0))) return r;
    const Doubles signed_r = select(is_odd(y), copysign(r, x), r);
    return nan_unless({hn::Or((x > 0).m, hn::Eq(y.v, hn::Round(y.v)))}, signed_r);
  }
};

// erf(x) for |x| <= 1.
template <class T> HWY_INLINE Doubles small_erf(Doubles x) {
  if constexpr (is_double<T>) {
    constexpr double c[] = {0.1283791670955126,     -0.3761263890318375,     0.11283791670954857,
                            -0.026866170645072893,  0.005223977624780861,    -0.0008548326978741857,
                            0.00012055331036886521, -1.4925593506566696e-05, 1.6460972811731026e-06,
                            -1.635002516589009e-07, 1.4657879459140354e-08,  -1.136566448622893e-09,
                            5.945259275385861e-11};
    return mul_add(x, polynomial(x * x, c), x);
  } else {
    constexpr double c[] = {1.1283791670580228,     -0.3761263843465527,  0.11283781974172055,
                            -0.026865400046090285,  0.005220945444007217, -0.0008482829008573121,
                            0.00011256949092302135, -9.64151945663426e-06};
    return x * polynomial(x * x, c);
  }
}

// erfc(x) = exp(-x^2) p(t) / (1 + 2 x) with t = (x - k) / (x + k), after Shepherd and Laframboise, "Chebyshev
// approximation of (1 + 2x) exp(x^2) erfc x in 0 <= x < infinity", Mathematics of Computation 36 (1981). The part of
// x^2 that does not fit into a double is applied afterwards.
struct Erfc {
  static constexpr double last_normal = 26.5, first_zero = 27.25;  // erfc(27.23) is already rounded to 0

  // For x >= 0, at most first_zero.
  template <class T> static HWY_INLINE Doubles of_positive(Doubles x) {
    const Pair square = exact_product(x, x);
    const Doubles e = hn::Exp(Tag<double>(), (-square.high).v);
    if constexpr (is_double<T>) {
      constexpr double k = 3.5;
      constexpr double c[] = {
          1.2423492448711544,     -0.1400091801376193,     -0.010555596332215601,  0.09751909515324104,
          -0.11508959816035375,   0.08798315382548524,     -0.04882332582401991,   0.01909933093252523,
          -0.004215019956559089,  -0.00030226779190640585, 0.0005643847816581696,  -0.00012151286208505419,
          -4.278394854516745e-05, 2.42623479083028e-05,    2.3335633704427482e-06, -3.8172497954089475e-06,
          -5.46273169087722e-08,  6.037131829138262e-07,   4.876244321179859e-09,  -9.549238057089619e-08,
          -8.37261057567133e-09,  1.11366154406635e-08,    2.7043651461228597e-09};
      const Doubles r = polynomial((x - k) / (x + k), c) / mul_add(2, x, 1);
      return e * minus_product(r, square.low, r);
    } else {
      constexpr double k = 2.5;
      constexpr double c[] = {1.264838183573411,     -0.12235676273902085,   -0.09902444611565721,
                              0.1576299273868564,    -0.10296884339560715,   0.03276013826469277,
                              0.0009442103369270552, -0.0043733361187483855, 0.0004556931982841727,
                              0.0005967069202938394, -4.76131073966003e-05,  -5.948985157107125e-05};
      return e * polynomial((x - k) / (x + k), c) / mul_add(2, x, 1);
    }
  }
  template <class T> static HWY_INLINE Doubles of(Doubles x) {
    const Doubles size = abs(x);
    if constexpr (is_double<T>) {
      const Doubles positive = of_positive<T>(hn::Min(size.v, Doubles(first_zero).v));
      Doubles r = select(x < 0, 2 - positive, select(x >= first_zero, 0, positive));
      // Near 1, the errors of the other formula would count twice.
      if (any(size < 0.25)) r = select(size < 0.25, 1 - small_erf<T>(x), r);
      return nan_unless({hn::Or((x <= last_normal).m, (x >= first_zero).m)}, r);
    } else {
      const Doubles positive = of_positive<T>(hn::Min(size.v, Doubles(10.5).v));  // erfc(10.5) is 0 in float
      return nan_unless(x == x, select(x < 0, 2 - positive, positive));
    }
  }
};

struct Erf {
  template <class T> static HWY_INLINE Doubles of(Doubles x) {
    const Doubles size = abs(x);
    const Choice<double> is_small = size < 1;
    Doubles r = x;
    if (any(is_small)) r = small_erf<T>(x);
    if (!all(is_small)) {
      const Doubles large = 1 - Erfc::of_positive<T>(hn::Min(size.v, Doubles(6).v));  // erf(6) is 1
      r = select(is_small, r, copysign(large, x));
    }
    return nan_unless(x == x, r);
  }
};

// A polynomial gives 22 bits of the root of the fraction, and one step of Halley's method the rest. Its y has so few
// bits that y * y is exact.
struct Cbrt {
  template <class T> static HWY_INLINE Doubles of(Doubles x) {
    constexpr double c[] = {0.4471406729967268,   0.9501021824536074,   -0.666183055357344,    0.38536879931268053,
                            -0.14447365356644165, 0.030904948168796017, -0.0028597228295455033};
    constexpr double root_of_2 = 1.2599210498948732, root_of_4 = 1.5874010519681996;
    const Tag<double> d;
    const Doubles size = abs(x);
    const Parts parts(size, 1);
    const Integer third((parts.exponent - 1) * (1.0 / 3));
    const Doubles rest = parts.exponent - 3 * third.number();
    const Doubles a = scale(parts.fraction, Integer(rest));
    const Doubles about = polynomial(parts.fraction, c) * select(rest == 0, 1, select(rest == 1, root_of_2, root_of_4));
    const Doubles y = hn::And(about.v, hn::BitCast(d, hn::Set(Tag<std::uint64_t>(), ~std::uint64_t{0} << 27)));
    const Doubles quotient = a / (y * y);
    const Doubles root = mul_add(y, (quotient - y) / (y + y + quotient), y);
    const Choice<double> good =
        size >= std::numeric_limits<double>::min() && size <= std::numeric_limits<double>::max();
    return nan_unless(good, copysign(scale(root, third), x));
  }
};

// tan(x) = tan(r) or -1 / tan(r), where r is x less a multiple of pi / 2, by the method of Cody and Waite (1980): the
// first two parts of pi / 2 have so few bits that their products with the multiple are exact.
struct Tan {
  static constexpr double largest = 39000;

  template <class T> static HWY_INLINE Doubles of(Doubles x) {
    constexpr double part_1 = 0x1.921fb54440000p+0, part_2 = 0x1.68c234c4c0000p-39, part_3 = 1.0562999066987428e-23;
    constexpr double top[] = {0.3333333333333333, -0.022238815113757453, 0.0002939465342285891, -4.981563726435783e-07};
    constexpr double bottom[] = {1, -0.46671644534127216, 0.02566365583443028, -0.0003118074513248958,
                                 4.981563726435783e-07};
    const Doubles k = Integer(x * 0.6366197723675814).number();
    const Doubles first = x - k * part_1, second = k * part_2, high = first - second;
    const Doubles low = ((first - high) - second) - k * part_3;
    const Doubles r = select(k == 0, x, high + low), rest = select(k == 0, 0, low - (r - high));
    const Doubles z = r * r, change = r * z * polynomial(z, top) / polynomial(z, bottom) + rest * (1 + z);
    const Doubles tan_r = copysign(r + change, r);  // also for -0
    return nan_unless(abs(x) <= largest, select(is_odd(k), -1 / tan_r, tan_r));
  }
};

}  // namespace gradwalk::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif

#endif
