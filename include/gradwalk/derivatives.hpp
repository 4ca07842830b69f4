// SPDX-License-Identifier: MIT
// Derivatives of functions of one Value or many: gradients, Jacobians, Hessians and their products with a vector.
//
// Higher orders differentiate the recorded derivative again, from the same op table.
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

using Numbers = std::vector<double>;
// A function of many Values may take them as std::span<const Value>, too.
using ScalarFunction = std::function<Value(const std::vector<Value>&)>;
using VectorFunction = std::function<std::vector<Value>(const std::vector<Value>&)>;

// Where a function is taken, for the length of a call: numbers in braces, or any that lie side by side, as those of a
// std::vector, std::array or std::span.
class Point {
 public:
  Point(std::initializer_list<double> numbers) : numbers_(numbers.begin(), numbers.size()) {}
  template <class Array>
    requires std::convertible_to<const Array&, std::span<const double>>
  Point(const Array& numbers) : numbers_(numbers) {}  // NOLINT(google-explicit-constructor)

  std::size_t size() const { return numbers_.size(); }
  double operator[](std::size_t i) const { return numbers_[i]; }
  auto begin() const { return numbers_.begin(); }
  auto end() const { return numbers_.end(); }

 private:
  std::span<const double> numbers_;
};

// The derivatives of root by each input, themselves recorded: they can be used, walked back and differentiated again.
GRADWALK_EXPORT std::vector<Value> derivatives(const Value& root, std::span<const Value> inputs);
inline std::vector<Value> derivatives(const Value& root, std::initializer_list<Value> inputs) {
  return derivatives(root, std::span(inputs.begin(), inputs.size()));
}

// The gradient beside central differences.
struct GradientCheck {
  bool ok;                      // every coordinate within the tolerance
  std::size_t worst;            // the coordinate that is furthest off
  double gradient, difference;  // there
  double error;                 // there: |gradient - difference| / max(1, |gradient|, |difference|)
  std::string message;
  explicit operator bool() const { return ok; }
};

namespace detail {
GRADWALK_EXPORT Numbers gradient(const ScalarFunction& f, const Point& x);
GRADWALK_EXPORT std::pair<double, Numbers> value_and_gradient(const ScalarFunction& f, const Point& x);
GRADWALK_EXPORT std::vector<Numbers> jacobian(const VectorFunction& f, const Point& x);
GRADWALK_EXPORT Numbers jacobian_vector_product(const VectorFunction& f, const Point& x, const Point& v);
GRADWALK_EXPORT std::vector<Numbers> hessian(const ScalarFunction& f, const Point& x);
GRADWALK_EXPORT Numbers hessian_vector_product(const ScalarFunction& f, const Point& x, const Point& v);
GRADWALK_EXPORT GradientCheck check_gradient(const ScalarFunction& f, const Point& x, double tolerance);
}  // namespace detail

// Of a function of many Values: F is a ScalarFunction, or a VectorFunction, or becomes one.
template <class F> Numbers gradient(const F& f, const Point& x) { return detail::gradient(f, x); }
template <class F> std::pair<double, Numbers> value_and_gradient(const F& f, const Point& x) {
  return detail::value_and_gradient(f, x);
}
template <class F> std::vector<Numbers> jacobian(const F& f, const Point& x) {  // a row an output
  return detail::jacobian(f, x);
}
template <class F> Numbers jacobian_vector_product(const F& f, const Point& x, const Point& v) {
  return detail::jacobian_vector_product(f, x, v);
}
template <class F> std::vector<Numbers> hessian(const F& f, const Point& x) { return detail::hessian(f, x); }
template <class F> Numbers hessian_vector_product(const F& f, const Point& x, const Point& v) {
  return detail::hessian_vector_product(f, x, v);
}
template <class F> GradientCheck check_gradient(const F& f, const Point& x, double tolerance = 1e-6) {
  return detail::check_gradient(f, x, tolerance);
}

// Of a function of one Value, at a number: its first derivative, its second, those of its several results.
namespace detail {
template <class F> auto of_one(const F& f) {
  return [&f](const std::vector<Value>& x) { return f(x[0]); };
}
}  // namespace detail
template <class F> double gradient(const F& f, Number auto x) {
  return detail::gradient(detail::of_one(f), {static_cast<double>(x)})[0];
}
template <class F> std::pair<double, double> value_and_gradient(const F& f, Number auto x) {
  const auto [value, slope] = detail::value_and_gradient(detail::of_one(f), {static_cast<double>(x)});
  return {value, slope[0]};
}
template <class F> double hessian(const F& f, Number auto x) {
  return detail::hessian(detail::of_one(f), {static_cast<double>(x)})[0][0];
}
template <class F> Numbers jacobian(const F& f, Number auto x) {
  return detail::jacobian_vector_product(detail::of_one(f), {static_cast<double>(x)}, {1.0});
}
template <class F> GradientCheck check_gradient(const F& f, Number auto x, double tolerance = 1e-6) {
  return detail::check_gradient(detail::of_one(f), {static_cast<double>(x)}, tolerance);
}

}  // namespace gradwalk
