// SPDX-License-Identifier: MIT
// std::max(a, b), std::exp(x) and their like for Values, for code that spells out std:: and cannot be changed. No other
// header of gradwalk includes this one.
//
// Without it, std::max(a, b) is a comparison that a graph does not record, and std::exp(x) does not compile. The
// standard does not allow new functions in std, but compilers accept them, and CoDiPack and Adept do the same. Include
// this header before the templates that call the functions. In your own code write `using std::exp; exp(x)` instead.
#pragma once

#include <concepts>
#include <initializer_list>
#include <utility>

#include "gradwalk/value.hpp"

// Calls gradwalk's function from a namespace where no function of std is visible.
#define GRADWALK_BY_TYPE(name)                                                             \
  namespace gradwalk::by_type {                                                            \
  template <class... X> auto call_##name(X&&... x) { return name(std::forward<X>(x)...); } \
  }
#define GRADWALK_STD(name)                                        \
  GRADWALK_BY_TYPE(name)                                          \
  namespace std {                                                 \
  template <class... X>                                           \
    requires gradwalk::Operands<X...>                             \
  auto name(X&&... x) {                                           \
    return gradwalk::by_type::call_##name(std::forward<X>(x)...); \
  }                                                               \
  }
GRADWALK_STD(abs)
GRADWALK_STD(fabs)
GRADWALK_STD(exp)
GRADWALK_STD(exp2)
GRADWALK_STD(expm1)
GRADWALK_STD(log)
GRADWALK_STD(log2)
GRADWALK_STD(log10)
GRADWALK_STD(log1p)
GRADWALK_STD(sqrt)
GRADWALK_STD(cbrt)
GRADWALK_STD(sin)
GRADWALK_STD(cos)
GRADWALK_STD(tan)
GRADWALK_STD(asin)
GRADWALK_STD(acos)
GRADWALK_STD(atan)
GRADWALK_STD(sinh)
GRADWALK_STD(cosh)
GRADWALK_STD(tanh)
GRADWALK_STD(asinh)
GRADWALK_STD(acosh)
GRADWALK_STD(atanh)
GRADWALK_STD(erf)
GRADWALK_STD(erfc)
GRADWALK_STD(lgamma)
GRADWALK_STD(floor)
GRADWALK_STD(ceil)
GRADWALK_STD(round)
GRADWALK_STD(trunc)
GRADWALK_STD(pow)
GRADWALK_STD(atan2)
GRADWALK_STD(hypot)
GRADWALK_STD(fmod)
GRADWALK_STD(copysign)
GRADWALK_STD(fmax)
GRADWALK_STD(fmin)
GRADWALK_STD(fdim)
GRADWALK_STD(fma)
GRADWALK_STD(lerp)
GRADWALK_STD(ldexp)
GRADWALK_STD(isnan)
GRADWALK_STD(isinf)
GRADWALK_STD(isfinite)
GRADWALK_STD(signbit)
#undef GRADWALK_STD

// std::max and std::min exist for any type. These overloads are more constrained, so they are preferred for two Values,
// for Values and numbers, and for a list.
#define GRADWALK_STD(name)                                                                           \
  GRADWALK_BY_TYPE(name)                                                                             \
  namespace std {                                                                                    \
  template <std::same_as<gradwalk::Value> V> gradwalk::Value name(const V& x, const V& y) {          \
    return gradwalk::by_type::call_##name(x, y);                                                     \
  }                                                                                                  \
  template <class... X>                                                                              \
    requires gradwalk::Operands<X...>                                                                \
  gradwalk::Value name(X&&... x) {                                                                   \
    return gradwalk::by_type::call_##name(std::forward<X>(x)...);                                    \
  }                                                                                                  \
  template <std::same_as<gradwalk::Value> V> gradwalk::Value name(std::initializer_list<V> values) { \
    gradwalk::Value result = *values.begin();                                                        \
    for (auto value = values.begin() + 1; value != values.end(); ++value)                            \
      result = gradwalk::by_type::call_##name(result, *value);                                       \
    return result;                                                                                   \
  }                                                                                                  \
  }
GRADWALK_STD(max)
GRADWALK_STD(min)
#undef GRADWALK_STD
GRADWALK_BY_TYPE(clamp)
#undef GRADWALK_BY_TYPE

namespace std {

template <std::same_as<gradwalk::Value> V> gradwalk::Value clamp(const V& x, const V& low, const V& high) {
  return gradwalk::by_type::call_clamp(x, low, high);
}
template <class X, class Low, class High>
  requires gradwalk::Operands<X, Low, High>
gradwalk::Value clamp(X&& x, Low&& low, High&& high) {
  return gradwalk::by_type::call_clamp(std::forward<X>(x), std::forward<Low>(low), std::forward<High>(high));
}

}  // namespace std
