// SPDX-License-Identifier: MIT
// Support for code that was written for double: functions of <cmath> that are composed of operations in ops.def,
// isnan() and its like, and std::numeric_limits. Also hashing of nodes. Part of value.hpp: include that.
//
// A template that says `using std::hypot; hypot(x, y)` finds these functions by argument-dependent lookup.
#pragma once

#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>

#include "gradwalk/choice.hpp"
#include "gradwalk/value.hpp"

namespace gradwalk {

// The absolute value of x. It is recorded as the operation abs.
template <AnyValue X> Value fabs(X&& x) { return abs(std::forward<X>(x)); }

// x * y + z, rounded twice. It is one record, and a compiled program may fuse it into its sums.
template <class X, class Y, class Z>
  requires Operands<X, Y, Z>
Value fma(X&& x, Y&& y, Z&& z) {
  return detail::given<X>(x) * detail::given<Y>(y) + detail::given<Z>(z);
}

template <class X, class Y, class Z>
  requires Operands<X, Y, Z>
Value hypot(X&& x, Y&& y, Z&& z) {
  return hypot(hypot(Value(std::forward<X>(x)), std::forward<Y>(y)), std::forward<Z>(z));
}

// x - y where x is larger, otherwise 0; NaN if either is NaN. No gradient passes where the result is 0.
template <class X, class Y>
  requires Operands<X, Y>
Value fdim(const X& x, const Y& y) {
  return select(x <= y, 0, x - y);
}

// x, or the nearer of the bounds where x is outside: min(max(x, low), high). The first form is preferred to
// std::clamp(), which would compare and record nothing.
inline Value clamp(const Value& x, const Value& low, const Value& high) { return min(max(x, low), high); }
template <class X, class Low, class High>
  requires Operands<X, Low, High>
Value clamp(X&& x, Low&& low, High&& high) {
  return min(max(Value(std::forward<X>(x)), std::forward<Low>(low)), std::forward<High>(high));
}

// (1 - t) * a + t * b: a where t is 0, b where t is 1.
template <class A, class B, class T>
  requires Operands<A, B, T>
Value lerp(const A& a, const B& b, const T& t) {
  if constexpr (AnyValue<T>) {
    return (1 - t) * a + t * b;
  } else {
    const double part = static_cast<double>(t);
    return (1 - part) * a + part * b;
  }
}

// x times a power of two. A factor that is no normal double is applied in three parts, so that 0 stays 0 and only the
// last part can round. Beyond 2^2400 or below 2^-2400, every number but 0 is infinite or 0 anyway.
template <AnyValue X> Value ldexp(X&& x, int exponent) {
  if (exponent > -1023 && exponent < 1024) return detail::given<X>(x) * std::ldexp(1.0, exponent);
  const int all = exponent < -2400 ? -2400 : exponent > 2400 ? 2400 : exponent, part = all / 3;
  return detail::given<X>(x) * std::ldexp(1.0, part) * std::ldexp(1.0, part) * std::ldexp(1.0, all - 2 * part);
}

// These are comparisons: if one becomes a bool while a graph is recorded, the compiled program guards it.
template <AnyValue X> Condition isnan(const X& x) { return x != x; }
template <AnyValue X> Condition isinf(const X& x) { return abs(x) == std::numeric_limits<double>::infinity(); }
template <AnyValue X> Condition isfinite(const X& x) { return abs(x) <= std::numeric_limits<double>::max(); }
template <AnyValue X> Condition signbit(const X& x) { return copysign(1, x) < 0; }

// For containers keyed by node: std::unordered_map<Value, int, IdentityHash, SameNode>. There is no std::hash<Value>,
// because == compares data, which changes.
struct IdentityHash {
  // Returns a hash of the node, which does not change with its data. Throws an Error for an empty Value.
  std::size_t operator()(const Value& x) const { return std::hash<std::uint64_t>()(x.id()); }
};
struct SameNode {
  // Returns whether both Values refer to one node. Throws an Error if either is empty.
  bool operator()(const Value& x, const Value& y) const { return same_node(x, y); }
};

}  // namespace gradwalk

template <> struct std::numeric_limits<gradwalk::Value> : std::numeric_limits<double> {
  using Data = std::numeric_limits<double>;
  static gradwalk::Value min() { return Data::min(); }
  static gradwalk::Value lowest() { return Data::lowest(); }
  static gradwalk::Value max() { return Data::max(); }
  static gradwalk::Value epsilon() { return Data::epsilon(); }
  static gradwalk::Value round_error() { return Data::round_error(); }
  static gradwalk::Value infinity() { return Data::infinity(); }
  static gradwalk::Value quiet_NaN() { return Data::quiet_NaN(); }
  static gradwalk::Value signaling_NaN() { return Data::signaling_NaN(); }
  static gradwalk::Value denorm_min() { return Data::denorm_min(); }
};
