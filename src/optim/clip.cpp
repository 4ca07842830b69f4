// SPDX-License-Identifier: MIT
// Gradients kept within bounds.
#include <algorithm>
#include <cmath>

#include "gradwalk/optim.hpp"
#include "text/numbers.hpp"

namespace gradwalk {
namespace {

void need_bound(const char* call, double most) {
  if (!(most >= 0))
    throw Error(call, "a bound >= 0", detail::format_number(most), "give a number that is not negative");
}

}  // namespace

double clip_factor(double norm, double most) {
  need_bound("clip_gradient_norm", most);
  return std::min(most / (norm + 1e-6), 1.0);
}

double clip_gradient_norm(std::span<const Value> parameters, double most) {
  double squares = 0;
  for (const Value& p : parameters) squares += p.grad() * p.grad();
  const double norm = std::sqrt(squares), factor = clip_factor(norm, most);
  for (Value p : parameters) p.grad() *= factor;
  return norm;
}

void clip_gradient_value(std::span<const Value> parameters, double most) {
  need_bound("clip_gradient_value", most);
  for (Value p : parameters) p.grad() = std::clamp(p.grad(), -most, most);
}

}  // namespace gradwalk
