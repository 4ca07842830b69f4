// SPDX-License-Identifier: MIT
// Synthetic data in the plane: points of curves in random order, with noise.
#include <cmath>
#include <numeric>

#include "gradwalk/data.hpp"
#include "gradwalk/error.hpp"
#include "random/turn.hpp"
#include "text/numbers.hpp"

namespace gradwalk {
namespace {

void need_rows(const char* call, std::size_t n, std::size_t least) {
  if (n < least)
    throw Error(call, "at least " + std::to_string(least) + " rows", std::to_string(n),
                "give at least one row per class");
}

void need_noise(const char* call, double noise) {
  const bool fits = noise >= 0 && std::isfinite(noise);
  if (!fits)
    throw Error(call, "noise >= 0", detail::format_number(noise),
                "give the standard deviation of the noise, such as 0.1");
}

class Plane {
 public:
  explicit Plane(std::vector<std::string> label_names) {
    data_.columns = 2;
    data_.feature_names = {"x0", "x1"};
    data_.label_names = std::move(label_names);
  }

  void add(double x0, double x1, std::size_t label) {
    data_.x.push_back(x0);
    data_.x.push_back(x1);
    data_.labels.push_back(label);
  }

  Dataset finish(double noise, std::uint64_t seed) const {
    Random random(seed);
    std::vector<std::size_t> order(data_.rows());
    std::iota(order.begin(), order.end(), std::size_t{0});
    random.shuffle(order);
    Dataset result = select_rows(data_, order);
    if (noise > 0)
      for (double& number : result.x) number += random.normal(0, noise);
    return result;
  }

 private:
  Dataset data_;
};

// Returns the i-th of n evenly spaced numbers from 0 to 1, both ends included.
double part(std::size_t i, std::size_t n) { return n == 1 ? 0 : static_cast<double>(i) / static_cast<double>(n - 1); }

}  // namespace

Dataset make_moons(std::size_t n, double noise, std::uint64_t seed) {
  need_rows("make_moons", n, 2);
  need_noise("make_moons", noise);
  Plane plane({"outer", "inner"});
  const std::size_t outer = n / 2, inner = n - outer;
  for (std::size_t i = 0; i < outer; ++i) {
    const auto [cosine, sine] = detail::on_circle(part(i, outer) / 2);
    plane.add(cosine, sine, 0);
  }
  for (std::size_t i = 0; i < inner; ++i) {
    const auto [cosine, sine] = detail::on_circle(part(i, inner) / 2);
    plane.add(1 - cosine, 0.5 - sine, 1);
  }
  return plane.finish(noise, seed);
}

Dataset make_circles(std::size_t n, double noise, double factor, std::uint64_t seed) {
  need_rows("make_circles", n, 2);
  need_noise("make_circles", noise);
  const bool fits = factor >= 0 && factor < 1;
  if (!fits)
    throw Error("make_circles", "0 <= factor < 1", detail::format_number(factor),
                "give the size of the inner circle, such as 0.5");
  Plane plane({"outer", "inner"});
  const std::size_t outer = n / 2, inner = n - outer;
  const auto add_circle = [&](std::size_t points, double radius, std::size_t label) {
    for (std::size_t i = 0; i < points; ++i) {
      const auto [cosine, sine] = detail::on_circle(static_cast<double>(i) / static_cast<double>(points));
      plane.add(radius * cosine, radius * sine, label);
    }
  };
  add_circle(outer, 1, 0);
  add_circle(inner, factor, 1);
  return plane.finish(noise, seed);
}

Dataset make_spiral(std::size_t n, std::size_t classes, double noise, std::uint64_t seed) {
  if (classes == 0) throw Error("make_spiral", "at least one class", "0", "give the number of arms, such as 3");
  need_rows("make_spiral", n, classes);
  need_noise("make_spiral", noise);
  std::vector<std::string> names;
  names.reserve(classes);
  for (std::size_t arm = 0; arm < classes; ++arm) names.push_back(std::to_string(arm));
  Plane plane(std::move(names));
  for (std::size_t arm = 0; arm < classes; ++arm) {
    const std::size_t points = n / classes + (arm < n % classes ? 1 : 0);
    const double start = static_cast<double>(arm) / static_cast<double>(classes);
    for (std::size_t i = 0; i < points; ++i) {
      const double radius = part(i, points);
      const auto [cosine, sine] = detail::on_circle(start + 0.75 * radius);
      plane.add(radius * cosine, radius * sine, arm);
    }
  }
  return plane.finish(noise, seed);
}

}  // namespace gradwalk
