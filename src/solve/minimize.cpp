// SPDX-License-Identifier: MIT
// minimize(): takes a direction from the method, searches along it, and repeats.
#include <algorithm>
#include <cmath>

#include "directions.hpp"
#include "start.hpp"

namespace gradwalk {
namespace solver {
namespace {

constexpr double far_away = 1e100;

// Returns the largest |derivative| * max(1, |parameter|), which gradient_tolerance bounds.
double steepness(const Point& at) {
  return at.gradient.cwiseProduct(at.x.cwiseAbs().cwiseMax(1)).lpNorm<Eigen::Infinity>();
}

class Descent {
 public:
  Descent(Function& function, const MinimizeOptions& options)
      : function_(function), options_(options), directions_(make_directions(options, function)) {}

  Stop run(Point& at, std::size_t& iterations) {
    least_ = steepest_ = steepness(at);
    idle_ = 0;
    bool started_again = false;
    for (;;) {
      if (steepness(at) <= options_.gradient_tolerance) return Stop::gradient;
      if (iterations >= options_.iterations) return Stop::iterations;
      ++iterations;
      if (options_.progress) options_.progress(iterations, at.value);
      Vector direction = directions_->from(at);
      if (!direction.allFinite() || !(direction.dot(at.gradient) < 0)) {
        directions_->forget();
        direction = directions_->from(at);
      }
      const Point before = at;
      double step = directions_->first_step(at);
      const double promised = -direction.dot(at.gradient) * step;
      switch (search_line(function_, direction, options_.lowest, at, step)) {
        case Found::no_end: return Stop::unbounded;
        case Found::nothing_lower:
          if (promised <= noise * std::abs(at.value)) return unless_kink(Stop::value, at);
          if (share_changed(at.x, at.x + step * direction) <= short_share) return unless_kink(Stop::step, at);
          if (started_again) return Stop::no_descent;
          directions_->forget();
          started_again = true;
          continue;
        case Found::point: break;
      }
      started_again = false;
      directions_->learn(before, at);
      if (const std::optional<Stop> stop = reason_to_stop(before, at)) return *stop;
    }
  }

 private:
  std::optional<Stop> reason_to_stop(const Point& before, const Point& at) {
    if (at.x.lpNorm<Eigen::Infinity>() > far_away) return Stop::unbounded;
    const double fall = before.value - at.value;
    if (share_changed(before.x, at.x) <= options_.step_tolerance) return Stop::step;
    if (options_.value_tolerance > 0 && fall <= options_.value_tolerance * std::max(1.0, std::abs(at.value)))
      return Stop::value;
    // Count the steps in which neither the value nor the gradient gets better by more than rounding.
    const double now = steepness(at);
    steepest_ = std::max(steepest_, now);
    idle_ = fall > 4 * epsilon * std::abs(at.value) || now < 0.5 * least_ ? 0 : idle_ + 1;
    if (idle_ == 0) least_ = std::min(least_, now);
    if (idle_ >= most_idle) return unless_kink(Stop::value, at);
    return {};
  }

  // Returns `stop`, or no_descent if the point is a kink: the gradient is about as large as ever and predicts a fall
  // above rounding, but nothing is lower.
  Stop unless_kink(Stop stop, const Point& at) const {
    const double steep = steepness(at);
    return steep > 1e-5 * steepest_ && short_share * steep > noise * std::abs(at.value) ? Stop::no_descent : stop;
  }

  static constexpr double epsilon = std::numeric_limits<double>::epsilon();

  Function& function_;
  const MinimizeOptions& options_;
  std::unique_ptr<Directions> directions_;
  double least_ = 0, steepest_ = 0;  // the smallest and the largest steepness so far
  int idle_ = 0;                     // the number of steps without progress in a row
  static constexpr int most_idle = 10;
};

}  // namespace
}  // namespace solver

Minimum detail::minimize(const ScalarFunction& function, const AnyNumbers& start, const MinimizeOptions& options) {
  using namespace solver;
  const Vector begin = start_of("minimize", start);
  Function wrapped(
      "minimize", [&](const std::vector<Value>& at) { return std::vector{function(at)}; }, options.compile);
  Minimum result;
  const auto at_point = [&](const Vector& x) {
    Point point{x, 0, {}};
    point.value = wrapped.gradient(x, point.gradient);
    return point;
  };
  const auto descend = [&](Point& at) {
    result.stop = at.is_finite() ? Descent(wrapped, options).run(at, result.iterations) : Stop::not_finite;
  };
  const Point first = at_point(begin);
  Point at = first;
  descend(at);
  if (!wrapped.confirms(at.x, at.value, at.gradient)) {
    if (!(at.value <= first.value) || !at.is_finite()) at = first;
    descend(at);
  }
  wrapped.report(result);
  result.x = numbers(at.x);
  result.value = at.value;
  result.gradient = numbers(at.gradient);
  result.gradient_norm = at.gradient.norm();
  return result;
}

}  // namespace gradwalk
