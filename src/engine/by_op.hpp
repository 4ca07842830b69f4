// SPDX-License-Identifier: MIT
// The rules of the op table, chosen at run time: for code that has numbers and no tape.
#pragma once

#include "gradwalk/ops.hpp"

namespace gradwalk::detail {

inline double rule_value(Op op, double x, double y) {
  using rules::Rule;
  switch (op) {
#define GRADWALK_UNARY(name, ...) \
  case Op::name: return Rule<Op::name>::value(x);
#define GRADWALK_BINARY(name, ...) \
  case Op::name: return Rule<Op::name>::value(x, y);
#include "gradwalk/ops.def"
#undef GRADWALK_UNARY
#undef GRADWALK_BINARY
    default: return x;
  }
}

// By the first operand, or by the second.
inline double rule_local(Op op, std::size_t operand, double x, double y, double r) {
  using rules::Rule;
  switch (op) {
#define GRADWALK_UNARY(name, ...) \
  case Op::name: return Rule<Op::name>::dx(x, r);
#define GRADWALK_BINARY(name, ...) \
  case Op::name: return operand == 0 ? Rule<Op::name>::dx(x, y, r) : Rule<Op::name>::dy(x, y, r);
#include "gradwalk/ops.def"
#undef GRADWALK_UNARY
#undef GRADWALK_BINARY
    default: return 0;
  }
}

}  // namespace gradwalk::detail
