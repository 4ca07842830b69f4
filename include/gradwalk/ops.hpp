// SPDX-License-Identifier: MIT
// The operations of ops.def as C++: the enum Op, the text of the table, and each rule as functions.
//
// Rule<Op::tanh>::value(x) and Rule<Op::tanh>::dx(x, r) take any number type with arithmetic, comparisons and the
// functions that the rules use. These are found in <cmath> for double, and by argument-dependent lookup for other
// types.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "gradwalk/export.hpp"

namespace gradwalk {

// The kinds of nodes: leaf and constant, which have no operands; the operations of ops.def; custom, a node with the
// user's own derivatives; and pick, which chooses one of any number of values (pick.hpp).
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
  pick,
};

// A row of the table, as text.
struct OpInfo {
  std::string_view name;    // the name of the enumerator, such as "add"
  std::string_view symbol;  // the name in drawings, such as "+"; empty for leaf and constant
  // The number of operands of its function. If there are 3, the first is a condition. For leaf, constant, custom and
  // pick, which are not called with a fixed number of operands, it is 0.
  int operands;
  std::string_view domain, value, dx, dy;  // the expressions, as ops.def writes them
};

// The rows of all ops, indexed by the number of the Op.
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
#define GRADWALK_UNARY(...)
#define GRADWALK_BINARY(...)
#define GRADWALK_PICK(name, symbol, domain, value, dx, dy) OpInfo{#name, symbol, 0, #domain, #value, #dx, #dy},
#include "gradwalk/ops.def"
#undef GRADWALK_UNARY
#undef GRADWALK_BINARY
#undef GRADWALK_PICK
};

// The row of a number that is not an op.
inline constexpr OpInfo no_op{"no op", "", 0, "", "", "", ""};
// Returns the row of an op, or no_op.
constexpr const OpInfo& info(Op op) {
  return static_cast<std::size_t>(op) < op_table.size() ? op_table[static_cast<std::size_t>(op)] : no_op;
}
constexpr std::string_view name(Op op) { return info(op).name; }
constexpr std::string_view symbol(Op op) { return info(op).symbol; }
constexpr bool is_comparison(Op op) { return op >= Op::less && op <= Op::not_equal; }

namespace rules {

using std::abs, std::acos, std::acosh, std::asin, std::asinh, std::atan, std::atan2, std::atanh, std::cbrt, std::ceil;
using std::copysign, std::cos, std::cosh, std::erf, std::erfc, std::exp, std::exp2, std::expm1, std::floor, std::fmod;
using std::hypot, std::log, std::log10, std::log1p, std::log2, std::sin, std::sinh, std::sqrt, std::tan, std::tanh;
using std::trunc;

#ifdef __MINGW32__
// mingw-w64's std::round rounds 0.49999999999999994 up.
template <class T>
  requires std::is_floating_point_v<T>
T round(T x) {
  const T whole = std::trunc(x);
  return std::abs(x - whole) < T(0.5) ? whole : whole + std::copysign(T(1), x);
}
#else
using std::round;
#endif

// pow is out of line: compilers that see the exponent turn pow(x, 2) into x * x, which may differ in the last bit.
GRADWALK_EXPORT double pow(double x, double y);

// Out of line: std::lgamma is not safe with threads, and <cmath> has no digamma.
GRADWALK_EXPORT double lgamma(double x);
GRADWALK_EXPORT double digamma(double x);

constexpr double max(double x, double y);  // the table's own rule, for the rules that use it

// select for numbers: `a` if the condition holds, otherwise `b`.
template <class A, class B> constexpr std::common_type_t<A, B> select(bool condition, const A& a, const B& b) {
  return condition ? std::common_type_t<A, B>(a) : std::common_type_t<A, B>(b);
}

// The derivative of digamma, of plain arithmetic, so that derivatives of every order follow from it: the sum of
// 1 / (x + k)^2 over k = 0 ... 9, plus the asymptotic series at x + 10. Numbers below 0.5 are reflected first.
template <class T> constexpr T trigamma(const T& x) {
  const T from = select(x < 0.5, 1 - x, x);
  T sum(0);
  for (int k = 0; k < 10; ++k) sum = sum + 1 / ((from + k) * (from + k));
  const T r = 1 / (from + 10), s = r * r;
  const T tail = s * (1.0 / 6 - s * (1.0 / 30 - s * (1.0 / 42 - s * (1.0 / 30 - s * (5.0 / 66 - s * (691.0 / 2730))))));
  sum = sum + (r + s / 2 + r * tail);
  const T sine = sin(3.141592653589793 * (x - round(x)));
  return select(x < 0.5, 9.869604401089358 / (sine * sine) - sum, sum);
}
inline float trigamma(float x) { return static_cast<float>(trigamma<double>(x)); }

// The rule of an op: value, dx and dy for any number type, and whether numbers are in its domain.
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
#define GRADWALK_PICK(name, symbol, domain_, value_, dx_, dy_)                    \
  template <> struct Rule<Op::name> {                                             \
    template <class T> static constexpr T value(const T& x) { return T(value_); } \
    template <class T> static constexpr T dx() { return T(dx_); }                 \
  };
#include "gradwalk/ops.def"
#undef GRADWALK_UNARY
#undef GRADWALK_BINARY
#undef GRADWALK_TERNARY
#undef GRADWALK_PICK

constexpr double max(double x, double y) { return Rule<Op::max>::value(x, y); }

}  // namespace rules
}  // namespace gradwalk
