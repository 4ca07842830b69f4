// SPDX-License-Identifier: MIT
// Derivatives of functions of many Values: gradients, Jacobians, Hessians and their products with a vector.
//
// Higher orders differentiate the recorded derivative again, from the same op table.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gradwalk/value.hpp"

namespace gradwalk {

using Numbers = std::vector<double>;
using ScalarFunction = std::function<Value(const std::vector<Value>&)>;
using VectorFunction = std::function<std::vector<Value>(const std::vector<Value>&)>;

// The derivatives of root by each input, themselves recorded: they can be used, walked back and differentiated again.
GRADWALK_EXPORT std::vector<Value> derivatives(const Value& root, std::span<const Value> inputs);

GRADWALK_EXPORT Numbers gradient(const ScalarFunction& f, const Numbers& x);
GRADWALK_EXPORT std::pair<double, Numbers> value_and_gradient(const ScalarFunction& f, const Numbers& x);
GRADWALK_EXPORT std::vector<Numbers> jacobian(const VectorFunction& f, const Numbers& x);  // a row an output
GRADWALK_EXPORT Numbers jacobian_vector_product(const VectorFunction& f, const Numbers& x, const Numbers& v);
GRADWALK_EXPORT std::vector<Numbers> hessian(const ScalarFunction& f, const Numbers& x);
GRADWALK_EXPORT Numbers hessian_vector_product(const ScalarFunction& f, const Numbers& x, const Numbers& v);

// The gradient beside central differences.
struct GradientCheck {
  bool ok;                      // every coordinate within the tolerance
  std::size_t worst;            // the coordinate that is furthest off
  double gradient, difference;  // there
  double error;                 // there: |gradient - difference| / max(1, |gradient|, |difference|)
  std::string message;
  explicit operator bool() const { return ok; }
};
GRADWALK_EXPORT GradientCheck check_gradient(const ScalarFunction& f, const Numbers& x, double tolerance = 1e-6);

}  // namespace gradwalk
