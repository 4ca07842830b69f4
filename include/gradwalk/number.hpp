// SPDX-License-Identifier: MIT
// Support for code that was written for double: functions of <cmath> that are composed of operations in ops.def,
// isnan() and its like, and std::numeric_limits. Also hashing of nodes. Part of value.hpp: include that.
//
// A template that says `using std::hypot; hypot(x, y)` finds these functions by argument-dependent lookup.
#pragma once

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
