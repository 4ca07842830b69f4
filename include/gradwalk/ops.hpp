// SPDX-License-Identifier: MIT
// ops.def made usable: the list of operations, what each is called, and each rule as functions.
//
// Rule<Op::tanh>::value(x), ::dx(x, r) and their like take any number type that has arithmetic, comparisons and the
// functions below, found beside it or in <cmath>.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "gradwalk/export.hpp"

namespace gradwalk {

// Nodes that start a graph, then the table, then `custom`, whose local derivatives are its user's.
enum class Op : std::uint8_t {
  leaf,
  constant,
#define GRADWALK_UNARY(name, ...) name,
#define GRADWALK_BINARY(name, ...) name,
#define GRADWALK_TERNARY(name, ...) name,
#include "gradwalk/ops.def"
#undef GRADWALK_UNARY
#undef GRADWALK_BINARY
#undef GRADWALK_TERNARY
  custom,
};

struct OpInfo {
  std::string_view name, symbol;
  int operands;                            // 0 where an op has no rule; of three, the first is a condition
  std::string_view domain, value, dx, dy;  // the rule, as ops.def writes it
};

inline constexpr std::array op_table{
    OpInfo{"leaf", "", 0, "", "", "", ""},
    OpInfo{"constant", "", 0, "", "", "", ""},
#define GRADWALK_UNARY(name, symbol, domain, value, dx) OpInfo{#name, symbol, 1, #domain, #value, #dx, ""},
#define GRADWALK_BINARY(name, symbol, domain, value, dx, dy) OpInfo{#name, symbol, 2, #domain, #value, #dx, #dy},
#define GRADWALK_TERNARY(name, symbol, domain, value, dx, dy) OpInfo{#name, symbol, 3, #domain, #value, #dx, #dy},
#include "gradwalk/ops.def"
#undef GRADWALK_UNARY
#undef GRADWALK_BINARY
#undef GRADWALK_TERNARY
    OpInfo{"custom", "custom", 0, "", "", "", ""},
};

inline constexpr OpInfo no_op{"no op", "", 0, "", "", "", ""};
constexpr const OpInfo& info(Op op) {
  return static_cast<std::size_t>(op) < op_table.size() ? op_table[static_cast<std::size_t>(op)] : no_op;
}
constexpr std::string_view name(Op op) { return info(op).name; }
constexpr std::string_view symbol(Op op) { return info(op).symbol; }
constexpr bool is_comparison(Op op) { return op >= Op::less && op <= Op::not_equal; }

namespace rules {

using std::abs, std::acos, std::acosh, std::asin, std::asinh, std::atan, std::atan2, std::atanh, std::cbrt, std::ceil;
using std::copysign, std::cos, std::cosh, std::erf, std::erfc, std::exp, std::exp2, std::expm1, std::floor, std::fmod;
using std::hypot, std::log, std::log10, std::log1p, std::log2, std::round, std::sin, std::sinh, std::sqrt, std::tan;
using std::tanh, std::trunc;

// Out of line: where the exponent can be seen, compilers make pow(x, 2) x * x, which may differ in the last bit.
GRADWALK_EXPORT double pow(double x, double y);

constexpr double max(double x, double y);  // the table's own rule, for the rules that use it

template <class A, class B> constexpr std::common_type_t<A, B> select(bool condition, const A& a, const B& b) {
  return condition ? std::common_type_t<A, B>(a) : std::common_type_t<A, B>(b);
}

template <Op op> struct Rule;

#define GRADWALK_UNARY(name, symbol, domain_, value_, dx_)                                                \
  template <> struct Rule<Op::name> {                                                                     \
    static bool domain(double x) { return (void)x, domain_; }                                             \
    template <class T> static constexpr T value(const T& x) { return T(value_); }                         \
    template <class T> static constexpr T dx(const T& x, const T& r) { return (void)x, (void)r, T(dx_); } \
  };
#define GRADWALK_BINARY(name, symbol, domain_, value_, dx_, dy_)                              \
  template <> struct Rule<Op::name> {                                                         \
    static bool domain(double x, double y) { return (void)x, (void)y, domain_; }              \
    template <class T> static constexpr T value(const T& x, const T& y) { return T(value_); } \
    template <class T> static constexpr T dx(const T& x, const T& y, const T& r) {            \
      return (void)x, (void)y, (void)r, T(dx_);                                               \
    }                                                                                         \
    template <class T> static constexpr T dy(const T& x, const T& y, const T& r) {            \
      return (void)x, (void)y, (void)r, T(dy_);                                               \
    }                                                                                         \
  };
#define GRADWALK_TERNARY(name, symbol, domain_, value_, dx_, dy_)                                      \
  template <> struct Rule<Op::name> {                                                                  \
    template <class T> static constexpr T value(const T& c, const T& x, const T& y) { return value_; } \
    template <class T> static constexpr T dx(const T& c) { return T(dx_); }                            \
    template <class T> static constexpr T dy(const T& c) { return T(dy_); }                            \
  };
#include "gradwalk/ops.def"
#undef GRADWALK_UNARY
#undef GRADWALK_BINARY
#undef GRADWALK_TERNARY

constexpr double max(double x, double y) { return Rule<Op::max>::value(x, y); }

}  // namespace rules
}  // namespace gradwalk
