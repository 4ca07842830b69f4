// SPDX-License-Identifier: MIT
// Applies an op that is chosen at run time in each way that a user can write it: by name, operator or compound
// operator. Operands have the types of a user's arguments: const Value&, Value&& (consumed) or double. Only the four
// operators are written out, because C++ has no other way. Names and rules come from ops.def.
#pragma once

#include <stdexcept>
#include <utility>

#include "gradwalk/gradwalk.hpp"

namespace oracle {

enum class Spelling { function, operation, compound };

[[noreturn]] inline void fail(const std::string& what) { throw std::invalid_argument("cannot follow: " + what); }

template <gradwalk::Op op, class X, class Y> gradwalk::Value by_operator(X&& x, Y&& y) {
  using gradwalk::Op;
  if constexpr (op == Op::add) return std::forward<X>(x) + std::forward<Y>(y);
  if constexpr (op == Op::sub) return std::forward<X>(x) - std::forward<Y>(y);
  if constexpr (op == Op::mul) return std::forward<X>(x) * std::forward<Y>(y);
  if constexpr (op == Op::div) return std::forward<X>(x) / std::forward<Y>(y);
  fail("no such operator");
}

template <class Y> void compound(gradwalk::Op op, gradwalk::Value& x, Y&& y) {
  using gradwalk::Op;
  switch (op) {
    case Op::add: x += std::forward<Y>(y); break;
    case Op::sub: x -= std::forward<Y>(y); break;
    case Op::mul: x *= std::forward<Y>(y); break;
    case Op::div: x /= std::forward<Y>(y); break;
    default: fail("no such compound operator");
  }
}

template <gradwalk::AnyValue X> gradwalk::Value unary(gradwalk::Op op, Spelling spelling, X&& x) {
  using gradwalk::Op;
  if (op == Op::neg && spelling == Spelling::operation) return -std::forward<X>(x);
  switch (op) {
#define GRADWALK_UNARY(name, ...) \
  case Op::name: return name(std::forward<X>(x));
#define GRADWALK_BINARY(name, ...)
#include "gradwalk/ops.def"
#undef GRADWALK_UNARY
#undef GRADWALK_BINARY
    default: fail("not a unary op");
  }
}

template <class X, class Y> gradwalk::Value binary(gradwalk::Op op, Spelling spelling, X&& x, Y&& y) {
  using gradwalk::Op;
  if (spelling == Spelling::compound) {
    gradwalk::Value result = std::forward<X>(x);
    compound(op, result, std::forward<Y>(y));
    return result;
  }
  switch (op) {
#define GRADWALK_UNARY(name, ...)
#define GRADWALK_BINARY(name, ...)                                                           \
  case Op::name:                                                                             \
    if (spelling == Spelling::function) return name(std::forward<X>(x), std::forward<Y>(y)); \
    return by_operator<Op::name>(std::forward<X>(x), std::forward<Y>(y));
#include "gradwalk/ops.def"
#undef GRADWALK_UNARY
#undef GRADWALK_BINARY
    default: fail("not a binary op");
  }
}

}  // namespace oracle
