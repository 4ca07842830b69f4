// SPDX-License-Identifier: MIT
// Gradient clipping.
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "gradwalk/optim.hpp"
#include "text/numbers.hpp"

namespace gradwalk {
namespace {

void need_bound(const char* call, double most) {
  if (!(most >= 0))
    throw Error(call, "a bound >= 0", detail::format_number(most), "give a number that is not negative");
}

// Clips numbers to a norm. gradient_of(item) is a reference to the gradient of an item.
template <class Items, class GradientOf> double clip_items(const Items& items, double most, GradientOf gradient_of) {
  need_bound("clip_gradient_norm", most);
  double squares = 0;
  for (auto& item : items) squares += static_cast<double>(gradient_of(item)) * static_cast<double>(gradient_of(item));
  const double norm = std::sqrt(squares), factor = std::min(most / (norm + 1e-6), 1.0);
  for (auto& item : items) {
    auto& g = gradient_of(item);
    g *= static_cast<std::remove_reference_t<decltype(g)>>(factor);
  }
  return norm;
}

}  // namespace

double clip_gradient_norm(std::span<const Value> parameters, double most) {
  return clip_items(parameters, most, [](Value p) -> double& { return p.grad(); });
}
double clip_norm(std::span<double> gradient, double most) {
  return clip_items(gradient, most, [](double& g) -> double& { return g; });
}
double clip_norm(std::span<float> gradient, double most) {
  return clip_items(gradient, most, [](float& g) -> float& { return g; });
}

void clip_gradient_value(std::span<const Value> parameters, double most) {
  need_bound("clip_gradient_value", most);
  for (Value p : parameters) p.grad() = std::clamp(p.grad(), -most, most);
}

}  // namespace gradwalk
