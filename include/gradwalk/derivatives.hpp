// SPDX-License-Identifier: MIT
// Derivatives of functions of one Value or of many: gradients, Jacobians, Hessians, and the products of Jacobians and
// Hessians with a vector.
//
// First derivatives come from backward passes. Second derivatives come from recording a backward pass as Values and
// differentiating it again. Each function throws an Error under a NoGrad guard.
#pragma once

#include <concepts>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gradwalk/value.hpp"

namespace gradwalk {

// The coordinates of a point, or a row or column of derivatives.
using Numbers = std::vector<double>;
// A function of many Values that returns one. A function that takes std::span<const Value> converts to it, too.
using ScalarFunction = std::function<Value(const std::vector<Value>&)>;
// A function of many Values that returns several.
using VectorFunction = std::function<std::vector<Value>(const std::vector<Value>&)>;

// A view of the numbers that a function is called with: numbers in braces, a std::vector, a std::array or a std::span.
// It does not own them, so use it only as the type of a parameter.
class AnyNumbers {
 public:
  // Refers to numbers in braces, which live until the end of the call.
  AnyNumbers(std::initializer_list<double> numbers) : numbers_(numbers.begin(), numbers.size()) {}
  // Refers to the numbers of any contiguous container.
  template <class Array>
    requires std::convertible_to<const Array&, std::span<const double>>
  AnyNumbers(const Array& numbers) : numbers_(numbers) {}  // NOLINT(google-explicit-constructor)

  // Returns how many numbers there are.
  std::size_t size() const { return numbers_.size(); }
  // Returns the number at an index, which is not checked.
  double operator[](std::size_t i) const { return numbers_[i]; }
  // Returns an iterator to the first number.
  auto begin() const { return numbers_.begin(); }
  // Returns an iterator past the last number.
  auto end() const { return numbers_.end(); }

 private:
  std::span<const double> numbers_;
};

// Returns the derivatives of the root with respect to each input, as recorded Values: you can compute with them, call
// backward() on them and differentiate them again. Records one backward pass over the graph below the root. Throws an
// Error for a custom node, whose derivatives are plain numbers.
GRADWALK_EXPORT std::vector<Value> derivatives(const Value& root, std::span<const Value> inputs);
// The same for inputs in braces.
inline std::vector<Value> derivatives(const Value& root, std::initializer_list<Value> inputs) {
  return derivatives(root, std::span(inputs.begin(), inputs.size()));
}

// The result of check_gradient(): the gradient compared with central differences.
struct GradientCheck {
  bool ok;              // true if the error of every coordinate is within the tolerance
  std::size_t worst;    // the coordinate with the largest error
  double gradient;      // the gradient of the worst coordinate
  double difference;    // the central difference of the worst coordinate
  double error;         // |gradient - difference| / max(1, |gradient|, |difference|) of the worst coordinate
  std::string message;  // the worst coordinate and its numbers in one line

  // Returns ok.
  explicit operator bool() const { return ok; }
};

namespace detail {
GRADWALK_EXPORT Numbers gradient(const ScalarFunction& f, const AnyNumbers& x);
GRADWALK_EXPORT std::pair<double, Numbers> value_and_gradient(const ScalarFunction& f, const AnyNumbers& x);
GRADWALK_EXPORT std::vector<Numbers> jacobian(const VectorFunction& f, const AnyNumbers& x);
GRADWALK_EXPORT Numbers jacobian_vector_product(const VectorFunction& f, const AnyNumbers& x, const AnyNumbers& v);
GRADWALK_EXPORT std::vector<Numbers> hessian(const ScalarFunction& f, const AnyNumbers& x);
GRADWALK_EXPORT Numbers hessian_vector_product(const ScalarFunction& f, const AnyNumbers& x, const AnyNumbers& v);
GRADWALK_EXPORT GradientCheck check_gradient(const ScalarFunction& f, const AnyNumbers& x, double tolerance);
}  // namespace detail

// ---- functions of many Values ----
// F converts to a ScalarFunction, or to a VectorFunction where several results are needed. A function passed to
// gradient(), value_and_gradient(), jacobian() or jacobian_vector_product() is called once.

// Returns the derivative of f with respect to each coordinate at x. Costs one call of f and one backward pass.
template <class F> Numbers gradient(const F& f, const AnyNumbers& x) { return detail::gradient(f, x); }
// Returns the value of f at x and its gradient there, at the same cost as gradient().
template <class F> std::pair<double, Numbers> value_and_gradient(const F& f, const AnyNumbers& x) {
  return detail::value_and_gradient(f, x);
}
// Returns one row per output of f: the derivatives of the output with respect to each coordinate. Costs one backward
// pass per output.
template <class F> std::vector<Numbers> jacobian(const F& f, const AnyNumbers& x) { return detail::jacobian(f, x); }
// Returns the Jacobian of f at x times the vector v, one number per output. Costs one forward pass over the graph,
// however many outputs there are. Throws an Error if v is not as long as x.
template <class F> Numbers jacobian_vector_product(const F& f, const AnyNumbers& x, const AnyNumbers& v) {
  return detail::jacobian_vector_product(f, x, v);
}
// Returns the matrix of second derivatives of f at x, one row per coordinate. Costs one backward pass per coordinate
// over the recorded gradient.
template <class F> std::vector<Numbers> hessian(const F& f, const AnyNumbers& x) { return detail::hessian(f, x); }
// Returns the Hessian of f at x times the vector v. Costs two backward passes, without computing the Hessian. Throws an
// Error if v is not as long as x.
template <class F> Numbers hessian_vector_product(const F& f, const AnyNumbers& x, const AnyNumbers& v) {
  return detail::hessian_vector_product(f, x, v);
}
// Compares the gradient of f at x with central differences. Calls f twice per coordinate, and once for the gradient.
template <class F> GradientCheck check_gradient(const F& f, const AnyNumbers& x, double tolerance = 1e-6) {
  return detail::check_gradient(f, x, tolerance);
}

// ---- functions of one Value ----
namespace detail {
// Returns f as a function of a vector with one Value.
template <class F> auto of_one_value(const F& f) {
  return [&f](const std::vector<Value>& x) { return f(x[0]); };
}
}  // namespace detail

// Returns the derivative of f at x.
template <class F> double gradient(const F& f, Number auto x) {
  return detail::gradient(detail::of_one_value(f), {static_cast<double>(x)})[0];
}
// Returns the value of f at x and its derivative there.
template <class F> std::pair<double, double> value_and_gradient(const F& f, Number auto x) {
  const auto [value, slope] = detail::value_and_gradient(detail::of_one_value(f), {static_cast<double>(x)});
  return {value, slope[0]};
}
// Returns the second derivative of f at x.
template <class F> double hessian(const F& f, Number auto x) {
  return detail::hessian(detail::of_one_value(f), {static_cast<double>(x)})[0][0];
}
// Returns the derivative of each result of f at x.
template <class F> Numbers jacobian(const F& f, Number auto x) {
  return detail::jacobian_vector_product(detail::of_one_value(f), {static_cast<double>(x)}, {1.0});
}
// Compares the derivative of f at x with a central difference.
template <class F> GradientCheck check_gradient(const F& f, Number auto x, double tolerance = 1e-6) {
  return detail::check_gradient(detail::of_one_value(f), {static_cast<double>(x)}, tolerance);
}

}  // namespace gradwalk
