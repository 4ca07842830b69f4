// SPDX-License-Identifier: MIT
// The differences between the languages that we emit: literals and the names of functions.
#pragma once

#include <string>
#include <string_view>

namespace gradwalk::emit {

class Dialect {
 public:
  virtual ~Dialect() = default;
  virtual std::string literal(double number) const = 0;
  // The name of a function of <cmath> that the rules call.
  virtual std::string function(std::string_view name) const = 0;
  // "condition ? x : y", and gradient * derivative by the zero-gradient rule.
  virtual std::string choice(const std::string& condition, const std::string& x, const std::string& y) const = 0;
  virtual std::string times(const std::string& gradient, const std::string& derivative) const = 0;
  // x * y + z with one rounding, or an empty text if the language leaves that to its compiler.
  virtual std::string fused(const std::string& x, const std::string& y, const std::string& z) const = 0;
};

// C99, in float or double.
class C99 : public Dialect {
 public:
  C99(bool is_float, std::string prefix) : is_float_(is_float), prefix_(std::move(prefix)) {}
  bool is_float() const { return is_float_; }
  // The first part of the names of our own functions.
  const std::string& prefix() const { return prefix_; }
  std::string real() const { return is_float_ ? "float" : "double"; }
  std::string literal(double number) const override;
  std::string function(std::string_view name) const override;
  std::string choice(const std::string& condition, const std::string& x, const std::string& y) const override;
  std::string times(const std::string& gradient, const std::string& derivative) const override;
  std::string fused(const std::string&, const std::string&, const std::string&) const override { return {}; }

 private:
  bool is_float_;
  std::string prefix_;
};

// CUDA, in float or double. In exact mode, the functions of cuda_prelude.cpp replace the library's,
// and every sum of a product is fused in the text, so that no compiler has a choice.
class Cuda : public C99 {
 public:
  Cuda(bool is_float, bool is_exact) : C99(is_float, "gw"), is_exact_(is_exact) {}
  std::string literal(double number) const override;
  std::string function(std::string_view name) const override;
  std::string fused(const std::string& x, const std::string& y, const std::string& z) const override;

 private:
  bool is_exact_;
};

}  // namespace gradwalk::emit
