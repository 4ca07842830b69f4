// SPDX-License-Identifier: MIT
#include "dialect.hpp"

#include <charconv>
#include <cmath>

namespace gradwalk::emit {
namespace {

template <class T> std::string shortest(T number) {
  char text[40];
  std::string digits(text, std::to_chars(text, text + sizeof text, number).ptr);
  return digits.find_first_of(".e") == std::string::npos ? digits + ".0" : digits;
}

}  // namespace

std::string C99::literal(double number) const {
  if (std::isnan(number)) return is_float_ ? "NAN" : "(double)NAN";
  const double stored = is_float_ ? static_cast<double>(static_cast<float>(number)) : number;
  const std::string size = std::isinf(stored) ? (is_float_ ? "HUGE_VALF" : "HUGE_VAL")
                           : is_float_        ? shortest(static_cast<float>(std::abs(stored))) + "f"
                                              : shortest(std::abs(stored));
  return std::signbit(stored) ? "(-" + size + ")" : size;
}

std::string C99::function(std::string_view name) const {
  if (name == "digamma" || name == "trigamma") return (is_float_ ? "(float)" : "") + prefix_ + "_" + std::string(name);
  return (name == "abs" ? "fabs" : std::string(name)) + (is_float_ ? "f" : "");
}

std::string C99::choice(const std::string& condition, const std::string& x, const std::string& y) const {
  return "(" + condition + " ? " + x + " : " + y + ")";
}

std::string C99::times(const std::string& gradient, const std::string& derivative) const {
  return prefix_ + "_times(" + gradient + ", " + derivative + ")";
}

std::string Cuda::literal(double number) const {
  const double stored = is_float() ? static_cast<double>(static_cast<float>(number)) : number;
  if (std::isnan(stored)) return "gw_nan()";
  if (std::isinf(stored)) return stored < 0 ? "(-gw_infinity())" : "gw_infinity()";
  return C99::literal(number);
}

std::string Cuda::function(std::string_view name) const {
  if (is_exact_ && (name == "exp" || name == "log")) return "gw_" + std::string(name);
  return C99::function(name);
}

std::string Cuda::fused(const std::string& x, const std::string& y, const std::string& z) const {
  return (is_float() ? "fmaf(" : "fma(") + x + ", " + y + ", " + z + ")";
}

}  // namespace gradwalk::emit
