// SPDX-License-Identifier: MIT
// The rules of the op table, chosen at run time, for code that has numbers and no tape.
#pragma once

#include <span>
#include <type_traits>

#include "gradwalk/ops.hpp"

namespace gradwalk::detail {

// The value of an operation; its first operand if the op has no rule.
template <class T = double> T rule_value(Op op, std::span<const std::type_identity_t<T>> in) {
  using rules::Rule;
  switch (op) {
#define GRADWALK_UNARY(name, ...) \
  case Op::name: return Rule<Op::name>::value(in[0]);
#define GRADWALK_BINARY(name, ...) \
  case Op::name: return Rule<Op::name>::value(in[0], in[1]);
#define GRADWALK_TERNARY(name, ...) \
  case Op::name: return Rule<Op::name>::value(in[0], in[1], in[2]);
#include "gradwalk/ops.def"
#undef GRADWALK_UNARY
#undef GRADWALK_BINARY
#undef GRADWALK_TERNARY
    case Op::pick: return Rule<Op::pick>::value(in[0]);
    default: return in[0];
  }
}

// The local derivative with respect to operand `by`; `r` is the result.
template <class T = double>
T rule_local(Op op, std::size_t by, std::span<const std::type_identity_t<T>> in, std::type_identity_t<T> r) {
  using rules::Rule;
  switch (op) {
#define GRADWALK_UNARY(name, ...) \
  case Op::name: return Rule<Op::name>::dx(in[0], r);
#define GRADWALK_BINARY(name, ...) \
  case Op::name: return by == 0 ? Rule<Op::name>::dx(in[0], in[1], r) : Rule<Op::name>::dy(in[0], in[1], r);
#define GRADWALK_TERNARY(name, ...) \
  case Op::name: return by == 0 ? T(0) : by == 1 ? Rule<Op::name>::dx(in[0]) : Rule<Op::name>::dy(in[0]);
#include "gradwalk/ops.def"
#undef GRADWALK_UNARY
#undef GRADWALK_BINARY
#undef GRADWALK_TERNARY
    case Op::pick: return by == 0 ? Rule<Op::pick>::dx<T>() : T(0);
    default: return 0;
  }
}

}  // namespace gradwalk::detail
